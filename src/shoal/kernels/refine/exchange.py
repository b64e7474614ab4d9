"""Exchange of records between neighbouring classes: much of what a local search gains, for a fraction of its cost.

Let i be a record of class A and j one of class B; these have a and b records, and centroids c_A and c_B. If i and j
change places, the SSE falls by 2 (c_A − c_B)·(x_j − x_i) + |x_j − x_i|² (1/a + 1/b). Only the record of A that lies
farthest towards B, and the record of B that lies farthest towards A, are tried. Neighbours are looked up among
the n/k centroids rather than among records.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.refine.class_state import numbered
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.neighbours import neighbours

_TINY = 1e-12  # share of the mean squared length of records that an exchange must gain


class Search(NamedTuple):
    """Amount of work."""

    near: int  #: neighbouring classes that a class is compared with
    sweeps: int  #: most passes over all classes


class _Classes(NamedTuple):
    """Classes while their records change places."""

    x: np.ndarray  #: (n, d) records, class after class
    member: np.ndarray  #: (n,) int64: their numbers
    begin: np.ndarray  #: (classes + 1,) int64
    centroid: np.ndarray  #: (classes, d)
    direction: np.ndarray  #: (d,) scratch space


@part
def _farthest(c, own, sign):
    """Return the place of the record of a class that lies farthest in the direction, or against it, and how far."""
    place, most = -1, -np.inf
    for at in range(c.begin[own], c.begin[own + 1]):
        along = 0.0
        for h in range(c.x.shape[1]):
            along += c.direction[h] * c.x[at, h]
        if sign * along > most:
            place, most = at, sign * along
    return place, sign * most


@part
def _exchange(c, one, other, tiny):
    """Exchange the pair of records that lie farthest towards the other class, if that lowers the SSE; tell whether."""
    for h in range(c.x.shape[1]):
        c.direction[h] = c.centroid[one, h] - c.centroid[other, h]
    leaving, low = _farthest(c, one, -1.0)
    entering, high = _farthest(c, other, 1.0)
    apart = 0.0
    for h in range(c.x.shape[1]):
        apart += (c.x[entering, h] - c.x[leaving, h]) ** 2
    a, b = c.begin[one + 1] - c.begin[one], c.begin[other + 1] - c.begin[other]
    if not 2.0 * (high - low) + apart * (1.0 / a + 1.0 / b) > tiny:
        return False
    for h in range(c.x.shape[1]):
        by = c.x[entering, h] - c.x[leaving, h]
        c.centroid[one, h] += by / a
        c.centroid[other, h] -= by / b
        c.x[leaving, h], c.x[entering, h] = c.x[entering, h], c.x[leaving, h]
    c.member[leaving], c.member[entering] = c.member[entering], c.member[leaving]
    return True


@kernel
def _sort_by_class(labels, place, member):
    """Sort records by class; `place` holds the first place of each class on entry."""
    for row in range(labels.shape[0]):
        member[place[labels[row]]] = row
        place[labels[row]] += 1


@kernel
def _sweep(c, near, open_, tiny):
    """Compare every class that is still open with its neighbours; return the number of exchanges."""
    made = 0
    for one in range(near.shape[0]):
        if not open_[one]:
            continue
        open_[one] = False
        for h in range(near.shape[1]):
            other = near[one, h]
            for _ in range(c.begin[one + 1] - c.begin[one]):
                if not _exchange(c, one, other, tiny):
                    break
                made += 1
                open_[one] = open_[other] = True
    return made


def exchanged(x: np.ndarray, labels: np.ndarray, search: Search) -> np.ndarray:
    """Lower the SSE of a partition by exchanges between neighbouring classes.

    Guarantee: every class keeps its number of records, and the SSE does not rise. For distinct records in order of
    value, the classes depend on coordinates, not on rows.

    Complexity: O(c log c) for the neighbours of c classes, and O(near · n · d) for a sweep.

    >>> x = np.array([[0.0], [9.0], [0.1], [9.1]])
    >>> exchanged(x, np.array([0, 0, 1, 1]), Search(1, 1)).tolist()
    [0, 1, 0, 1]
    """
    labels = np.ascontiguousarray(labels, np.int64)
    size = np.bincount(labels)
    if len(size) < 2:
        return labels
    announce(_sweep)
    begin = np.concatenate(([0], np.cumsum(size)))
    member = np.empty(len(x), np.int64)
    _sort_by_class(labels, begin[:-1].copy(), member)
    centroid = np.ascontiguousarray(np.column_stack([np.bincount(labels, weights=own) / size for own in x.T]))
    near = neighbours(centroid, min(search.near, len(size) - 1))
    open_ = np.ones(len(size), np.bool_)
    tiny = _TINY * float(np.einsum("ij,ij->", x, x)) / len(x)
    classes = _Classes(x[member], member, begin, centroid, np.zeros(x.shape[1]))
    for _ in range(search.sweeps):
        if not _sweep(classes, near, open_, tiny):
            break
    out = np.empty(len(x), np.int64)
    out[member] = np.repeat(np.arange(len(size)), size)
    return numbered(out)
