"""Nearest of many positions by mixed attributes: numbers, categories and taxonomies, in blocks of two kd-trees.

The values of every attribute have an order in which their distance grows: numbers and ranks by themselves, categories
in the order of their tree. So the distance of two boxes is that of their nearest ends, whatever the attributes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_LEAF = 48  # positions
_GROUP = 192  # positions whose nearest are searched at once
_PAIRS = 2**21  # pairs whose distances are held at once


@dataclass(frozen=True, eq=False)
class Axis:
    """The distance between two values of an attribute, from 0 to 1.

    Attributes
    ----------
    range
        Of numbers: the difference that has distance 1.
    missing
        Whether some numbers are missing: these are infinite, and have distance 1 from all others.
    gaps
        Of categories in the order of their tree: the distance of each from the next. None: they are numbers.
    """

    range: float = 1.0
    missing: bool = False
    gaps: NDArray[np.float64] | None = field(default=None, repr=False)

    @cached_property
    def flat(self) -> bool:
        """Whether all categories are equally far apart."""
        return self.gaps is not None and bool((self.gaps == 1.0).all())

    def squared(self, one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared distances of values, broadcast; rounding keeps their order."""
        if self.gaps is None:
            with np.errstate(invalid="ignore"):
                apart = np.subtract(one, other)
                apart *= 1.0 / self.range
            np.square(apart, out=apart)
            if self.missing:
                np.minimum(apart, 1.0, out=apart)
                apart[np.isnan(apart)] = 0.0  # both are missing
            return np.asarray(apart)
        if self.flat:
            return np.asarray(one != other, np.float64)
        low, high = np.minimum(one, other).astype(np.int64), np.maximum(one, other).astype(np.int64)
        return np.square(self._widest(low, high))

    def _widest(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the widest gap from each category to a later one, by two overlapping runs of gaps; 0 if equal."""
        assert self.gaps is not None
        power = np.frexp(np.maximum(high - low, 1))[1] - 1
        widest, found = self.gaps, np.zeros(low.shape)
        for p in range(int(power.max(initial=0)) + 1):
            here = (power == p) & (high > low)
            found[here] = np.maximum(widest[low[here]], widest[high[here] - (1 << p)])
            widest = np.maximum(widest[: -(1 << p)], widest[1 << p :])  # of runs twice as long
        return found


def nearest(
    asked: NDArray[np.float64], places: NDArray[np.float64], axes: Sequence[Axis]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each asked position the nearest place, the first of several, and its squared distance.

    Squared distances of the attributes are added.

    **Complexity.** O((n + m) log m) for n positions and m places of few attributes; O(n·m) at most.

    >>> nearest(np.array([[1.0], [7.0]]), np.array([[0.0], [2.0], [9.0]]), [Axis(9.0)])[0].tolist()
    [0, 2]
    """
    leaves = _boxes(places, axes, _LEAF)
    best, apart = np.zeros(len(asked), np.int64), np.full(len(asked), np.inf)
    low = np.array([places[leaf].min(axis=0) for leaf in leaves]).T
    high = np.array([places[leaf].max(axis=0) for leaf in leaves]).T
    columns = np.ascontiguousarray(places.T)
    for group in _boxes(asked, axes, _GROUP):
        here = np.ascontiguousarray(asked[group].T)
        outside = _between(here.min(axis=1), here.max(axis=1), low, high, axes)
        best[group], apart[group] = _search(here, columns, leaves, outside, axes)
    return best, apart


def _search(
    here: NDArray[np.float64],
    columns: NDArray[np.float64],
    leaves: Sequence[NDArray[np.int64]],
    outside: NDArray[np.float64],
    axes: Sequence[Axis],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Search the leaves by their distance from a group of positions, until the next is farther than all found."""
    best, apart = np.full(here.shape[1], np.iinfo(np.int64).max), np.full(here.shape[1], np.inf)
    order = np.argsort(outside, kind="stable")
    at, step = 0, 1
    while at < len(order) and outside[order[at]] <= apart.max():
        some = order[at : at + step]
        members = np.sort(np.concatenate([leaves[i] for i in some[outside[some] <= apart.max()]]))
        open_ = np.flatnonzero(apart >= outside[order[at]])
        found = _squares(here[:, open_], columns[:, members], axes)
        first = found.argmin(axis=1)
        least, which = found[np.arange(len(open_)), first], members[first]
        better = (least < apart[open_]) | ((least == apart[open_]) & (which < best[open_]))
        best[open_[better]], apart[open_[better]] = which[better], least[better]
        at, step = at + step, min(2 * step, max(_PAIRS // (here.shape[1] * _LEAF), 1))
    return best, apart


def _squares(one: NDArray[np.float64], other: NDArray[np.float64], axes: Sequence[Axis]) -> NDArray[np.float64]:
    """Return the squared distance of each position from each other one; a row of either array is an attribute."""
    total = np.zeros((one.shape[1], other.shape[1]))
    for mine, yours, axis in zip(one, other, axes, strict=True):
        if mine.min() == mine.max() and yours.min() == yours.max():
            total += axis.squared(mine[:1], yours[:1])  # the same for all, as in boxes of one category
        else:
            total += axis.squared(mine[:, None], yours[None, :])
    return total


def _between(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    lows: NDArray[np.float64],
    highs: NDArray[np.float64],
    axes: Sequence[Axis],
) -> NDArray[np.float64]:
    """Return the squared distance of a box from others: none of their members are nearer, even with rounding."""
    total = np.zeros(lows.shape[1])
    for j, axis in enumerate(axes):
        before, after = np.maximum(low[j], lows[j]), np.minimum(high[j], highs[j])
        gap = axis.squared(before, after)
        total += np.where(before > after, gap, 0.0)  # otherwise they overlap
    return total


def _boxes(places: NDArray[np.float64], axes: Sequence[Axis], most: int) -> list[NDArray[np.int64]]:
    """Halve positions along the attribute in which they spread most until few are left in each part."""
    found, parts = [], [np.arange(len(places))]
    while parts:
        part = parts.pop()
        inside = places[part]
        low, high = inside.min(axis=0), inside.max(axis=0)
        spread = np.array([float(axis.squared(low[j : j + 1], high[j : j + 1])[0]) for j, axis in enumerate(axes)])
        if len(part) <= most or not spread.any():
            found.append(part)
            continue
        order = np.argpartition(inside[:, int(spread.argmax())], len(part) // 2)
        parts += [part[order[: len(part) // 2]], part[order[len(part) // 2 :]]]
    return found
