"""Mean points of classes of records with codes: their order, and the nearest ones, without a coordinate per category.

In the exact embedding, the mean of a class has for each group of categories the share of its records in the group.
Stored are the shares that are not 0: those of all classes together take no more memory than the records.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.types.coded import Coded


class _Shares(NamedTuple):
    """Coordinates of an attribute that are not 0, sorted by class and group."""

    owner: np.ndarray  # (entries,) class
    group: np.ndarray  # (entries,) number of the group, in the order of the coordinates
    value: np.ndarray  # (entries,)


class MeanPoints:
    """Mean points of classes that are numbered from 0 without gaps.

    >>> from shoal.types.coded import CodedColumn, coded
    >>> each = np.arange(3, dtype=np.int32)[None]
    >>> x = coded([(CodedColumn(np.array([0, 0, 1, 2, 1], np.int32), each, each + 1, np.array([1])), 1.0)])
    >>> found = MeanPoints(x, np.array([0, 0, 1, 2, 2]))
    >>> found.ranks().tolist(), found.nearest(np.array([1]), 1).tolist()
    ([2, 1, 0], [[2]])
    """

    def __init__(self, x: Coded, labels: np.ndarray) -> None:
        self.x, self.sizes = x, np.bincount(labels)
        sums = [np.bincount(labels, weights=column) for column in x.numbers.T]
        self.numbers = np.column_stack(sums) / self.sizes[:, None] if sums else np.zeros((len(self.sizes), 0))
        self.shares = [_shares(x, a, labels, self.sizes) for a in range(x.codes.shape[1])]

    def ranks(self) -> np.ndarray:
        """Return the rank of each mean, coordinate by coordinate; equal means share a rank."""
        ranks = np.zeros(len(self.sizes), np.int64)
        for at in self.x.layout.order.tolist():
            if at >= 0:
                ranks = _refined(ranks, self.numbers[:, at])
                continue
            one = self.shares[~at]
            begin = np.searchsorted(one.owner, np.arange(len(ranks) + 1))
            for turn in range(int(np.diff(begin).max())):
                if ranks.max() == len(ranks) - 1:
                    break
                there = np.flatnonzero(np.diff(begin) > turn)
                # a share of an earlier group is compared with 0, and is larger
                group, value = np.full(len(ranks), -np.inf), np.zeros(len(ranks))
                group[there], value[there] = -one.group[begin[there] + turn], one.value[begin[there] + turn]
                ranks = _refined(_refined(ranks, group), value)
        return ranks

    def nearest(self, of: np.ndarray, count: int) -> np.ndarray:
        """Return the nearest other classes of some, by distance and number: (len(of), count). O(len(of) · entries)."""
        announce(_nearest)
        starts = np.cumsum([0, *(int(one.group.max(initial=-1)) + 1 for one in self.shares)])
        owner = np.concatenate([one.owner for one in self.shares])
        group = np.concatenate([one.group + start for one, start in zip(self.shares, starts, strict=False)])
        order = np.lexsort((group, owner))
        value = np.concatenate([one.value for one in self.shares])[order]
        begin = np.searchsorted(owner[order], np.arange(len(self.sizes) + 1))
        count = min(count, len(self.sizes) - 1)
        out, near = np.empty((len(of), count), np.int64), np.empty(count)
        _nearest(self.numbers, begin, group[order], value, of, near, out)
        return out


def _shares(x: Coded, a: int, labels: np.ndarray, sizes: np.ndarray) -> _Shares:
    one, g = x.column(a), x.layout
    levels, c = one.low.shape
    level = np.repeat(np.arange(levels), c)
    number = np.unique(np.column_stack((one.low.ravel(), one.high.ravel(), level)), axis=0, return_inverse=True)[1]
    number = number.reshape(levels, c)
    groups = int(number.max()) + 1
    owners, found, values = [], [], []
    for at in range(levels):
        keys, counts = np.unique(labels.astype(np.int64) * groups + number[at][one.codes], return_counts=True)
        owners.append(keys // groups)
        found.append(keys % groups)
        values.append(counts / sizes[owners[-1]] * np.sqrt(g.weight[a] * one.times[at] / (2.0 * g.height[a])))
    owner, group, value = (np.concatenate(part) for part in (owners, found, values))
    order = np.lexsort((group, owner))
    return _Shares(owner[order], group[order], value[order])


def _refined(ranks: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return ranks by rank, then by key; equal ones share a rank."""
    order = np.lexsort((keys, ranks))
    one, two = ranks[order], keys[order]
    found = np.empty(len(ranks), np.int64)
    found[order] = np.cumsum(np.concatenate(([False], (one[1:] != one[:-1]) | (two[1:] != two[:-1]))))
    return found


@part
def _apart(numbers, begin, group, value, b, c):
    """Return the squared distance between two means."""
    total = 0.0
    for j in range(numbers.shape[1]):
        t = numbers[b, j] - numbers[c, j]
        total += t * t
    i, j = begin[b], begin[c]
    while i < begin[b + 1] or j < begin[c + 1]:
        if j == begin[c + 1] or (i < begin[b + 1] and group[i] < group[j]):
            total += value[i] * value[i]
            i += 1
        elif i == begin[b + 1] or group[j] < group[i]:
            total += value[j] * value[j]
            j += 1
        else:
            t = value[i] - value[j]
            total += t * t
            i += 1
            j += 1
    return total


@kernel
def _nearest(numbers, begin, group, value, of, near, out):
    """Write for some classes the nearest others, sorted by distance and number."""
    for q in range(of.shape[0]):
        size = 0
        for c in range(begin.shape[0] - 1):
            if c == of[q]:
                continue
            distance = _apart(numbers, begin, group, value, of[q], c)
            if size == near.shape[0] and distance >= near[size - 1]:
                continue
            at = size if size < near.shape[0] else size - 1
            while at > 0 and near[at - 1] > distance:
                near[at], out[q, at] = near[at - 1], out[q, at - 1]
                at -= 1
            near[at], out[q, at] = distance, c
            size = min(size + 1, near.shape[0])
