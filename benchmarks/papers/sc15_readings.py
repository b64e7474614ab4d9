"""[SC15] Table 1 by other readings of Algorithm 1, in plain Python: none brings it out.

Which class joins the farthest one, and how attributes are scaled, is varied; printed is the nearest "in terms of
quasi-identifiers", and nothing about scales.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sc15 import CENSUS, Cell, cells, census

import shoal

SIZES = (10, 30)
JOINS = {
    "nearest mean": "as printed",
    "nearest mean, of those too far": "among classes that are too far from the table themselves",
    "nearest mean, of those close": "among classes that are close enough",
    "nearest record": "the class that holds the nearest record",
    "least rise of SSE": "Ward's distance",
    "farthest mean": "the opposite of what is printed",
    "closest union": "the class with which it is closest to the table",
}
SCALES = ("deviation", "none", "range")


class Classes:
    """Classes that are merged: members, means, counts of values, and distance from the table."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, labels: np.ndarray) -> None:
        self.X, self.codes = X, codes
        self.table = np.cumsum(np.bincount(codes)) / len(codes)
        self.members = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
        self.means = [X[rows].mean(axis=0) for rows in self.members]
        self.far = [self.distance(rows) for rows in self.members]

    def distance(self, rows: np.ndarray) -> float:
        """The earth mover's distance of rows from the table, by value."""
        share = np.cumsum(np.bincount(self.codes[rows], minlength=len(self.table))) / len(rows)
        return float(np.abs(share - self.table).sum() / (len(self.table) - 1))

    def cost(self, one: int, other: int, join: str) -> float:
        """The criterion for the class to merge with: the least."""
        a, b = self.members[one], self.members[other]
        if join == "nearest record":
            return float(((self.X[a][:, None] - self.X[b][None]) ** 2).sum(axis=2).min())
        if join == "closest union":
            return self.distance(np.concatenate((a, b)))
        apart = float(((self.means[one] - self.means[other]) ** 2).sum())
        if join == "least rise of SSE":
            return apart * len(a) * len(b) / (len(a) + len(b))
        return -apart if join == "farthest mean" else apart

    def candidates(self, worst: int, t: float, join: str) -> list[int]:
        """The classes that may join."""
        others = [other for other in range(len(self.far)) if other != worst]
        some = {"nearest mean, of those too far": True, "nearest mean, of those close": False}
        if join not in some:
            return others
        return [other for other in others if (self.far[other] > t) == some[join]] or others

    def merged(self, t: float, join: str) -> np.ndarray:
        """Sizes of the classes when all are within t of the table."""
        while len(self.far) > 1 and max(self.far) > t:
            worst = int(np.argmax(self.far))
            joins = min(self.candidates(worst, t, join), key=lambda other: self.cost(worst, other, join))
            low, high = sorted((worst, joins))
            self.members[low] = np.concatenate((self.members[low], self.members.pop(high)))
            del self.means[high], self.far[high]
            self.means[low] = self.X[self.members[low]].mean(axis=0)
            self.far[low] = self.distance(self.members[low])
        return np.array([len(rows) for rows in self.members])


def points(data: str, scale: str, folder: Path) -> np.ndarray:
    """Quasi-identifiers, scaled."""
    X = census(data, folder)[0]
    return X / {"deviation": X.std(axis=0), "none": 1.0, "range": np.ptp(X, axis=0)}[scale]


def some_cells() -> Iterator[Cell]:
    """Those of two k, but for t = 0.01, where all records are one class by any reading."""
    return (cell for cell in cells(1) if cell.k in SIZES and cell.t > 0.01)


def main(folder: Path) -> None:
    """Print how much of Table 1 comes out by each reading."""
    found = list(some_cells())
    print(f"\nTable 1 by other readings: smallest sizes and averages that come out, of {len(found)} (k = 10 and 30)")
    for join, what in JOINS.items():
        for scale in SCALES if join == "nearest mean" else SCALES[:1]:
            hits = np.zeros(2, np.int64)
            for data in CENSUS:
                X, codes = points(data, scale, folder), np.unique(census(data, folder)[1], return_inverse=True)[1]
                for cell in (cell for cell in found if cell.data == data):
                    classes = Classes(X, codes, shoal.microaggregate(X, cell.k).labels)
                    sizes = classes.merged(cell.t, join)
                    hits += (sizes.min() == cell.smallest, round(sizes.mean()) == cell.average)
            print(f"  {join} ({what}), scale {scale}: {hits[0]} and {hits[1]}", flush=True)
