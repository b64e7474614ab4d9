"""How far classes are from their natural supersets: classes together with those around them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.privacy._classes import Classes
from shoal.privacy._earth_mover import distance, roughly, work
from shoal.privacy._neighbours import Around, Neighbourhood
from shoal.privacy._values import Level, Values

_EXACT = 2**61  # sums of two integers up to this fit 64 bits
ROUNDING = 1e-9  #: more than a distance between distributions is rounded by


class Supersets:
    """How far classes are from their supersets: the whole table, then at least n records around, 2n, 4n, …

    Parameters
    ----------
    values
        How far values are apart.
    classes
        The records, class after class.
    where
        Places of the classes; None: only the whole table is a superset.
    n
        How many records a superset holds at least.
    """

    def __init__(self, values: Values, classes: Classes, where: NDArray[np.float64] | None, n: int) -> None:
        self.values, self.sizes, self.n = values, classes.sizes, n
        self.codes = classes.codes(values.codes, values.count)
        self.begins = classes.begins
        self.total = len(self.codes)
        self.hood = None if where is None else Neighbourhood(where, self.sizes)
        self.whole = work(values, self.codes, self.sizes, np.sort(values.codes))
        self.rough = roughly(self.whole, self.sizes, self.total, values.scale)  #: the least so far, rounded
        self.looked = np.zeros(len(self.sizes), np.int64)  #: at how many supersets besides the table
        self.found: dict[int, Fraction] = {}
        self.all = 0  # how many supersets there are besides the table
        while self.hood is not None and n << self.all < self.total:
            self.all += 1

    def least(self, c: int) -> Fraction:
        """Return how far a class is from the closest superset that was looked at, exactly."""
        if c not in self.found:
            self.found[c] = self.from_table(self.whole[c], self.sizes[c])
        return self.found[c]

    def from_table(self, work: Any, size: int) -> Fraction:
        """Return how far a class is from the whole table, exactly."""
        return distance(work, size, self.total, self.values.scale)

    def done(self, c: int) -> bool:
        """Tell whether no other superset of a class could be closer."""
        return bool(self.looked[c] == self.all) or self.least(c) == 0

    def look(self, asked: NDArray[np.int64]) -> None:
        """Look at one more superset of each of some classes."""
        assert self.hood is not None
        for looked in np.unique(self.looked[asked]).tolist():
            for around in self.hood.around(asked[self.looked[asked] == looked], self.n << looked):
                self._closer(around)
        self.looked[asked] += 1

    def _closer(self, around: Around) -> None:
        """Lower what was found of some classes to their distance from what lies around them."""
        works, held = self.works(around)
        sizes = self.sizes[around.asked]
        rough = works.astype(np.float64) / (sizes * held * float(self.values.scale))
        for i in np.flatnonzero(rough <= self.rough[around.asked] + ROUNDING).tolist():
            c = int(around.asked[i])
            self.found[c] = min(self.least(c), distance(works[i], int(sizes[i]), int(held[i]), self.values.scale))
            self.rough[c] = float(self.found[c])

    def works(self, around: Around) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return N · s · scale · EMD of each class from what lies around it, in integers, and N."""
        near, owner = around.near, around.owner
        counts = self.sizes[near]
        ends = np.cumsum(counts)
        rows = np.arange(int(ends[-1])) + np.repeat(self.begins[near] - ends + counts, counts)
        own = np.repeat(near == around.asked[owner], counts)
        of = np.repeat(owner, counts)
        held = np.bincount(of, minlength=len(around.asked))
        sizes = self.sizes[around.asked]
        exact = float((sizes * held).max()) * self.values.scale <= _EXACT
        n, s = (array.astype(np.int64 if exact else object) for array in (held, sizes))
        codes = self.codes[rows]
        if not self.values.levels:
            return _line(of, codes, own, n, s), held
        return sum(_level(level, of, codes, own, n, s) for level in self.values.levels), held  # type: ignore[return-value]


def _line(
    of: NDArray[np.int64], codes: NDArray[np.int64], own: NDArray[np.bool_], n: NDArray[Any], s: NDArray[Any]
) -> NDArray[Any]:
    """Add up |N · records of C up to a value − s · records of T up to it| over all values, which are ordered."""
    owner, code, member = _sorted(of, codes, own, int(codes.max()) + 1)
    begins = np.searchsorted(owner, np.arange(len(n)))
    passed = np.cumsum(member)
    before = (passed[begins] - member[begins])[owner]
    gap = np.diff(code, append=code[-1])
    until = np.arange(1, len(code) + 1) - begins[owner]  # at the last of an owner all of both are passed: 0 is added
    return np.asarray(np.add.reduceat(abs(n[owner] * (passed - before) - s[owner] * until) * gap, begins))


def _level(
    level: Level, of: NDArray[np.int64], codes: NDArray[np.int64], own: NDArray[np.bool_], n: NDArray[Any], s: Any
) -> NDArray[Any]:
    """Add up length · |N · records of C below a node − s · records of T below it| over the nodes of a level."""
    node = level.node[codes]
    there = node >= 0
    total = np.zeros_like(n)
    if not there.any():
        return total
    owner, node, member = _sorted(of[there], node[there], own[there], len(level.length))
    run = np.flatnonzero(np.concatenate(([True], (node[1:] != node[:-1]) | (owner[1:] != owner[:-1]))))
    all_, inside = np.diff(np.append(run, len(node))), np.add.reduceat(member, run)
    owner, node = owner[run], node[run]
    np.add.at(total, owner, level.length[node] * abs(n[owner] * inside - s[owner] * all_))
    return total


def _sorted(
    owner: NDArray[np.int64], code: NDArray[np.int64], own: NDArray[np.bool_], codes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort on the owner, then on the code: as one number each, which sorts many times as fast."""
    keys = (owner * codes + code) * 2 + own
    keys.sort()
    pairs = keys >> 1
    owner = pairs // codes
    return owner, pairs - owner * codes, keys & 1
