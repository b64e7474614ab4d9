"""Records in the order of their distance from one of them, through a tree of boxes, as far as they are asked for.

A method that forms a class around a record looks at the others one by one, the nearest first, and takes those that
fit. A few of the nearest are listed; where none of these fits, four times as many, or, where those that fit are few,
they are measured one by one (:mod:`shoal.kernels.by_value`). What is taken stays in the tree until the class is
complete, so that a longer list begins with the shorter one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.frame import frame_of
from shoal.kernels.index import Index, rebuild, spatial_index
from shoal.kernels.jit import part
from shoal.kernels.nearest import find_nearest
from shoal.kernels.nearest_few import Nearest, sink
from shoal.kernels.remaining import WIDTH, Remaining, read, take
from shoal.kernels.search import Search
from shoal.kernels.tree import remove

_MORE = 4  # times as many are listed when none of the listed fits


class Around(NamedTuple):
    """The class being formed, and the records around the one it started from."""

    finder: Index
    remaining: Remaining
    distance: np.ndarray  # (n,) of the listed records, ascending
    row: np.ndarray  # (n,) their rows
    slot: np.ndarray  # (n,) their slots
    used: np.ndarray  # (n,) bool: in the class
    member: np.ndarray  # (n,) rows of the class, as they joined
    gone: np.ndarray  # (n,) bool: of each row, in this class or one before
    slot_of: np.ndarray  # (n,) of each row
    counts: np.ndarray  # listed; members; lists made; records measured by value


def around(points: np.ndarray) -> Around:
    """Make room for the classes of points, none of which is taken yet."""
    n = points.shape[0]
    index, remaining = spatial_index(points, np.arange(n), np.arange(n + 1), frame_of(points), 2)
    return Around(
        index,
        remaining,
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
        np.zeros(4, np.int64),
    )


@part
def _list(a, size):
    """List the nearest records, as many as asked for, in ascending order of (distance, row)."""
    s, start, listed = a.finder.search, a.member[0], a.counts[0]
    nearest = Nearest(a.distance[:size], a.row[:size], a.slot[:size])
    space = Search(
        s.q, s.y, s.near, s.w, s.a, nearest, s.distance, s.approximate, s.bound, s.pending, s.level, s.node, s.work
    )
    find_nearest(a.finder.tree, space, a.remaining, a.slot_of[start] // WIDTH)
    for last in range(size - 1, 0, -1):  # the worst is on top: to the end with it
        distance, row, slot = a.distance[last], a.row[last], a.slot[last]
        a.distance[last], a.row[last], a.slot[last] = a.distance[0], a.row[0], a.slot[0]
        sink(a.distance[:last], a.row[:last], a.slot[:last], distance, row, slot)
    for i in range(listed, size):
        a.used[i] = a.gone[a.row[i]]
    a.counts[0] = size
    a.counts[2] += 1


@part
def begin(a, start, size):
    """Begin a class with one record, and list so many of its nearest."""
    tree, remaining = a.finder.tree, a.remaining
    if 2 * remaining.counts[2] < remaining.counts[3] or tree.levels[0] == 0:
        rebuild(a.finder, remaining)
        for slot in range(remaining.counts[3]):
            a.slot_of[remaining.members[remaining.head[slot]]] = slot
    read(remaining, a.slot_of[start], a.finder.search.q)
    a.member[0], a.gone[start] = start, True
    a.counts[0], a.counts[1] = 0, 1
    _list(a, min(size, remaining.counts[0]))


@part
def few(a, fitting):
    """Tell whether it costs less to measure all records that fit than to list more."""
    return fitting <= _MORE * a.counts[0]


@part
def more(a):
    """List more records."""
    _list(a, min(_MORE * a.counts[0], a.remaining.counts[0]))


@part
def join(a, i):
    """Let the record at place i of the list join the class."""
    a.used[i] = True
    join_row(a, a.row[i])


@part
def join_row(a, row):
    """Let a record join the class that is not in the list."""
    a.member[a.counts[1]] = row
    a.gone[row] = True
    a.counts[1] += 1


@part
def complete(a):
    """End the class: its members leave the tree."""
    for i in range(a.counts[1]):
        slot = a.slot_of[a.member[i]]
        take(a.remaining, slot)
        remove(a.finder.tree, a.remaining, slot)
    a.remaining.counts[1] += 1


def labels_so_far(a: Around) -> np.ndarray:
    """Return the class of every row, -1 where it is in none."""
    labels = np.empty(a.gone.shape[0], np.int64)
    labels[a.remaining.members] = a.remaining.label
    return labels
