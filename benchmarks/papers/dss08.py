"""[DSS08] Tables 1 to 3: the loss of k-anonymity, p-sensitive k-anonymity and (k,p,q,r)-anonymity, over 20 seeds.

The printed figures are in ``tests/golden/dss08.toml``, which the golden tests read too. The paper ran once, from seeds
that are not known; ours are means, with the standard deviation from seed to seed.
"""

from __future__ import annotations

import csv
import hashlib
import statistics
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import extent
import numpy as np

import shoal

HOME = Path(__file__).parents[2]
PAPER: dict[str, Any] = tomllib.loads((HOME / "tests" / "golden" / "dss08.toml").read_text(encoding="utf-8"))
Q = 0.2
FEW = 5  #: seeds of our own enforcement, unless --full
NAMES = {"mdav": "k-anonymity", "p_sensitive": "p-sensitive", "kpqr": "(k,p,q,r)"}


class Cell(NamedTuple):
    """One printed loss."""

    table: int
    model: str
    skewed: bool
    k: int
    p: int
    r: float
    printed: float

    @property
    def name(self) -> str:
        """What the cell is called in lists."""
        return f"{self.table} {self.model} k={self.k} p={self.p} r={self.r:g}"

    @property
    def why(self) -> str | None:
        """Why the cell does not come out; None if it does."""
        reasons: dict[str, str] = PAPER["why"]
        return reasons.get(self.name, reasons.get(f"{self.table} {self.model}"))


class Losses(NamedTuple):
    """Information losses over seeds."""

    mean: float
    spread: float


CELLS = [Cell(int(table), *cell) for table, cells in PAPER["cells"].items() for cell in cells]


@cache
def census(folder: Path) -> np.ndarray:
    """The twelve attributes, standardised."""
    path = folder / PAPER["data"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != PAPER["sha256"]:
        raise ValueError(f"{path} is not the file that the figures are about")
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    X = np.array([[float(value) for name, value in row.items() if name != PAPER["without"]] for row in rows])
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def confidential(skewed: bool, n: int, seed: int) -> np.ndarray:
    """The confidential attribute, given to records at random."""
    often = [10] * 9 + [n - 90] if skewed else [n // 10] * 10
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(1, 11), often))


def loss(X: np.ndarray, labels: np.ndarray) -> float:
    """100·SSE/SST."""
    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, column) / sizes for column in X.T])
    return float(100 * ((X - means[labels]) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum())


def one(cell: Cell, seed: int, folder: Path) -> float:
    """The loss of the printed model, for one seed."""
    X = census(folder)
    given: dict[str, Any] = {"p": cell.p} if cell.model != "mdav" else {}
    if cell.model == "kpqr":
        given |= {"q": Q, "r": cell.r}
    if given:
        given |= {"confidential": confidential(cell.skewed, len(X), seed)}
    return loss(X, shoal.microaggregate(X, cell.k, method=cell.model, seed=seed, **given).labels)


def own(cell: Cell, seed: int, folder: Path) -> float:
    """The loss of our own enforcement of the cell's model, for one seed: MDAV, refined, then atoms merged and moved.

    The classes withstand an attacker who knows the algorithm, and are checked here against the definitions.
    """
    X = census(folder)
    secret = confidential(cell.skewed, len(X), seed)
    required = {"p": cell.p} if cell.model == "p_sensitive" else {"kpqr": [cell.p, Q, cell.r]}
    made = shoal.microaggregate(X, cell.k, confidential=secret, seed=seed, require=required, effort="default")
    if not meets(cell, secret, made.labels):
        raise AssertionError(f"{cell.name}, seed {seed}: a class does not meet the model")
    return loss(X, made.labels)


def meets(cell: Cell, secret: np.ndarray, labels: np.ndarray) -> bool:
    """Whether every class meets p-sensitivity, or Definition 7, by their definitions."""
    rare = np.bincount(secret)[secret] < Q * len(secret)
    for label in range(labels.max() + 1):
        inside = labels == label
        values = secret[inside]
        concerned = cell.model == "p_sensitive" or rare[inside].any()
        varied = cell.model == "p_sensitive" or values.var() >= cell.r * secret.var() - 1e-9
        if len(values) < cell.k or (concerned and (len(set(values.tolist())) < cell.p or not varied)):
            return False
    return True


@cache
def ours(cell: Cell, folder: Path, seeds: int = PAPER["seeds"]) -> Losses:
    """Mean and spread of the losses where one is printed."""
    found = [one(cell, seed, folder) for seed in range(1 if cell.model == "mdav" else seeds)]
    return Losses(statistics.fmean(found), statistics.pstdev(found))


def comes_out(cell: Cell, folder: Path) -> bool:
    """Whether the mean is within the tolerance of the printed value."""
    return bool(abs(ours(cell, folder).mean / cell.printed - 1) <= PAPER["tolerance"][cell.model])


def main(folder: Path) -> None:
    """Print every cell beside ours, then what other readings give."""
    import dss08_readings

    print("[DSS08] J. Domingo-Ferrer et al., An anonymity model achievable via microaggregation: Tables 1 to 3")
    print(f"loss in %; ours: mean ± standard deviation over {PAPER['seeds']} seeds")
    seeds = extent.seeds(PAPER["seeds"], FEW)
    print(f"our enforcement: the same over {seeds} seeds")
    for cell in CELLS:
        found = ours(cell, folder)
        sign = "=" if comes_out(cell, folder) else "≠"
        line = f"Table {cell.table}  {NAMES[cell.model]:12} k = {cell.k} p = {cell.p} r = {cell.r:g}"
        print(f"{line}  {cell.printed:7.2f} {sign} {found.mean:6.2f} ± {found.spread:4.2f}", end="")
        print(f"  {100 * (found.mean / cell.printed - 1):+5.1f} %", end="")
        if cell.model != "mdav":
            mine = [own(cell, seed, folder) for seed in range(seeds)]
            print(f"  our enforcement {statistics.fmean(mine):6.2f} ± {statistics.pstdev(mine):4.2f}", end="")
        print()
        if comes_out(cell, folder) is (cell.why is not None):
            print("UNEXPECTED")
    for name, reason in PAPER["why"].items():
        print(f"Table {name} does not come out. {reason}")
    dss08_readings.main(folder)
