"""Means of classes: coordinates, and for coded attributes the share of each group that occurs.

The mean of a class in the exact embedding has a coordinate for every group of categories, most of them 0. Stored are
only the others, so that all classes together take no more than their records do.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import Groups, counts_in_groups, groups_of
from shoal.kernels.arithmetic.class_statistics import class_means
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.space.neighbours import neighbours
from shoal.types.coded import Coded


class Shares(NamedTuple):
    """Coordinates of groups, other than 0: class c has those from ``begin[c]`` to ``begin[c + 1]``."""

    begin: np.ndarray  #: (classes + 1,) int64
    group: np.ndarray  #: int64, ascending in each class
    value: np.ndarray  #: float64, the share of the class in the group times √(weight / 2)
    square: np.ndarray  #: (classes,) sum of the squares
    scratch: np.ndarray  #: (groups,) zero


def _shares(g: Groups, labels: np.ndarray, sizes: np.ndarray) -> Shares:
    """Return the shares of each class, numbered without gaps, in every group."""
    found, columns = counts_in_groups(g, labels), len(g.weight)
    owner = np.repeat(np.arange(len(found.edge) - 1), np.diff(found.edge))
    value = found.records / sizes[owner // columns] * np.sqrt(g.weight / 2.0)[owner % columns]
    square = (found.square.reshape(-1, columns) * (g.weight / 2.0)).sum(axis=1) / sizes**2
    return Shares(found.edge[::columns], found.group, value, square, np.zeros(int(g.groups.sum())))


@kernel
def _add_apart(s, classes, others, out):
    """Add the squared distances between the mean of each of some classes and those of others, (classes, others)."""
    for row in range(classes.shape[0]):
        b = classes[row]
        for at in range(s.begin[b], s.begin[b + 1]):
            s.scratch[s.group[at]] = s.value[at]
        for q in range(others.shape[1]):
            c, both = others[row, q], 0.0
            for at in range(s.begin[c], s.begin[c + 1]):
                both += s.value[at] * s.scratch[s.group[at]]
            out[row, q] += max(s.square[b] + s.square[c] - 2.0 * both, 0.0)
        for at in range(s.begin[b], s.begin[b + 1]):
            s.scratch[s.group[at]] = 0.0


_WIDER = 3  # candidates for each of the nearest classes


class Centroids:
    """Means of classes that are numbered without gaps; they do not depend on the order of records in a class.

    >>> found = Centroids(np.array([[0.0], [2.0], [9.0], [5.0]]), np.array([0, 0, 1, 2]))
    >>> found.apart(0, np.array([1, 2])).tolist(), found.near(1).tolist()
    ([64.0, 16.0], [[2], [2], [0]])
    """

    def __init__(self, x: np.ndarray | Coded, labels: np.ndarray, groups: Groups | None = None) -> None:
        self.x, self.labels = x, labels
        self.sizes = np.bincount(labels).astype(np.float64)
        numbers = x.numbers if isinstance(x, Coded) else x
        self.means = np.zeros((len(self.sizes), numbers.shape[1]))
        for j in range(numbers.shape[1]):
            column = np.ascontiguousarray(numbers[:, j])
            sums = np.bincount(labels, weights=column) / self.sizes
            self.means[:, j] = class_means(column, labels) if isinstance(x, Coded) else sums
        self.groups = groups or groups_of(x) if isinstance(x, Coded) else None
        self.shares = _shares(self.groups, labels, self.sizes) if self.groups is not None else None

    def apart(self, b: int, others: np.ndarray) -> np.ndarray:
        """Return the squared distances between the mean of class b and those of others."""
        return np.asarray(self._apart(np.array([b]), others[None])[0])

    def _apart(self, classes: np.ndarray, others: np.ndarray) -> np.ndarray:
        found = ((self.means[others] - self.means[classes][:, None]) ** 2).sum(axis=2)
        if self.shares is not None:
            _add_apart(self.shares, classes, others.astype(np.int64), found)
        return np.asarray(found)

    def near(self, count: int, classes: np.ndarray | None = None) -> np.ndarray:
        """Return the nearest other classes of each class, or of some: (classes, count).

        With coded attributes, the nearest of some whose typical records are near, which need not be the nearest of all.
        """
        if self.groups is None:
            return neighbours(self.means, count, classes)
        found = neighbours(self.typical(), _WIDER * count, classes)
        apart = self._apart(np.arange(len(found)) if classes is None else classes, found)
        return np.take_along_axis(found, np.lexsort((found, apart), axis=1)[:, :count], axis=1)

    def typical(self) -> np.ndarray | Coded:
        """Return for each class its mean or, with coded attributes, the record nearest to it; the lowest of several."""
        if self.groups is None:
            return self.means
        assert isinstance(self.x, Coded)
        return self.x[self.typical_rows()]

    def typical_rows(self) -> np.ndarray:
        """Return for each class the row of the record nearest to its mean."""
        assert isinstance(self.x, Coded)
        assert self.groups is not None
        off = ((self.x.numbers - self.means[self.labels]) ** 2).sum(axis=1)
        for column, weight, groups in zip(
            self.groups.number.T, self.groups.weight.tolist(), self.groups.groups.tolist(), strict=True
        ):
            keys = self.labels.astype(np.int64) * groups + column
            off -= weight * _copies(keys, len(self.sizes) * groups) / self.sizes[self.labels]
        least = np.full(len(self.sizes), np.inf)
        np.minimum.at(least, self.labels, off)
        best = np.flatnonzero(off == least[self.labels])  # several only where records are equal, or nearly
        best = best[np.lexsort((*(key[best] for key in self.x.sort_keys()[::-1]), self.labels[best]))]
        return best[np.flatnonzero(np.diff(self.labels[best], prepend=-1))]


def _copies(keys: np.ndarray, most: int) -> np.ndarray:
    """Return how often each key, from 0 to below `most`, occurs."""
    if most <= 8 * len(keys):
        return np.asarray(np.bincount(keys, minlength=most)[keys])
    _, own, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[own.reshape(-1)])
