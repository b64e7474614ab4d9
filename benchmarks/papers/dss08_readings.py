"""[DSS08] Tables 1 to 3 by other readings of Section 4, in plain Python with options: none brings all cells out."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

import dss08
import extent
import numpy as np

import shoal

SEEDS, FEW = 5, 2  #: with --full, and without
EPSILON = 1e-12


@dataclass(frozen=True)
class Reading:
    """How the steps are read; as they are printed, without the preference of 4(d), unless said otherwise."""

    prefer: bool = False  # 4(d): first those that increase the variance
    start: str = "random"  # 4(b): or the first in the file, or the one farthest from the centroid of Y
    centre: bool = False  # nearest to the centroid of C, not to x_s
    only_y: bool = False  # candidates from Y, not from X
    sample: bool = False  # variances divided by m − 1
    recomputed: bool = False  # MinVar from what is left of Y, class by class
    most: bool = False  # 4(e): the nearest of those that increase the variance most
    rising: bool = False  # 4(f): never lower the variance
    any_near: bool = False  # 4(f): whoever is nearest
    to_nearest: bool = False  # 4(g): each record left in Y to the class with the nearest centroid
    drawn: bool = False  # values drawn independently, not each 108 times


class Heuristic:
    """A run of the heuristic."""

    def __init__(self, reading: Reading, X: np.ndarray, v: np.ndarray, k: int, p: int, r: float, seed: int) -> None:
        self.how, self.X, self.v, self.k, self.p, self.r = reading, X, v.astype(float), k, p, r
        self.values = np.unique(self.v)
        rare = [value for value in self.values if (self.v == value).sum() < dss08.Q * len(v)]
        self.rare = np.isin(self.v, rare)
        self.alive = np.ones(len(v), bool)
        self.order = np.random.default_rng(seed).permutation(len(v))
        self.labels, self.classes = np.full(len(v), -1), 0
        self.least = r * self.var(self.v[self.rare])

    def var(self, values: np.ndarray) -> float:
        """Variance of some values."""
        return float(values.var(ddof=int(self.how.sample))) if len(values) > 1 else 0.0

    def with_each(self) -> dict[float, float]:
        """The variance of C with one more record of each value."""
        return {value: self.var(np.append(self.v[self.c], value)) for value in self.values}

    def take(self, allowed: list[float]) -> bool:
        """Let the nearest record with an allowed value join C."""
        here = self.alive & np.isin(self.v, allowed) & (self.rare | (not self.how.only_y))
        if not here.any():
            return False
        centre = self.X[self.c].mean(axis=0) if self.how.centre else self.X[self.c[0]]
        rows = np.flatnonzero(here)
        self.add(int(rows[np.argmin(((self.X[rows] - centre) ** 2).sum(axis=1))]))
        return True

    def add(self, row: int) -> None:
        """Let a record join C."""
        self.c.append(row)
        self.alive[row] = False

    def begin(self) -> None:
        """4(a) to (c)."""
        y = self.alive & self.rare
        if self.how.recomputed:
            self.least = self.r * self.var(self.v[y])
        rows, self.c = np.flatnonzero(y), list[int]()
        if self.how.start == "random":
            self.add(int(next(row for row in self.order if y[row])))
        elif self.how.start == "file":
            self.add(int(rows[0]))
        else:
            self.add(int(rows[np.argmax(((self.X[rows] - self.X[rows].mean(axis=0)) ** 2).sum(axis=1))]))

    def fill(self) -> None:
        """4(d) to (f)."""
        while len(inside := set(self.v[self.c])) < self.p:
            new = [value for value in self.values if value not in inside]
            preferred = [value for value in self.above(self.var(self.v[self.c])) if self.how.prefer and value in new]
            if not self.take(preferred) and not self.take(new):
                break
        while (now := self.var(self.v[self.c])) < self.least - EPSILON:
            most = self.above(max(self.with_each().values()) - 2 * EPSILON) if self.how.most else []
            if not self.take(most) and not self.take(self.above(now)):
                break
        while len(self.c) < self.k and self.alive.any():
            least = max(self.least, self.var(self.v[self.c]) if self.how.rising else 0.0)
            kept = [] if self.how.any_near else self.above(least - 2 * EPSILON)
            if not self.take(kept) and not self.take(self.values.tolist()):
                break

    def above(self, least: float) -> list[float]:
        """The values whose next copy increases the variance of C."""
        return [value for value, variance in self.with_each().items() if variance > least + EPSILON]

    def end(self) -> None:
        """4(g) and (h)."""
        y = self.alive & self.rare
        short = self.var(self.v[y]) < self.least - EPSILON or len(set(self.v[y])) < self.p
        rest = np.flatnonzero(y).tolist() if short else []
        if not self.how.to_nearest:
            for row in rest:
                self.add(row)
        self.labels[self.c] = self.classes
        self.classes += 1
        if self.how.to_nearest:
            self.join(rest)

    def join(self, rows: list[int]) -> None:
        """Let records join the classes with the nearest centroids."""
        self.alive[rows] = False
        centres = np.array([self.X[self.labels == label].mean(axis=0) for label in range(self.classes)])
        for row in rows:
            self.labels[row] = np.argmin(((centres - self.X[row]) ** 2).sum(axis=1))

    def run(self) -> float:
        """The loss in percent."""
        while (self.alive & self.rare).any():
            self.begin()
            self.fill()
            self.end()
        rest = np.flatnonzero(self.alive)
        if len(rest) >= self.k:
            self.labels[rest] = self.classes + shoal.microaggregate(self.X[rest], self.k).labels
        else:
            self.join(rest.tolist())
        return dss08.loss(self.X, self.labels)


READINGS = {
    "as printed, without the preference of 4(d)": Reading(),
    "with the preference of 4(d)": Reading(prefer=True),
    "4(b): in the order of the file": Reading(start="file"),
    "4(b): farthest from the centroid of Y": Reading(start="farthest"),
    "nearest to the centroid of C": Reading(centre=True),
    "candidates from Y only": Reading(only_y=True),
    "from Y only, with the preference": Reading(only_y=True, prefer=True),
    "sample variances": Reading(sample=True),
    "MinVar from what is left of Y": Reading(recomputed=True),
    "4(e): what increases the variance most": Reading(most=True),
    "4(f): never lower the variance": Reading(rising=True),
    "4(f): whoever is nearest": Reading(any_near=True),
    "4(g): the rest to the nearest classes": Reading(to_nearest=True),
    "values drawn independently": Reading(drawn=True),
}


def confidential(cell: dss08.Cell, n: int, seed: int, drawn: bool) -> np.ndarray:
    """The confidential attribute, as in the tables, or each value drawn on its own."""
    secret = dss08.confidential(cell.skewed, n, seed)
    return np.random.default_rng(seed).choice(secret, n) if drawn else secret


def main(folder: Path) -> None:
    """Print for every reading how far each cell is from the printed loss."""
    cells, X = [cell for cell in dss08.CELLS if cell.model == "kpqr"], dss08.census(folder)
    seeds = extent.seeds(SEEDS, FEW)
    print(f"\nReadings of Section 4, difference from the printed loss in %, mean of {seeds} seeds; Table/k/r:")
    print(" " * 44 + "".join(f"{f'{cell.table}/{cell.k}/{cell.r:g}':>9}" for cell in cells))
    for name, reading in READINGS.items():
        print(f"{name:44}", end="")
        for cell in cells:
            losses = [
                Heuristic(
                    reading, X, confidential(cell, len(X), seed, reading.drawn), cell.k, cell.p, cell.r, seed
                ).run()
                for seed in range(seeds)
            ]
            print(f"{100 * (statistics.fmean(losses) / cell.printed - 1):+9.0f}", end="", flush=True)
        print()
