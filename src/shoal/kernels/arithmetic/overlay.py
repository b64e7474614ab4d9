"""Classes of several partitions laid over each other: what they cost, where they differ, and which side is better.

Two records are connected if some class holds both. In a connected component every partition that the classes came
from covers the same records, so components can be decided one by one, and the least of each is the least of all.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.in_range import in_range
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
    """Write the SSE of each class, from differences to its first member, which lose nothing far from the origin."""
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
    """Return the root of a tree of joined records, and halve the way to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _unite(members, bounds, parent):
    """Join the records of each class; a root is the lowest row of its component."""
    for c in range(bounds.shape[0] - 1):
        a = root(parent, members[bounds[c]])
        for at in range(bounds[c] + 1, bounds[c + 1]):
            b = root(parent, members[at])
            if a < b:
                parent[b] = a
            elif b < a:
                parent[a] = b
                a = b
    for i in range(parent.shape[0]):
        parent[i] = root(parent, i)


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


def pooled(
    points: np.ndarray, partitions: Sequence[np.ndarray], extra: Classes | None = None
) -> tuple[Classes, list[np.ndarray]]:
    """Return the distinct classes of several partitions, and for each partition which of them are its own.

    Further classes come last; what they cost is reckoned anew.
    """
    points = in_range(points)
    number: dict[bytes, int] = {}
    kept: list[Classes] = []
    own = []
    given = [classes_of(points, labels) for labels in partitions]
    if extra is not None:
        given.append(extra._replace(costs=class_costs(points, extra.members, extra.bounds)))
    for classes in given:
        keys = [classes.members[begin:end].tobytes() for begin, end in pairwise(classes.bounds)]
        before = len(number)
        numbers = np.array([number.setdefault(key, len(number)) for key in keys])
        kept.append(classes.take(np.flatnonzero(numbers >= before)))
        own.append(numbers)
    sizes = np.concatenate([np.diff(part.bounds) for part in kept])
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    costs = np.concatenate([part.costs for part in kept])
    return Classes(np.concatenate([part.members for part in kept]), bounds, costs), own[: len(partitions)]


def components(n: int, classes: Classes) -> np.ndarray:
    """Return for each class the number of its connected component, in the order of their lowest rows."""
    announce(_unite)
    parent = np.arange(n)
    _unite(classes.members, classes.bounds, parent)
    roots = parent[classes.members[classes.bounds[:-1]]]
    return np.unique(roots, return_inverse=True)[1]


def recombine(points: np.ndarray, labels_a: np.ndarray, labels_b: np.ndarray) -> np.ndarray:
    """Return the better side of two partitions in each connected component of their overlay.

    Guarantee: every class is one of A or of B, and no partition made of such components is better; so the SSE is at
    most the lower of both. Where both sides cost the same, A's is kept. Complexity: O(n log n + n·d).

    >>> x = np.array([[0.0], [1.0], [9.0], [8.0], [20.0], [29.0], [21.0], [28.0]])
    >>> recombine(x, np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 0, 2, 3, 2, 3])).tolist()
    [0, 0, 1, 1, 2, 3, 2, 3]
    """
    points = in_range(points)
    a, b = classes_of(points, labels_a), classes_of(points, labels_b)
    both = Classes(
        np.concatenate((a.members, b.members)),
        np.concatenate((a.bounds, b.bounds[1:] + a.bounds[-1])),
        np.concatenate((a.costs, b.costs)),
    )
    component = components(len(labels_a), both)
    of_a = np.arange(len(both.costs)) < len(a.costs)
    width = int(component.max()) + 1
    sums = [np.bincount(component[side], both.costs[side], width) for side in (of_a, ~of_a)]
    from_a = sums[0] <= sums[1]
    return labels_of(len(labels_a), both.take(np.flatnonzero(from_a[component] == of_a)))


def sse(points: np.ndarray, labels: np.ndarray) -> float:
    """Return the sum over all records of squared distances to the means of their classes.

    >>> sse(np.array([[0.0], [2.0], [9.0], [9.0]]), np.array([0, 0, 1, 1]))
    2.0
    """
    return float(classes_of(points, labels).costs.sum())
