"""Partition state while records move: members, means, and each record's distance to the mean of its class.

Coded attributes are in :mod:`shoal.kernels.refine.coded_state`; `mean` is that of the numbers beside them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import Groups, groups_of
from shoal.kernels.refine.coded_state import (
    CodedClasses,
    coded_classes,
    codes_enter,
    codes_leave,
    codes_refresh,
    codes_with,
    codes_without,
    plus_apart,
    plus_between,
    plus_to_mean,
)
from shoal.kernels.runtime.jit import inlined, kernel, part
from shoal.kernels.runtime.lanes import gap, padded
from shoal.types.coded import Coded


class Arrangement(NamedTuple):
    """Arrays of a partition in motion. Unused class numbers are kept in `free`."""

    x: np.ndarray  #: (n, padded d) coordinates other than those of coded attributes
    label: np.ndarray  #: (n,) int32, the class of each record
    place: np.ndarray  #: (n,) int32, position of the record within its class
    own: np.ndarray  #: (n,) squared distance to the mean of the record's own class
    member: np.ndarray  #: (classes, most) int32, the records of each class
    size: np.ndarray  #: (classes,) int32
    mean: np.ndarray  #: (classes, padded d)
    free: np.ndarray  #: (classes,) int32, a stack of unused class numbers
    spare: np.ndarray  #: (1,) int64, how many of them
    moved: np.ndarray  #: (2, most) int32, records of a compound move, and the classes they came from or went to
    coded: CodedClasses | None = None


class Padded(NamedTuple):
    """Points laid out for :func:`arrange`."""

    x: np.ndarray  #: (n, padded d) coordinates
    groups: Groups | None = None  #: of coded attributes


def laid_out(x: np.ndarray | Coded) -> Padded:
    """Lay out points; those without numbers get one of zeros."""
    if not isinstance(x, Coded):
        return Padded(padded(x))
    return Padded(padded(x.numbers if x.numbers.shape[1] else np.zeros((len(x), 1))), groups_of(x))


def arrange(points: Padded, labels: np.ndarray, k: int, room: int = 0) -> Arrangement:
    """Lay out a partition into classes of at least k, with room for any other such partition.

    A class may grow to 2k−1 records, to `room`, or to the size of the largest class.
    """
    x = points.x
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
        coded_classes(points.groups, k, classes, most),
    )
    _fill(a)
    return a


def numbered(label: np.ndarray) -> np.ndarray:
    """Number the classes of a partition by first row, without gaps.

    >>> numbered(np.array([4, 2, 4, 0, 2])).tolist()
    [0, 1, 0, 2, 1]
    """
    if len(label) == 0 or label.min() < 0 or label.max() > _MOST_NUMBERS + 2 * len(label):
        _, label = np.unique(label, return_inverse=True)
    found = np.ascontiguousarray(label, np.int64).copy()
    _number(found, np.full(int(found.max(initial=-1)) + 1, -1, np.int64))
    return found


_MOST_NUMBERS = 1 << 16  # class numbers beyond this and twice the records are first made consecutive


@kernel
def _number(label, rank):
    """Replace class numbers by those of first appearance."""
    count = 0
    for i in range(label.shape[0]):
        if rank[label[i]] < 0:
            rank[label[i]] = count
            count += 1
        label[i] = rank[label[i]]


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
    codes_refresh(a.coded, a.own, a.member, c, m)


@inlined
def to_mean(a, i, c):
    """Return the squared distance between a record and the mean of a class."""
    return plus_to_mean(a.coded, gap(a.x, i, a.mean, c), i, c, a.size[c])


@inlined
def apart(a, i, y):
    """Return the squared distance between two records."""
    return plus_apart(a.coded, gap(a.x, i, a.x, y), i, y)


@part
def between(a, b, c):
    """Return the squared distance between the means of two classes."""
    total = 0.0
    for j in range(a.x.shape[1]):
        total += (a.mean[b, j] - a.mean[c, j]) ** 2
    return plus_between(a.coded, total, a.member, b, c, a.size[b], a.size[c])


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
    codes_leave(a.coded, i, c, at, a.size[c] - 1)
    a.member[c, at], a.place[last] = last, at
    a.size[c] -= 1


@part
def enter(a, i, c):
    """Add a record to a class; the mean is not updated."""
    codes_enter(a.coded, i, c, a.size[c])
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
    codes_without(a.coded, c, i, m)


@part
def mean_with(a, c, i):
    """Update the mean of a class that is about to gain a record; that of an empty class becomes the record."""
    m = a.size[c]
    for j in range(a.x.shape[1]):
        a.mean[c, j] = (a.mean[c, j] if m > 0 else 0.0) + (a.x[i, j] - (a.mean[c, j] if m > 0 else 0.0)) / (m + 1)
    codes_with(a.coded, c, i, m)


def arranged(x: np.ndarray | Coded, rows: np.ndarray) -> np.ndarray:
    """Sort rows by their coordinates or codes, so that later steps do not depend on row numbers."""
    if isinstance(x, Coded):
        return np.asarray(rows[np.lexsort((rows, *(column[rows] for column in x.sort_keys()[::-1])))])
    first = x[rows, 0]
    order = np.argsort(first, kind="stable")
    first = first[order]
    if (first[1:] == first[:-1]).any():
        _sort_ties(x, rows, order)
    return np.asarray(rows[order])


@part
def _after(x, rows, one, other):
    """Tell whether a row comes after another that is equal in the first column."""
    a, b = rows[one], rows[other]
    for j in range(1, x.shape[1]):
        if x[a, j] != x[b, j]:
            return x[a, j] > x[b, j]
    return a > b


@kernel
def _sort_ties(x, rows, order):
    """Sort runs of rows that are equal in the first column by the other columns and the row (Shell's method)."""
    begin, n = 0, order.shape[0]
    while begin < n:
        end = begin + 1
        while end < n and x[rows[order[end]], 0] == x[rows[order[begin]], 0]:
            end += 1
        step = (end - begin) // 2
        while step > 0:
            for i in range(begin + step, end):
                held, at = order[i], i
                while at - step >= begin and _after(x, rows, order[at - step], held):
                    order[at] = order[at - step]
                    at -= step
                order[at] = held
            step = 1 if step == 2 else step * 5 // 11
        begin = end
