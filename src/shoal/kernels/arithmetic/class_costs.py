"""Class costs: the SSE of each class of a partition, and of the whole partition."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import announce, kernel, part


class Classes(NamedTuple):
    """Candidate classes: class c holds the records ``members[bounds[c]:bounds[c + 1]]`` and costs ``costs[c]``."""

    members: np.ndarray  # int64, rows
    bounds: np.ndarray  # (classes + 1,) int64
    costs: np.ndarray  # (classes,) float64: SSE

    def take(self, chosen: np.ndarray) -> Classes:
        """Return some of the classes, in the order given."""
        sizes = np.diff(self.bounds)[chosen]
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        source = np.repeat(self.bounds[:-1][chosen] - bounds[:-1], sizes) + np.arange(bounds[-1])
        return Classes(self.members[source], bounds, self.costs[chosen])


@kernel
def _costs(x, members, bounds, out):
    """Write the SSE of each class, from differences to its first member, which stay accurate far from the origin."""
    for c in range(out.shape[0]):
        begin, end = bounds[c], bounds[c + 1]
        total = 0.0
        for j in range(x.shape[1]):
            anchor = x[members[begin], j]
            first, second = 0.0, 0.0
            for at in range(begin + 1, end):
                t = x[members[at], j] - anchor
                first += t
                second += t * t
            total += max(second - first * first / (end - begin), 0.0)
        out[c] = total


@part
def root(parent, i):
    """Return the root of a tree of joined records, halving the path to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def class_costs(points: np.ndarray, members: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the SSE of each class.

    >>> class_costs(np.array([[0.0], [2.0], [5.0]]), np.array([0, 1, 2]), np.array([0, 2, 3])).tolist()
    [2.0, 0.0]
    """
    announce(_costs)
    out = np.empty(bounds.shape[0] - 1)
    _costs(points, members, bounds, out)
    return out


def classes_of(points: np.ndarray, labels: np.ndarray) -> Classes:
    """Return the classes of a partition with their costs; members ascend."""
    members = np.argsort(labels, kind="stable")
    bounds = np.concatenate(([0], np.flatnonzero(np.diff(labels[members])) + 1, [len(labels)]))
    return Classes(members, bounds, class_costs(points, members, bounds))


def labels_of(n: int, classes: Classes) -> np.ndarray:
    """Return the class of each record; classes are numbered by their first rows."""
    order = np.argsort([classes.members[begin] for begin in classes.bounds[:-1]], kind="stable")
    ordered = classes.take(order)
    labels = np.empty(n, np.int64)
    labels[ordered.members] = np.repeat(np.arange(len(order)), np.diff(ordered.bounds))
    return labels


def sse(points: np.ndarray, labels: np.ndarray) -> float:
    """Return the sum over all records of squared distances to the means of their classes.

    >>> sse(np.array([[0.0], [2.0], [9.0], [9.0]]), np.array([0, 0, 1, 1]))
    2.0
    """
    return float(classes_of(points, labels).costs.sum())
