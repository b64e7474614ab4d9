"""Partition state while records move: members, means, and each record's distance to the mean of its class."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.runtime.lanes import gap


class Arrangement(NamedTuple):
    """Arrays of a partition in motion. Unused class numbers are kept in `free`."""

    x: np.ndarray  #: (n, padded d) coordinates
    label: np.ndarray  #: (n,) int32, the class of each record
    place: np.ndarray  #: (n,) int32, position of the record within its class
    own: np.ndarray  #: (n,) squared distance to the mean of the record's own class
    member: np.ndarray  #: (classes, most) int32, the records of each class
    size: np.ndarray  #: (classes,) int32
    mean: np.ndarray  #: (classes, padded d)
    free: np.ndarray  #: (classes,) int32, a stack of unused class numbers
    spare: np.ndarray  #: (1,) int64, how many of them
    moved: np.ndarray  #: (2, most) int32, records of a compound move, and the classes they came from or went to


def arrange(x: np.ndarray, labels: np.ndarray, k: int, room: int = 0) -> Arrangement:
    """Lay out a partition of padded points into classes of at least k, with room for any other such partition.

    A class may grow to 2k−1 records, to `room`, or to the size of the largest class.
    """
    n, d = x.shape
    sizes = np.bincount(labels)
    classes, most = max(n // k, len(sizes)), max(2 * k - 1, int(sizes.max()), room)
    a = Arrangement(
        x,
        labels.astype(np.int32),
        np.zeros(n, np.int32),
        np.zeros(n),
        np.zeros((classes, most), np.int32),
        np.zeros(classes, np.int32),
        np.zeros((classes, d)),
        np.zeros(classes, np.int32),
        np.zeros(1, np.int64),
        np.zeros((2, most), np.int32),
    )
    _fill(a)
    return a


def numbered(label: np.ndarray) -> np.ndarray:
    """Number the classes of a partition by first row, without gaps.

    >>> numbered(np.array([4, 2, 4, 0, 2])).tolist()
    [0, 1, 0, 2, 1]
    """
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])


@kernel
def _fill(a):
    for i in range(a.x.shape[0]):
        enter(a, i, a.label[i])
    for c in range(a.size.shape[0]):
        if a.size[c] == 0:
            release(a, c)
        else:
            refresh(a, c)


@kernel
def total_sse(a):
    """Sum the squared distances of all records to the means of their classes."""
    total = 0.0
    for i in range(a.x.shape[0]):
        total += a.own[i]
    return total


@part
def refresh(a, c):
    """Recompute the mean of a class and its members' distances from it, so that rounding errors do not accumulate."""
    d, m = a.x.shape[1], a.size[c]
    for j in range(d):
        a.mean[c, j] = 0.0
    for q in range(m):
        i = a.member[c, q]
        for j in range(d):
            a.mean[c, j] += a.x[i, j]
    for j in range(d):
        a.mean[c, j] /= m
    for q in range(m):
        i = a.member[c, q]
        a.own[i] = gap(a.x, i, a.mean, c)


@part
def release(a, c):
    """Return the number of a class that has lost its last member to the free numbers."""
    a.free[a.spare[0]] = c
    a.spare[0] += 1


@part
def leave(a, i):
    """Remove a record from its class; the mean is not updated."""
    c, at = a.label[i], a.place[i]
    last = a.member[c, a.size[c] - 1]
    a.member[c, at], a.place[last] = last, at
    a.size[c] -= 1


@part
def enter(a, i, c):
    """Add a record to a class; the mean is not updated."""
    a.member[c, a.size[c]], a.place[i], a.label[i] = i, a.size[c], c
    a.size[c] += 1


@part
def move(a, i, c):
    """Move a record from its class to another; the means are not updated."""
    leave(a, i)
    enter(a, i, c)


@part
def mean_without(a, c, i):
    """Update the mean of a class that is about to lose a record, and perhaps others after it."""
    m = a.size[c]
    for j in range(a.x.shape[1]):
        a.mean[c, j] += (a.mean[c, j] - a.x[i, j]) / (m - 1)


@part
def mean_with(a, c, i):
    """Update the mean of a class that is about to gain a record; that of an empty class becomes the record."""
    m = a.size[c]
    for j in range(a.x.shape[1]):
        a.mean[c, j] = (a.mean[c, j] if m > 0 else 0.0) + (a.x[i, j] - (a.mean[c, j] if m > 0 else 0.0)) / (m + 1)


def arranged(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sort rows by their coordinates, so that later steps do not depend on row numbers."""
    first = x[rows, 0]
    order = np.argsort(first, kind="stable")
    first = first[order]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort((rows, *x[rows].T[::-1]))
    return np.asarray(rows[order])
