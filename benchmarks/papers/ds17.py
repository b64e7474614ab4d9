"""[DS17] Figures 1 to 3: risk and utility as functions of the weight, and the weight at which t is reached.

The printed figures, and the reasons for differences, are in ``tests/golden/ds17.toml``, which the golden tests read,
too. Figures are drawn into ``docs/images`` where matplotlib is installed.
"""

from __future__ import annotations

import csv
import hashlib
import math
import tomllib
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import drawing
import ds17_stream
import numpy as np

import shoal
from shoal.kernels.closeness.buckets import least_size
from shoal.kernels.closeness.earth_mover import closeness, distances
from shoal.types import Confidential

HOME = Path(__file__).parents[2]
PAPER = tomllib.loads((HOME / "tests" / "golden" / "ds17.toml").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = PAPER["case"]
K = 2  # so that t alone decides the size of classes


class Indicators(NamedTuple):
    """What the paper draws; MSE and MAE are of attributes scaled to 0 … 1."""

    max_emd: float
    average_emd: float
    mse: float
    mae: float


@cache
def table(data: str, n: int, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Quasi-identifiers scaled to 0 … 1, and ranks of the confidential attribute."""
    if data == "pcd":
        return (np.arange(float(n)) / (n - 1))[:, None], np.arange(n)
    path = folder / PAPER["data"]["file"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != PAPER["data"]["sha256"]:
        raise ValueError(f"{path} is not the file that the figures are about")
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    X = np.array([[float(row[name]) for name in PAPER["data"]["quasi"]] for row in rows])
    C = np.array([float(row[PAPER["data"]["confidential"]]) for row in rows])
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), np.unique(C, return_inverse=True)[1]


def indicators(X: np.ndarray, C: np.ndarray, labels: np.ndarray) -> Indicators:
    """Measure a partition."""
    far = distances(closeness([Confidential("c", C, np.bincount(C))], 1.0), labels)[0][0]
    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, column) / sizes for column in X.T])
    apart = ((X - means[labels]) ** 2).sum(axis=1)
    return Indicators(float(far.max()), float(far.mean()), float(apart.mean()), float(np.sqrt(apart).mean()))


def steered(X: np.ndarray, C: np.ndarray, t: float, weight: float) -> np.ndarray:
    """Our classes at a weight."""
    return shoal.microaggregate(X, K, method="steered", confidential=C, t=t, weight=weight).labels


@cache
def printed_numbers(n: int, b: int) -> tuple[int, ...]:
    """The bucket attribute of PCD to the letter: one bucket of ⌈n/b⌉ records, and the last number occurs once."""
    sizes = [n // b + (j < n % b) for j in range(b)]  # the largest first, as the paper wants
    ends = np.cumsum([0, *sizes])
    number = [*range(sizes[0])]
    for j in range(1, b):
        free = list(range(ends[j - 1], ends[j]))
        for row in range(ends[j], ends[j + 1]):
            nearest = min(free, key=lambda other: (abs(other - row), other))
            number.append(number[nearest])
            free.remove(nearest)
    return tuple(number)


def to_the_letter(n: int, b: int, weight: float) -> Indicators:
    """PCD as printed, through the primitive: MDAV steered by the attribute above."""
    X, C = table("pcd", n, Path())
    labels = shoal.microaggregate(X, b, steer=[(np.array(printed_numbers(n, b)), weight)]).labels
    return indicators(X, C, labels)


def bound(case: dict[str, Any], m: int) -> float:
    """The weight above which t holds: (|B₁| − 1)·√m."""
    return (case["n"] // least_size(case["n"], K, case["t"]) - 1) * math.sqrt(m)


def reached(case: dict[str, Any], folder: Path) -> int:
    """The least integer weight from which on every class is within t."""
    X, C = table(case["data"], case["n"], folder)
    weight = math.ceil(bound(case, X.shape[1]))
    while weight >= 0 and indicators(X, C, steered(X, C, case["t"], weight)).max_emd <= case["t"]:
        weight -= 1
    return weight + 1


def reached_in_order(case: dict[str, Any], order: str, seed: int, folder: Path) -> int:
    """The same if the records of a bucket are visited in another order, of n that b divides; through the primitive."""
    X, C = table(case["data"], case["n"], folder)
    b, rng = least_size(case["n"], K, case["t"]), np.random.default_rng(seed)
    visits = {"ascending": lambda rows: rows, "descending": lambda rows: rows[::-1], "random": rng.permutation}[order]
    buckets = np.argsort(C, kind="stable").reshape(b, -1)
    number = np.zeros(len(X))
    number[visits(buckets[0])] = np.arange(buckets.shape[1])
    for j in range(1, b):
        free = list(buckets[j - 1])
        for row in visits(buckets[j]):
            number[row] = number[free.pop(int(((X[free] - X[row]) ** 2).sum(axis=1).argmin()))]
    weight = math.ceil(bound(case, X.shape[1]))
    while indicators(X, C, shoal.microaggregate(X, b, steer=[(number, weight)]).labels).max_emd <= case["t"]:
        weight -= 1
    return weight + 1


def main(folder: Path) -> None:
    """Print weights and indicators, printed ones beside ours, and draw the figures."""
    print("[DS17] J. Domingo-Ferrer, J. Soria-Comas, Steered microaggregation: Figures 1 to 3\n")
    for case in CASES:
        ours = reached(case, folder)
        sign = "=" if ours == case["printed"] else "≠"
        print(f"{case['name']}: reached at weight {case['printed']} printed {sign} {ours}", end="")
        print("" if ours == case["ours"] else f" (UNEXPECTED: {case['ours']})")
        if "why" in case:
            print(f"  {case['why']}")
        X, C = table(case["data"], case["n"], folder)
        for weight in (0, 50, 100, 150, 200, 250, 310):
            found = indicators(X, C, steered(X, C, case["t"], weight))
            print(f"  weight {weight:>3}: " + ", ".join(f"{k} {v:.4f}" for k, v in found._asdict().items()))
    print("\nOther orders of the records of a bucket:")
    for case in CASES[:3]:
        found = [reached_in_order(case, "random", seed, folder) for seed in range(6)]
        others = [f"{order} {reached_in_order(case, order, 0, folder)}" for order in ("ascending", "descending")]
        print(f"  {case['name']}: {', '.join(others)}, six random orders {min(found)} to {max(found)}")
    worst = min(to_the_letter(1001, 5, weight).max_emd for weight in range(410))
    print(f"\nTo the letter with n = 1001, t = 0.1: the least largest EMD at any weight up to 409 is {worst:.5f}.")
    import ds17_claims

    ds17_claims.main(folder)
    ds17_stream.report(table("mcd", 1080, folder)[0])
    draw(folder)
    ds17_stream.draw(table("mcd", 1080, folder)[0])


def draw(folder: Path) -> None:
    """Draw both figures, in the manner of the others."""

    def fill(cases: list[dict[str, Any]], figure: Any, theme: Any, look: ModuleType) -> None:
        row = figure.subplots(1, len(cases), squeeze=False)[0]
        figure.subplots_adjust(left=0.12 / len(cases), right=0.97, bottom=0.15, top=0.82, wspace=0.18)
        for axes, case in zip(row, cases, strict=True):
            _panel(axes, theme, case, look, folder)

    for name, cases in {"ds17_figure1": CASES[:2], "ds17_figure2": CASES[2:3]}.items():
        drawing.draw(name, 5.2 * len(cases) + 0.4, 3.7, partial(fill, cases))


def _panel(axes: Any, theme: Any, case: dict[str, Any], look: ModuleType, folder: Path) -> None:
    X, C = table(case["data"], case["n"], folder)
    weights = list(range(0, 321 if case["data"] == "mcd" else 221 if case["t"] == 0.1 else 121, 2))
    found = [indicators(X, C, steered(X, C, case["t"], weight)) for weight in weights]
    words = ("largest EMD", "average EMD", "MSE", "MAE")
    for at, (word, colour) in enumerate(zip(words, look.SIX, strict=False)):
        axes.plot(weights, [one[at] for one in found], color=colour, linewidth=1.8, label=word)
    axes.axhline(case["t"], color=theme.faint, linewidth=0.9, linestyle=":")
    for weight, word in ((case["printed"], "printed"), (case["ours"], "ours")):
        axes.axvline(weight, color=theme.accent, linewidth=0.9, linestyle="--" if word == "printed" else "-")
    at_once = case["printed"] == case["ours"]
    line = f"t reached at {case['ours']}" + (
        ", as printed" if at_once else f" (line), printed {case['printed']} (dashes)"
    )
    look._title(axes, theme, case["name"], line)
    look._axes(axes, theme, "weight")
    axes.set_ylim(0, 0.52)
    axes.set_xlim(0, weights[-1])
    left = 0.7 if case["data"] == "mcd" else 0.34  # where no line is
    axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc="upper left", bbox_to_anchor=(left, 1.0))
