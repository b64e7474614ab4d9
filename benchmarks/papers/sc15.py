"""[SC15] Tables 1 to 3 and Figures 5 to 7: sizes of classes, run times and losses of the three algorithms and of ours.

The printed figures are in ``tests/golden/sc15_table*.toml``, which the golden tests read too. Figures are drawn into
``docs/images`` where matplotlib is installed. The Patient Discharge data of the paper are not available: data of that
shape are generated.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import statistics
import sys
import time
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import shoal

HOME = Path(__file__).parents[2]
TABLES: dict[int, dict[str, Any]] = {
    number: tomllib.loads((HOME / "tests" / "golden" / f"sc15_table{number}.toml").read_text(encoding="utf-8"))
    for number in (1, 2, 3)
}
ALGORITHMS = {1: "t_close_merge", 2: "k_first", 3: "t_first"}
CENSUS = ("MCD", "HCD")
PATIENTS = "PDD-like"
LEVELS: tuple[float, ...] = tuple(TABLES[1]["t"])
K = 2  # of Figures 5 and 6: so that t alone decides the size of classes


class Cell(NamedTuple):
    """One pair of printed sizes."""

    table: int
    data: str
    k: int
    t: float
    smallest: int
    average: int


class Run(NamedTuple):
    """What a method gives: sizes of classes, the normalised SSE, CPU seconds."""

    sizes: np.ndarray
    loss: float
    cpu: float

    @property
    def pair(self) -> tuple[int, int]:
        """Smallest and average size, as the tables print them."""
        return int(self.sizes.min()), round(float(self.sizes.mean()))


def cells(number: int) -> Iterator[Cell]:
    """Every pair of a table."""
    paper = TABLES[number]
    for data in CENSUS:
        rows = paper[f"table{number}"][data] if f"table{number}" in paper else paper[data]
        for k, pairs in rows.items():
            for t, pair in zip(paper["t"], pairs, strict=True):
                smallest, average = pair.split("/") if isinstance(pair, str) else pair
                yield Cell(number, data, int(k), t, int(smallest), int(average))


@cache
def table(data: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Standardised quasi-identifiers, and confidential values."""
    if data == PATIENTS:
        return patients()
    X, C = census(data, folder)
    return (X - X.mean(axis=0)) / X.std(axis=0), C


@cache
def census(data: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Quasi-identifiers as they are, and confidential values."""
    paper = TABLES[1]
    path = folder / paper["data"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != paper["sha256"]:
        raise ValueError(f"{path} is not the file that the figures are about")
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    X = np.array([[float(row[name]) for name in paper["quasi"]] for row in rows])
    C = np.array([float(row[paper["confidential"][data]]) for row in rows])
    return X, C


def patients() -> tuple[np.ndarray, np.ndarray]:
    """Data of the shape of Patient Discharge, from the benchmark one folder up."""
    above = str(HOME / "benchmarks")
    sys.path.insert(0, above)
    try:
        made: tuple[np.ndarray, np.ndarray] = importlib.import_module("closeness").patients()
    finally:
        sys.path.remove(above)
    return made


def normalised(X: np.ndarray, labels: np.ndarray) -> float:
    """Eq. (5): the mean of squared errors, each in units of the range of its attribute."""
    scaled = X / np.ptp(X, axis=0)
    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, column) / sizes for column in scaled.T])
    return float(((scaled - means[labels]) ** 2).mean())


@cache
def run(data: str, method: str, k: int, t: float, folder: Path, refine: str | None = None, **more: Any) -> Run:
    """Run a method, once."""
    X, C = table(data, folder)
    start = time.process_time()
    part = shoal.microaggregate(X, k, method=method, confidential=C, t=t, effort=refine, **more)
    return Run(part.sizes, normalised(X, part.labels), time.process_time() - start)


def ours(cell: Cell, folder: Path) -> Run:
    """What comes out where a pair is printed."""
    return run(cell.data, ALGORITHMS[cell.table], cell.k, cell.t, folder)


def come_out(number: int, folder: Path) -> tuple[int, int, float]:
    """How many smallest sizes and how many averages of a table come out; the median difference of averages."""
    found = [(cell, ours(cell, folder).pair) for cell in cells(number)]
    smallest = sum(cell.smallest == pair[0] for cell, pair in found)
    average = sum(cell.average == pair[1] for cell, pair in found)
    return smallest, average, statistics.median(abs(pair[1] / cell.average - 1) for cell, pair in found)


def print_table(number: int, folder: Path) -> None:
    """Print a table, ours beside every pair, and what does not come out."""
    print(
        f"\nTable {number}, {ALGORITHMS[number]}: smallest/average size of classes, printed = or ≠ ours; t = ", end=""
    )
    print(", ".join(f"{t:g}" for t in LEVELS), end="")
    row = None
    for cell in cells(number):
        if (cell.data, cell.k) != row:
            row = (cell.data, cell.k)
            print(f"\n{cell.data} k = {cell.k:>2}:", end="")
        pair = ours(cell, folder).pair
        sign = "=" if pair == (cell.smallest, cell.average) else "≠"
        print(f"  {cell.smallest}/{cell.average} {sign} {pair[0]}/{pair[1]}", end="")
    smallest, average, apart = come_out(number, folder)
    print(f"\nOf 98 pairs {smallest} smallest sizes and {average} averages come out; ", end="")
    print(f"averages are {100 * apart:.0f} % apart (median).")
    expected = TABLES[number]["comes_out"]
    if expected != {"smallest": smallest, "average": average}:
        print(f"UNEXPECTED: {expected}")
    if "why" in TABLES[number]:
        print(TABLES[number]["why"])


def main(folder: Path) -> None:
    """Print the tables, printed values beside ours, then what the figures show, and draw them."""
    import sc15_figures
    import sc15_readings

    print("[SC15] J. Soria-Comas et al., t-Closeness through microaggregation: Tables 1 to 3, Figures 5 to 7")
    for number in TABLES:
        print_table(number, folder)
    sc15_readings.main(folder)
    sc15_figures.main(folder)
