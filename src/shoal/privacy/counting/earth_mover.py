"""Earth mover's distance of each class from a reference set of records, in integers.

Values are the leaves of a tree whose edges have lengths (for ordered values, a path). Then

    EMD(C, T) = Σ over edges: length · |share of C beyond the edge − share of T beyond it|.

With s records in C, N in T and lengths over a common scale, N · s · scale · EMD is an integer: the *work*.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counting.values import Values

_EXACT = 2**61  # sums of two integers up to this fit 64 bits
_BATCH = 2**16  # records


def work(values: Values, codes: NDArray[np.int64], sizes: NDArray[np.int64], base: NDArray[np.int64]) -> NDArray[Any]:
    """Return N · s · scale · EMD of each class from the base, in integers: int64, or Python's where these overflow.

    Parameters
    ----------
    values
        Distances between values.
    codes
        Codes of the records' values, grouped by class and ascending within each.
    sizes
        Number of records of each class.
    base
        Codes of the values of the N reference records, ascending.

    Complexity: O(records + N), times the height of the tree if there is one.
    """
    found = np.empty(len(sizes), np.int64)
    most = _EXACT // (len(base) * values.scale)
    if int(sizes.max()) > most:
        found = found.astype(object)
    one = _Trees(values, base) if values.levels else _Line(values, base)
    begins = np.concatenate(([0], np.cumsum(sizes)))
    first = 0
    while first < len(sizes):  # few enough at a time to stay in the cache
        after = max(int(np.searchsorted(begins, begins[first] + _BATCH)), first + 1)
        batch = slice(first, min(after, len(sizes)))
        number = np.int64 if int(sizes[batch].max()) <= most else object
        found[batch] = one.work(codes[begins[batch.start] : begins[batch.stop]], sizes[batch], np.dtype(number))
        first = batch.stop
    return found


class _Line:
    """Ordered values: the tree is a path."""

    def __init__(self, values: Values, base: NDArray[np.int64]) -> None:
        self.base, self.count = base, values.count
        self.few = values.count <= 4 * len(base) + 1000  # few enough for a table with an entry per value
        if self.few:
            below = np.cumsum(values.counts_in(base))
            self.sums = np.concatenate(([0], np.cumsum(below)[:-1]))
        else:
            self.sums = np.concatenate(([0], np.cumsum(base)))

    def area(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum, over all u below a value, of the number of records of T up to u."""
        if self.few:
            return np.asarray(self.sums[at])
        lower = np.searchsorted(self.base, at)
        return np.asarray(at * lower - self.sums[lower])

    def work(self, codes: NDArray[np.int64], sizes: NDArray[np.int64], number: np.dtype[Any]) -> NDArray[Any]:
        """Sum |N · records of C up to a value − s · records of T up to it| over all values but the last.

        Between two consecutive records of C the first term is constant and the second grows. It is enough to know where
        they cross, and the sum of the second up to there and from there on.
        """
        n, stretches = len(self.base), sizes + 1  # before the first record, between two, and after the last
        last = np.cumsum(stretches) - 1
        begins = last - sizes
        to = np.empty(len(codes) + len(sizes), np.int64)
        inner = np.ones(len(to), np.bool_)
        inner[last] = False
        to[inner], to[last] = codes, self.count - 1
        since = np.empty_like(to)
        since[1:], since[begins] = to[:-1], 0
        size = np.repeat(sizes, stretches)
        passed = np.arange(len(to)) - np.repeat(begins, stretches)  # records of C so far
        need = (n * passed + size - 1) // size  # the fewest records of T that, times s, reach N · passed
        meet = np.clip(self.base[np.maximum(need, 1) - 1], since, to)
        at_end, at_meet = self.area(to), self.area(meet)
        at_begin = np.empty_like(at_end)
        at_begin[1:], at_begin[begins] = at_end[:-1], 0
        grown, stood = (at_begin - at_meet + at_end - at_meet).astype(number), (2 * meet - since - to).astype(number)
        return np.asarray(np.add.reduceat(n * passed.astype(number) * stood + size.astype(number) * grown, begins))


class _Trees:
    """Values at the leaves of a tree, or of a star if all are equally far apart."""

    def __init__(self, values: Values, base: NDArray[np.int64]) -> None:
        self.n, self.levels = len(base), values.levels
        counts = values.counts_in(base)
        self.below = [np.zeros(len(level.length), np.int64) for level in values.levels]
        for level, below in zip(values.levels, self.below, strict=True):
            np.add.at(below, level.node[level.node >= 0], counts[level.node >= 0])
        self.empty = sum(int((e.length * below).sum()) for e, below in zip(self.levels, self.below, strict=True))

    def work(self, codes: NDArray[np.int64], sizes: NDArray[np.int64], number: np.dtype[Any]) -> NDArray[Any]:
        """Sum length · |N · records of C below a node − s · records of T below it|, from differences to an empty C."""
        size = sizes.astype(number)
        total = size * self.empty
        owner = np.repeat(np.arange(len(sizes)), sizes)
        for level, below in zip(self.levels, self.below, strict=True):
            node = level.node[codes]
            of, node = owner[node >= 0], node[node >= 0]
            new = (of[1:] != of[:-1]) | (node[1:] != node[:-1])
            run = np.flatnonzero(np.concatenate(([True], new))[: len(node)])
            count = np.diff(np.append(run, len(node))).astype(number)
            of, node = of[run], node[run]
            expected = size[of] * below[node]
            np.add.at(total, of, level.length[node] * (abs(self.n * count - expected) - expected))
        return total


def distance(work: Any, size: int, n: int, scale: int) -> Fraction:
    """Return the EMD of a class, exactly."""
    return Fraction(int(work), int(size) * n * scale)


def largest(works: NDArray[Any], sizes: NDArray[np.int64], n: int, scale: int) -> Fraction:
    """Return the largest EMD of any class, exactly."""
    rough = roughly(works, sizes, n, scale)
    near = np.flatnonzero(rough >= rough.max() * (1 - 1e-9))
    pairs = {(int(works[i]), int(sizes[i])) for i in near}
    return max(distance(found, size, n, scale) for found, size in pairs)


def roughly(works: NDArray[Any], sizes: NDArray[np.int64], n: int, scale: int) -> NDArray[np.float64]:
    """Return the EMD of each class, up to a few roundings."""
    return np.asarray(works.astype(np.float64) / (sizes * (float(n) * scale)))


def within(distance: Fraction, t: float | None) -> bool:
    """Tell whether a distance is at most t as written: 0.1 is one tenth."""
    return t is None or distance <= Fraction(str(float(t)))


def noted(worst: Sequence[tuple[int, Fraction]]) -> tuple[tuple[int, float], ...]:
    """Return the worst classes with their distances, as a finding stores them."""
    return tuple((number, float(found)) for number, found in worst)
