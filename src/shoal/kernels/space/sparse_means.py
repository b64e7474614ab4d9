"""Means of classes: coordinates, and for coded attributes the share of each group that occurs.

The mean of a class in the exact embedding has a coordinate for every group of categories, most of them 0. Stored are
only the others, so that all classes together take no more than their records do.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import groups_of
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.space.neighbours import neighbours
from shoal.types.coded import Coded


class Shares(NamedTuple):
    """Coordinates of groups, other than 0: class c has those from ``begin[c]`` to ``begin[c + 1]``."""

    begin: np.ndarray  #: (classes + 1,) int64
    group: np.ndarray  #: int64, ascending in each class
    value: np.ndarray  #: float64, the share of the class in the group times √(weight / 2)
    square: np.ndarray  #: (classes,) sum of the squares
    groups: int  #: number of groups of all columns


def shares_of(x: Coded, labels: np.ndarray) -> Shares:
    """Return the shares of each class, numbered without gaps, in every group. O(n·columns·log n)."""
    g, sizes = groups_of(x), np.bincount(labels)
    owner, group, value = [], [], []
    start = 0
    for column, weight, groups in zip(g.number.T, g.weight.tolist(), g.groups.tolist(), strict=True):
        keys, counts = np.unique(labels.astype(np.int64) * groups + column, return_counts=True)
        owner.append(keys // groups)
        group.append(start + keys % groups)
        value.append(np.sqrt(weight / 2.0) * counts / sizes[owner[-1]])
        start += groups
    owners, values = np.concatenate(owner), np.concatenate(value)
    order = np.argsort(owners, kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(sizes)))))
    square = np.bincount(owners, values * values, len(sizes))
    return Shares(begin, np.concatenate(group)[order], values[order], square, start)


@kernel
def _add_apart(begin, group, value, square, b, others, scratch, out):
    """Add the squared distance between the mean of b and that of each of the others; `scratch` is zero."""
    for at in range(begin[b], begin[b + 1]):
        scratch[group[at]] = value[at]
    for q in range(others.shape[0]):
        c, both = others[q], 0.0
        for at in range(begin[c], begin[c + 1]):
            both += value[at] * scratch[group[at]]
        out[q] += max(square[b] + square[c] - 2.0 * both, 0.0)
    for at in range(begin[b], begin[b + 1]):
        scratch[group[at]] = 0.0


class Centroids:
    """Means of classes that are numbered without gaps.

    >>> found = Centroids(np.array([[0.0], [2.0], [9.0], [5.0]]), np.array([0, 0, 1, 2]))
    >>> found.apart(0, np.array([1, 2])).tolist(), found.near(1).tolist()
    ([64.0, 16.0], [[2], [2], [0]])
    """

    def __init__(self, x: np.ndarray | Coded, labels: np.ndarray) -> None:
        self.x, self.labels = x, labels
        self.sizes = np.bincount(labels).astype(np.float64)
        numbers = x.numbers if isinstance(x, Coded) else x
        sums = [np.bincount(labels, weights=column) for column in numbers.T]
        self.means = np.column_stack(sums) / self.sizes[:, None] if sums else np.zeros((len(self.sizes), 0))
        self.shares = shares_of(x, labels) if isinstance(x, Coded) else None
        self._scratch = np.zeros(self.shares.groups if self.shares else 0)

    def apart(self, b: int, others: np.ndarray) -> np.ndarray:
        """Return the squared distances between the mean of class b and those of others."""
        found = ((self.means[others] - self.means[b]) ** 2).sum(axis=1)
        if self.shares is not None:
            _add_apart(*self.shares[:4], b, others, self._scratch, found)
        return np.asarray(found)

    def near(self, count: int) -> np.ndarray:
        """Return the nearest other classes of each class: (classes, count).

        With coded attributes, those of the records nearest to the means, which are near, but need not be the nearest.
        """
        if not isinstance(self.x, Coded):
            return neighbours(self.means, count)
        return neighbours(self.x[self._typical()], count)

    def _typical(self) -> np.ndarray:
        """Return for each class the row of the record that is nearest to its mean; the lowest if there are several."""
        assert isinstance(self.x, Coded)
        off = ((self.x.numbers - self.means[self.labels]) ** 2).sum(axis=1)
        g = groups_of(self.x)
        for column, weight, groups in zip(g.number.T, g.weight.tolist(), g.groups.tolist(), strict=True):
            keys = self.labels.astype(np.int64) * groups + column
            _, own, counts = np.unique(keys, return_inverse=True, return_counts=True)
            off -= weight * counts[own.reshape(-1)] / self.sizes[self.labels]
        order = np.lexsort((off, self.labels))
        return order[np.flatnonzero(np.diff(self.labels[order], prepend=-1))]
