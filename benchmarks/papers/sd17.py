"""[SD17] Figures 3 and 4: squared and absolute errors against k for ε = 1 and 2, and what variable sizes save.

The paper prints no numbers; what it says of its figures stands in ``tests/golden/sd17.toml``, which the golden tests
read too. Noise is drawn by numpy: this simulates errors, and releases nothing. The upper bounds, 1.5 times the largest
value, are taken from the data as in the paper: for reproduction only, for they leak.
"""

from __future__ import annotations

import csv
import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from expected_error import expected_error

from shoal.partition.individual_ranking import IndividualRanking
from shoal.partition.least_error import LeastError
from shoal.partition.mdav import Mdav
from shoal.types import Points

HOME = Path(__file__).parents[2]
PAPER: dict[str, Any] = tomllib.loads((HOME / "tests" / "golden" / "sd17.toml").read_text(encoding="utf-8"))
SEEDS: int = PAPER["seeds"]
MANY = 2000
SIZES = (2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 360, 450, 540, 1080)
NOISY = {"MDAV+DP": "mdav", "IR_MDAV+DP_1": "ir", "IR_MDAV+DP_2": "ir", "INS+DP": "ins"}
PLAIN = {"MDAV": "mdav", "IR_MDAV": "ir"}


class Errors(NamedTuple):
    """Mean and standard deviation over seeds, of squared errors and of absolute ones."""

    sse: float
    sse_spread: float
    sae: float
    sae_spread: float


class Classes(NamedTuple):
    """The classes of one attribute, and the scale of the noise of each."""

    labels: np.ndarray
    scales: np.ndarray


@cache
def census(folder: Path) -> Points:
    """The four attributes as they are, with the widths of their domains: from 0 to 1.5 times the largest value."""
    path = folder / PAPER["data"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != PAPER["sha256"]:
        raise ValueError(f"{path} is not the file that the figures are about")
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    X = np.array([[float(row[name]) for name in PAPER["attributes"]] for row in rows])
    return Points(X, tuple(PAPER["attributes"]), widths=PAPER["bound"] * X.max(axis=0))


def widths(folder: Path) -> np.ndarray:
    """The widths of the four domains."""
    return np.asarray(census(folder).widths)


@cache
def partition(way: str, k: int, folder: Path) -> tuple[np.ndarray, ...]:
    """Labels for each attribute: of MDAV on standardised records, of each alone, or of an order of the domain."""
    points, rng = census(folder), np.random.default_rng(0)
    X = points.coordinates
    if way == "ir":
        return tuple(block.labels for block in IndividualRanking(k, by="mdav").partition(points, rng).blocks)
    if way == "mdav":
        labels = Mdav(k).partition(Points((X - X.mean(axis=0)) / X.std(axis=0)), rng).labels
    else:  # insensitive: in the order of the distance from the lower corner of the domain, k by k
        order = np.argsort(((X / widths(folder)) ** 2).sum(axis=1), kind="stable")
        labels = np.empty(len(X), np.int64)
        labels[order] = np.minimum(np.arange(len(X)) // k, len(X) // k - 1)
    return (labels,) * X.shape[1]


def classes(line: str, epsilon: float, k: int, folder: Path) -> list[Classes]:
    """The classes of a line of the figures with the noise that they need."""
    parts, wide = partition((NOISY | PLAIN)[line], k, folder), widths(folder)
    found = []
    for labels, width in zip(parts, wide, strict=True):
        sizes = np.bincount(labels)
        if line in PLAIN:
            scales = np.zeros(len(sizes))
        elif line == "IR_MDAV+DP_1":  # Algorithm 2 with ε/m each
            scales = width / (sizes * epsilon / len(wide))
        elif line == "INS+DP":  # each of the classes may change by one record, in all attributes
            scales = np.full(len(sizes), len(sizes) * wide.sum() / k / epsilon)
        else:  # Algorithm 1, and Algorithm 2 with Expression (1): the same scale
            scales = wide.sum() / (sizes * epsilon)
        found.append(Classes(labels, scales))
    return found


def simulate(given: list[Classes], folder: Path, seeds: int = SEEDS) -> Errors:
    """Draw the noise for each seed, clip to the bounds, and measure."""
    X, high = census(folder).coordinates, widths(folder)
    squared, absolute = np.zeros(seeds), np.zeros(seeds)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for j, (labels, scales) in enumerate(given):
            means = np.bincount(labels, X[:, j]) / np.bincount(labels)
            apart = np.clip(means + rng.laplace(0.0, scales), 0.0, high[j])[labels] - X[:, j]
            squared[seed] += (apart**2).sum()
            absolute[seed] += np.abs(apart).sum()
    return Errors(*(float(f) for f in (squared.mean(), squared.std(), absolute.mean(), absolute.std())))


@cache
def errors(line: str, epsilon: float, k: int, folder: Path) -> Errors:
    """The errors of a line at one k; what has no noise needs no seeds."""
    return simulate(classes(line, epsilon, k, folder), folder, 1 if line in PLAIN else SEEDS)


@cache
def variable(epsilon: float, split: str, folder: Path) -> tuple[Errors, float, list[Classes]]:
    """Our variable sizes: errors, the SSE to expect without clipping, and the classes."""
    blocks = LeastError(2, epsilon, split).partition(census(folder), np.random.default_rng(0)).blocks  # type: ignore[arg-type]
    given = [
        Classes(block.labels, width / (block.sizes * epsilon * (block.share or 1.0)))
        for block, width in zip(blocks, widths(folder), strict=True)
    ]
    params = {"epsilon": epsilon, "split": split}
    (expected,) = expected_error(census(folder), epsilon, [2], "least_error", params=params)
    return simulate(given, folder), expected.total, given


@cache
def best_fixed(epsilon: float, folder: Path) -> tuple[int, Errors, float]:
    """IR_MDAV+DP_2 at the k where its errors are least: k, errors, and the SSE to expect without clipping."""
    k = min(SIZES, key=lambda size: errors("IR_MDAV+DP_2", epsilon, size, folder).sse)
    (expected,) = expected_error(census(folder), epsilon, [k], "individual_ranking", params={"by": "mdav"})
    return k, errors("IR_MDAV+DP_2", epsilon, k, folder), expected.total


def compared(few: Errors, many: Errors, expected: float) -> str:
    """Three readings of the same SSE: over some seeds, over many, and in expectation without clipping."""
    return f"{few.sse / 1e9:7.2f} ± {few.sse_spread / 1e9:5.2f}  {many.sse / 1e9:7.2f}  expected {expected / 1e9:7.2f}"


def main(folder: Path) -> None:
    """Print errors, claims and what variable sizes save, and draw the figures."""
    import sd17_figures
    from sd17_claims import CLAIMS

    print("[SD17] J. Soria-Comas, J. Domingo-Ferrer, Differentially private data sets: Figures 3 and 4")
    print(f"Census, {', '.join(PAPER['attributes'])}; SSE in 10⁹, SAE in 10⁶; mean ± deviation over {SEEDS} seeds")
    for epsilon in PAPER["figures"]:
        print(f"\nε = {epsilon:g}")
        for line in (*PLAIN, *NOISY):
            for k in SIZES:
                e = errors(line, epsilon, k, folder)
                print(
                    f"  {line:13} k = {k:4}  SSE {e.sse / 1e9:10.2f} ± {e.sse_spread / 1e9:8.2f}"
                    f"  SAE {e.sae / 1e6:7.2f} ± {e.sae_spread / 1e6:6.2f}"
                )
    print("\nWhat the paper says of them:")
    for claim in CLAIMS:
        holds, said = claim.check(folder), PAPER["claims"][claim.name]
        print(f"  {'holds' if holds else 'does not hold'}: {said['text']}{' ' + said['why'] if 'why' in said else ''}")
        if holds is ("why" in said):
            print("  UNEXPECTED")
    print(
        f"\nSSE in 10⁹ of variable sizes and of the best fixed one: {SEEDS} seeds, then {MANY:,}, then what to expect"
    )
    for epsilon in PAPER["variable"]:
        k, e, expected = best_fixed(epsilon, folder)
        many = simulate(classes("IR_MDAV+DP_2", epsilon, k, folder), folder, MANY)
        print(f"  ε = {epsilon:3}  {f'IR_MDAV+DP_2, k = {k}':26} {compared(e, many, expected)}")
        for split in ("even", "expression1", "least"):
            e, expected, given = variable(epsilon, split, folder)
            name = f"{split}: {', '.join(str(len(one.scales)) for one in given)}"
            print(f"           {name:26} {compared(e, simulate(given, folder, MANY), expected)}")
    sd17_figures.main(folder)
