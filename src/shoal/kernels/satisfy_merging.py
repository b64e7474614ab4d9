"""Merge classes that miss what is demanded with their neighbours, until every class holds it or one is left."""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrangement import numbered
from shoal.kernels.demands import Demands, excesses, rows_of
from shoal.kernels.neighbours import neighbours

_GROWTH = 0.05  # of a class between two looks at it, where it is large
_FEW = 32  # classes whose neighbours are found without an index
_NEAR = 8  # neighbours that are looked at otherwise


def merge_until_held(x: np.ndarray, labels: np.ndarray, d: Demands) -> np.ndarray:
    """Merge every class that misses a demand with the class at the least rise of SSE, the worst first.

    Guarantee: every class is a union of classes given, and holds all demands, unless only one is left.

    Complexity: O(n log n) for a round in which every class that misses something is merged. A large class takes in
    several neighbours before it is looked at again, so that it grows by a twentieth at least.

    Where a demand is not monotone, as kpqr, a union may miss what both parts hold: of the neighbours the nearest is
    taken with which the excess does not rise, if there is one.
    """
    excess = excesses(d, labels)
    while len(excess) > 1 and excess.any():
        labels, excess = _round(x, labels, d, excess)
    return numbered(labels)


def _round(x: np.ndarray, labels: np.ndarray, d: Demands, excess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge every class that misses something once, unless its neighbour was just merged; measure what is new."""
    sizes = np.bincount(labels).astype(np.float64)
    means = np.column_stack([np.bincount(labels, weights=column) for column in x.T]) / sizes[:, None]
    broken = np.flatnonzero(excess)
    broken = broken[np.argsort(-excess[broken], kind="stable")]
    near = neighbours(means, _NEAR) if len(broken) > _FEW else None
    into, touched = np.arange(len(sizes)), np.zeros(len(sizes), np.bool_)
    members = _Members(labels)
    for b in broken.tolist():
        if touched[b]:
            continue
        others = np.delete(np.arange(len(sizes)), b) if near is None else near[b]
        others = others[~touched[others]]
        apart = ((means[others] - means[b]) ** 2).sum(axis=1)
        others = others[np.argsort(apart * sizes[others] / (sizes[others] + sizes[b]), kind="stable")]
        if not len(others):
            continue  # all were merged: their turn is the next round
        chosen = _enough(others, sizes, b) if d.monotone else _harmless(others, members, d, excess, b)
        into[chosen], touched[chosen], touched[b] = b, True, True
    return _measured(into[labels], touched, into, d, excess)


def _enough(others: np.ndarray, sizes: np.ndarray, b: int) -> np.ndarray:
    """Return the first, and further ones as long as the class has not grown by a twentieth."""
    grown = np.cumsum(sizes[others])
    return others[: 1 + int(np.searchsorted(grown, _GROWTH * sizes[b]))]


class _Members:
    """The rows of each class, looked up when they are needed."""

    def __init__(self, labels: np.ndarray) -> None:
        self.order = np.argsort(labels, kind="stable")
        self.bounds = np.concatenate(([0], np.cumsum(np.bincount(labels))))

    def of(self, b: int) -> np.ndarray:
        return self.order[self.bounds[b] : self.bounds[b + 1]]


def _harmless(others: np.ndarray, members: _Members, d: Demands, excess: np.ndarray, b: int) -> np.ndarray:
    """Return the first of a few with which the excess does not rise, or else the first."""
    for at, c in enumerate(others[:_NEAR]):
        rows = np.concatenate((members.of(b), members.of(int(c))))
        if excesses(rows_of(d, rows), np.zeros(len(rows), np.int64))[0] <= excess[b] + excess[c]:
            return others[at : at + 1]
    return others[:1]


def _measured(
    labels: np.ndarray, touched: np.ndarray, into: np.ndarray, d: Demands, excess: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number the classes that are left, and measure those that are new."""
    left = np.flatnonzero(into == np.arange(len(into)))
    number = np.empty(len(into), np.int64)
    number[left] = np.arange(len(left))
    after = excess[left]
    fresh = np.flatnonzero(touched[left])
    labels = number[labels]
    rows = np.flatnonzero(touched[left][labels])
    inside = np.searchsorted(fresh, labels[rows])
    after[fresh] = excesses(rows_of(d, rows), inside)
    return labels, after
