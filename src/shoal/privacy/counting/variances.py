"""Variances of classes: half the mean squared distance between two records, for values of every kind.

Numbers and ranks have their ordinary variance. Values of a tree whose squared distance is the path between them have
Σ over edges: length · p · (1 − p), p being the share of records beyond the edge. If all values are equally far apart,
the tree is a star, and this is Gini's 1 − Σ p² [LM71], up to a factor: only ratios of variances matter. Missing values
are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counting.histograms import Histograms, gaps
from shoal.privacy.counting.numbers import Numbers
from shoal.privacy.counting.values import Level

_EXACT = 2**62
_ROUNDING = 2.0**-52
_FEW = 2**15


class Runs(NamedTuple):
    """Values of some classes, and their counts."""

    codes: NDArray[np.int64]  #: grouped by class, ascending within each
    counts: NDArray[np.int64]
    begins: NDArray[np.int64]  #: position of the first value of each class
    sizes: NDArray[np.int64]  #: records of each class

    @classmethod
    def of(cls, found: Histograms, which: NDArray[np.bool_]) -> Runs:
        """Return the values of some of the classes."""
        if which.all():
            codes = found.codes if len(found.runs) == len(found.codes) else found.codes[found.runs]
            return cls(codes, found.counts, found.begins, found.classes.sizes)
        mine, distinct = np.repeat(which, found.distinct), found.distinct[which]
        begins = np.cumsum(distinct) - distinct
        return cls(found.codes[found.runs[mine]], found.counts[mine], begins, found.classes.sizes[which])

    @classmethod
    def one(cls, counts: NDArray[np.int64]) -> Runs:
        """Return records as one class, given the count of each value."""
        codes = np.flatnonzero(counts)
        counts = counts if len(codes) == len(counts) else counts[codes]
        return cls(codes, counts, np.zeros(1, np.int64), np.array([counts.sum()]))

    def class_at(self, i: int) -> Runs:
        """Return one of the classes."""
        end = self.begins[i + 1] if i + 1 < len(self.begins) else len(self.codes)
        mine = slice(int(self.begins[i]), int(end))
        return Runs(self.codes[mine], self.counts[mine], np.zeros(1, np.int64), self.sizes[i : i + 1])


class Variances(NamedTuple):
    """Variance of each class: as floats with error bounds, and a way to compute it exactly."""

    rough: NDArray[np.float64]
    error: NDArray[np.float64]
    exact: Callable[[NDArray[np.int64]], Fraction]  #: the exact minimum over some classes
    costs: NDArray[np.int64]  #: how many numbers an exact computation reads

    def least(self) -> Least:
        """Return the least of them."""
        high = (self.rough + self.error).min()
        near = np.flatnonzero(self.rough - self.error <= high)
        low = max(float((self.rough[near] - self.error[near]).min()), 0.0)
        return Least(
            Fraction(low),
            Fraction(float(high)),
            lambda: self.exact(near),
            int(self.costs[near].sum()) <= _FEW,
        )


class Least(NamedTuple):
    """Number known to lie between two bounds, and a way to compute it."""

    low: Fraction
    high: Fraction
    exact: Callable[[], Fraction]
    cheap: bool  #: whether computing it is quick

    def over(self, other: Least, limit: Fraction | None) -> Fraction:
        """Return the quotient of two: exact, or at least on the correct side of a limit. 1 if the other is 0."""
        if not other.high:
            return Fraction(1)
        if not (self.cheap and other.cheap) and other.low:
            low, high = self.low / other.high, self.high / other.low
            if limit is None or not low <= limit <= high:
                return (low + high) / 2
        exact = other.exact()
        return self.exact() / exact if exact else Fraction(1)


def variances(runs: Runs, levels: tuple[Level, ...], numbers: Numbers | None) -> Variances:
    """Return the variances of classes: of numbers if there are any, of the leaves of a tree, or else of ranks."""
    if levels:
        return _quotients(_ways(runs, levels), runs.sizes, 1)
    if numbers is not None and numbers.units is None:
        return _of_floats(runs, numbers)
    units = np.arange(int(runs.codes.max()) + 1) if numbers is None or numbers.units is None else numbers.units
    per = 1 if numbers is None else numbers.per
    if numbers is not None:
        runs = _placed(runs, numbers)
    if not len(runs.codes):
        return _quotients(np.zeros(len(runs.sizes), np.int64), runs.sizes, 1)
    there = units[runs.codes]
    there = there - (int(there.min()) + int(there.max())) // 2
    largest, size = _largest(there), int(runs.sizes.max())
    number = np.int64 if (largest * size) ** 2 < _EXACT else object
    weighted = there if largest * size < _EXACT else there.astype(object)
    weighted = weighted if len(there) == int(runs.sizes.sum()) else runs.counts * weighted
    sums, squares = _sums(weighted, runs.begins).astype(number), _squares(weighted, there, runs).astype(number)
    return _quotients(runs.sizes.astype(number) * squares - sums * sums, runs.sizes, per * per)


def _squares(weighted: NDArray[Any], there: NDArray[np.int64], runs: Runs) -> NDArray[Any]:
    """Return the sum of squares of each class, in pieces small enough for 64 bits."""
    largest = _largest(there)
    if largest * largest * int(runs.sizes.max()) < _EXACT:
        return _sums(weighted * there, runs.begins)
    few = _EXACT // max(largest * largest * int(runs.counts.max()), 1)
    if not few:
        return _sums(weighted.astype(object) * there.astype(object), runs.begins)
    pieces = np.union1d(np.arange(0, len(there), few), runs.begins[runs.begins < len(there)])
    return _sums(_sums(weighted * there, pieces).astype(object), np.searchsorted(pieces, runs.begins))


def _largest(there: NDArray[np.int64]) -> int:
    return max(int(there.max()), -int(there.min()))


def _quotients(works: NDArray[Any], sizes: NDArray[np.int64], per: int) -> Variances:
    """Return variances from sums over s² · per."""
    rough = works.astype(np.float64) / np.square(np.maximum(sizes, 1).astype(np.float64)) / per

    def exact(near: NDArray[np.int64]) -> Fraction:
        mine, size = works[near], sizes[near]
        fewest = [(mine[size == s].min(), max(s, 1)) for s in np.unique(size).tolist()]
        return min(Fraction(int(found), s * s * per) for found, s in fewest)

    return Variances(rough, rough * 4 * _ROUNDING, exact, np.zeros(len(sizes), np.int64))


def _sums(terms: NDArray[Any], begins: NDArray[np.int64]) -> NDArray[Any]:
    """Return the sum of each class; 0 for an empty one, for which reduceat would return the first of the next."""
    empty = gaps(begins, len(terms)) == 0
    if not empty.any():
        return np.asarray(np.add.reduceat(terms, begins))
    found = np.zeros(len(begins), terms.dtype)
    if len(terms):
        found[~empty] = np.add.reduceat(terms, begins[~empty])
    return found


def _placed(runs: Runs, numbers: Numbers) -> Runs:
    """Return the values that are not missing."""
    if not numbers.nowhere.any():
        return runs
    there = ~numbers.nowhere[runs.codes]
    begins: NDArray[np.int64] = (np.cumsum(there) - there)[runs.begins]
    codes, counts = runs.codes[there], runs.counts[there]
    return Runs(codes, counts, begins, _sums(counts, begins))


def _ways(runs: Runs, levels: tuple[Level, ...]) -> NDArray[Any]:
    """Return Σ over edges: length · records beyond it · the other records, for each class."""
    longest = sum(int(level.length.max(initial=0)) for level in levels)
    number = np.int64 if int(runs.sizes.max()) ** 2 * longest < _EXACT else object
    if len(levels) == 1:  # a star
        size, counts = runs.sizes.astype(number), runs.counts.astype(number, copy=False)
        return np.asarray(int(levels[0].length[0]) * (size * size - np.add.reduceat(counts * counts, runs.begins)))
    owner = np.repeat(np.arange(len(runs.sizes)), gaps(runs.begins, len(runs.codes)))
    total, size = np.zeros(len(runs.sizes), number), runs.sizes.astype(number)
    for level in levels:
        node = level.node[runs.codes]
        there = node >= 0
        of, node, counts = owner[there], node[there], runs.counts[there]
        if not len(of):
            continue
        first = np.flatnonzero(np.append(True, (of[1:] != of[:-1]) | (node[1:] != node[:-1])))
        beyond = np.add.reduceat(counts, first).astype(number)
        of = of[first]
        np.add.at(total, of, level.length[node[first]] * beyond * (size[of] - beyond))
    return total


def _of_floats(runs: Runs, numbers: Numbers) -> Variances:
    """Return the variances of numbers that are not integers over a small scale."""
    runs = _placed(runs, numbers)
    sizes = np.maximum(runs.sizes, 1).astype(np.float64)
    there = numbers.rough[runs.codes]
    largest = float(np.nanmax(np.abs(numbers.rough), initial=0.0))
    power = 0 if largest == 0 or 1e-100 < largest < 1e100 else -int(np.frexp(largest)[1])
    if power:  # squares neither overflow nor vanish
        there, largest = np.ldexp(there, power), 1.0
    distinct = gaps(runs.begins, len(runs.codes))
    apart = there - np.repeat(_sums(runs.counts * there, runs.begins) / sizes, distinct)
    rough = _sums(runs.counts * np.square(apart), runs.begins) / sizes
    alone = distinct <= 1  # a single value has no variance
    rough[alone] = 0.0
    # each number, and each difference, has a rounding error relative to the largest; a sum has one for each term
    off, terms = 4 * _ROUNDING * largest, (distinct + 8) * _ROUNDING
    error = 2 * np.sqrt(rough) * off + off * off + np.square(terms * largest) + terms * rough
    error[alone] = 0.0

    def exact(i: int) -> Fraction:
        one = runs.class_at(i)
        written = [numbers.exact(code) for code in one.codes.tolist()]
        scale = lcm(*(number.denominator for number in written)) if written else 1
        pairs = [(int(number * scale), count) for number, count in zip(written, one.counts.tolist(), strict=True)]
        s, sums = sum(count for _, count in pairs), sum(count * number for number, count in pairs)
        squares = sum(count * number * number for number, count in pairs)
        return Fraction(s * squares - sums * sums, max(s * scale, 1) ** 2) * Fraction(2) ** (2 * power)

    return Variances(rough, error, lambda near: min(exact(i) for i in near.tolist()), distinct)
