"""Lazy iterators over records: by increasing distance, through a tree of boxes, or by any key.

A method that forms a class around a record looks at the others one by one, nearest first, and takes those that fit.
This module lists a few of the nearest; if none of them fits, it lists four times as many or, if few records fit at all,
measures those one by one. Records that are taken stay in the tree until the class is complete, so that a longer list
begins with the shorter one.

Incremental quicksort: a stack holds the positions of pivots that are already in place. A request for the next record
partitions the range before the nearest pivot until a pivot lies at the requested position.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.space import coded_index
from shoal.kernels.space.class_centroids import nearest_class
from shoal.kernels.space.coded_index import CodedIndex
from shoal.kernels.space.coded_lanes import distance_at
from shoal.kernels.space.principal_axes import frame_of
from shoal.kernels.space.remaining import (
    CLASSES,
    POINTS,
    REMAINING,
    SLOTS,
    WIDTH,
    Nearest,
    Remaining,
    aim_at,
    read,
    sink,
    take,
)
from shoal.kernels.space.spatial_index import Index, find_nearest, rebuild, spatial_index
from shoal.kernels.space.tree import Search, remove
from shoal.types.coded import Coded

LISTED, MEMBERS, LISTS, BY_VALUE = range(4)  #: `Around.counts`
_MORE = 4  # factor by which the list grows when none of the listed records fits


class Around(NamedTuple):
    """Class being formed, and the records around the one it started from."""

    finder: Index | None  # of coordinates, …
    of_codes: CodedIndex | None  # … or of records with coded attributes
    remaining: Remaining
    work: np.ndarray  # counters of the searches
    distance: np.ndarray  # (n,) of the listed records, ascending
    row: np.ndarray  # (n,) their rows
    slot: np.ndarray  # (n,) their slots
    used: np.ndarray  # (n,) bool: in the class
    member: np.ndarray  # (n,) rows of the class, in the order they joined
    gone: np.ndarray  # (n,) bool, by row: in this class or an earlier one
    slot_of: np.ndarray  # (n,) of each row
    counts: np.ndarray  # (4,) records listed, members, lists made, records measured by value


def around(points: np.ndarray | Coded) -> Around:
    """Allocate room for the classes of points; no record is taken yet."""
    n = points.shape[0]
    each = np.arange(n), np.arange(n + 1)
    finder, of_codes = None, None
    if isinstance(points, Coded):
        of_codes, remaining = coded_index.coded_index(points, *each, 2)
        work = of_codes.search.work
    else:
        finder, remaining = spatial_index(points, *each, frame_of(points), 2)
        work = finder.search.work
    return Around(
        finder,
        of_codes,
        remaining,
        work,
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
        np.zeros(4, np.int64),
    )


# One of the two indexes is None, and the compiler drops what is done with it.


@part
def _search(finder, of_codes, remaining, nearest, leaf):
    """Fill `nearest` with the records nearest to the query."""
    if finder is not None:
        s = finder.search
        space = Search(
            s.q, s.y, s.near, s.w, s.a, nearest, s.distance, s.approximate, s.bound, s.pending, s.level, s.node, s.work
        )
        find_nearest(finder.tree, space, remaining, leaf)
    if of_codes is not None:
        coded_index.find_nearest(of_codes.tree, of_codes.search, remaining, nearest, leaf)


@part
def _levels(finder, of_codes):
    """Return the levels of the index, 0 before it is built."""
    levels = np.int64(0)
    if finder is not None:
        levels = finder.tree.levels[0]
    if of_codes is not None:
        levels = of_codes.tree.levels[0]
    return levels


@part
def _rebuild(finder, of_codes, remaining):
    if finder is not None:
        rebuild(finder, remaining)
    if of_codes is not None:
        coded_index.rebuild(of_codes, remaining)


@part
def _aim(finder, of_codes, remaining, slot):
    """Search from the record in `slot`."""
    if finder is not None:
        read(remaining, slot, finder.search.q)
    if of_codes is not None:
        aim_at(remaining, slot, of_codes.search.q, of_codes.search.aim)
        coded_index.aim_sets(of_codes.tree, of_codes.search, remaining.coded.layout)


@part
def _remove(finder, of_codes, remaining, slot):
    if finder is not None:
        remove(finder.tree, remaining, slot)
    if of_codes is not None:
        coded_index.remove(of_codes.tree, remaining, slot)


@part
def _distance(finder, of_codes, remaining, slot):
    """Return the squared distance from the query to the record in `slot`."""
    x, block, lane, total = remaining.x, slot // WIDTH, slot % WIDTH, 0.0
    if finder is not None:
        q = finder.search.q
        for j in range(q.shape[0]):
            t = x[block, j, lane] - q[j]
            total += t * t
    if of_codes is not None:
        total = distance_at(x, remaining.coded, block, lane, of_codes.search.q, of_codes.search.aim)
    return total


@part
def _list(a, size):
    """List the `size` nearest records in ascending order of (distance, row)."""
    start, listed = a.member[0], a.counts[LISTED]
    nearest = Nearest(a.distance[:size], a.row[:size], a.slot[:size])
    _search(a.finder, a.of_codes, a.remaining, nearest, a.slot_of[start] // WIDTH)
    for last in range(size - 1, 0, -1):  # the worst is on top: move it to the end
        distance, row, slot = a.distance[last], a.row[last], a.slot[last]
        a.distance[last], a.row[last], a.slot[last] = a.distance[0], a.row[0], a.slot[0]
        sink(a.distance[:last], a.row[:last], a.slot[:last], distance, row, slot)
    for i in range(listed, size):
        a.used[i] = a.gone[a.row[i]]
    a.counts[LISTED] = size
    a.counts[LISTS] += 1


@part
def begin(a, start, size):
    """Begin a class with one record, and list its `size` nearest."""
    remaining = a.remaining
    if 2 * remaining.counts[POINTS] < remaining.counts[SLOTS] or _levels(a.finder, a.of_codes) == 0:
        _rebuild(a.finder, a.of_codes, remaining)
        for slot in range(remaining.counts[SLOTS]):
            a.slot_of[remaining.members[remaining.head[slot]]] = slot
    _aim(a.finder, a.of_codes, remaining, a.slot_of[start])
    a.member[0], a.gone[start] = start, True
    a.counts[LISTED], a.counts[MEMBERS] = 0, 1
    _list(a, min(size, remaining.counts[REMAINING]))


@part
def few(a, fitting):
    """Tell whether measuring all records that fit costs less than listing more."""
    return fitting <= _MORE * a.counts[LISTED]


@part
def more(a):
    """List more records."""
    _list(a, min(_MORE * a.counts[LISTED], a.remaining.counts[REMAINING]))


@part
def join(a, i):
    """Add the record at position i of the list to the class."""
    a.used[i] = True
    join_row(a, a.row[i])


@part
def join_row(a, row):
    """Add a record that is not in the list to the class."""
    a.member[a.counts[MEMBERS]] = row
    a.gone[row] = True
    a.counts[MEMBERS] += 1


@part
def complete(a):
    """Complete the class: remove its members from the tree."""
    for i in range(a.counts[MEMBERS]):
        slot = a.slot_of[a.member[i]]
        take(a.remaining, slot)
        _remove(a.finder, a.of_codes, a.remaining, slot)
    a.remaining.counts[CLASSES] += 1


def labels_so_far(a: Around) -> np.ndarray:
    """Return the class of every row, -1 for rows without one."""
    labels = np.empty(a.gone.shape[0], np.int64)
    labels[a.remaining.members] = a.remaining.label
    return labels


class ByValue(NamedTuple):
    """Rows grouped by value; within each value, rows without a class come first."""

    code: np.ndarray  # (n,) the value of each row
    row: np.ndarray  # (n,)
    place: np.ndarray  # (n,) position of each row
    first: np.ndarray  # (values,) position of the first row of each value
    left: np.ndarray  # (values,) number of rows without a class


def by_value(code: np.ndarray, values: int) -> ByValue:
    """Group all records by value; no record has a class yet."""
    row = np.argsort(code, kind="stable")
    place = np.empty_like(row)
    place[row] = np.arange(row.shape[0])
    left = np.bincount(code, minlength=values)
    return ByValue(code, row, place, np.cumsum(left) - left, left)


@part
def _swap(b, i, j):
    b.row[i], b.row[j] = b.row[j], b.row[i]
    b.place[b.row[i]], b.place[b.row[j]] = i, j


@part
def leave(b, row):
    """Record that a row now has a class."""
    code = b.code[row]
    b.left[code] -= 1
    _swap(b, b.place[row], b.first[code] + b.left[code])


@part
def come_back(b, row):
    """Record that a row no longer has a class."""
    code = b.code[row]
    _swap(b, b.place[row], b.first[code] + b.left[code])
    b.left[code] += 1


@part
def nearest_of_value(a, b, code, best, best_row):
    """Return distance and row of the record of a value nearest to the start of the class, if it beats the best."""
    a.counts[BY_VALUE] += b.left[code]
    for i in range(b.first[code], b.first[code] + b.left[code]):
        row = b.row[i]
        total = _distance(a.finder, a.of_codes, a.remaining, a.slot_of[row])
        if total < best or (total == best and row < best_row):
            best, best_row = total, row
    return best, best_row


_FEW = 64  # up to this many centroids are scanned one by one
_BEYOND = 2.0**20  # times farther out than any centroid: too far for the frame of an index over them


@kernel
def _find_all(index, remaining, points, rows, out):
    """Write for each of some rows the nearest place in the index."""
    search, start = index.search, np.int64(0)
    rebuild(index, remaining)
    for i in range(rows.shape[0]):
        for j in range(points.shape[1]):
            search.q[j] = points[rows[i], j]
        find_nearest(index.tree, search, remaining, start)
        out[i] = search.nearest.row[0]


@kernel
def _scan_all(places, points, rows, out):
    """Write for each of some rows the nearest place, by scanning all of them."""
    for i in range(rows.shape[0]):
        best = np.inf
        out[i] = 0
        for place in range(places.shape[0]):
            total = 0.0
            for j in range(points.shape[1]):
                t = places[place, j] - points[rows[i], j]
                total += t * t
            if total < best:
                best = total
                out[i] = place


def join_nearest(points: np.ndarray | Coded, labels: np.ndarray) -> np.ndarray:
    """Assign every record labelled -1 to the class whose centroid, without such records, is nearest to it.

    Guarantee: other labels stay; ties go to the lowest class; if there is no class, all records form one. A centroid is
    the plain sum of its members in row order, divided by their number. Complexity: for m classes, O(log m) blocks per
    record where d is small, m / 16 at worst.

    >>> join_nearest(np.array([[0.0], [1.0], [8.0], [9.0], [3.0]]), np.array([0, 0, 1, 1, -1])).tolist()
    [0, 0, 1, 1, 0]
    """
    rows = np.flatnonzero(labels < 0)
    if rows.shape[0] in (0, labels.shape[0]):
        return np.asarray(np.maximum(labels, 0))
    points = in_range(points)
    if isinstance(points, Coded):
        joined = labels.copy()
        joined[rows] = nearest_class(points, labels, rows)
        return joined
    inside = labels >= 0
    sizes = np.bincount(labels[inside])
    sums = [np.bincount(labels[inside], weights=column) for column in points[inside].T]
    centroids = np.ascontiguousarray(np.column_stack(sums) / sizes[:, None])
    found, m = np.empty(rows.shape[0], np.int64), centroids.shape[0]
    middle = centroids.mean(axis=0)
    if m <= _FEW or np.abs(points[rows] - middle).max() > _BEYOND * np.abs(centroids - middle).max():
        _scan_all(centroids, points, rows, found)
    else:
        index, remaining = spatial_index(centroids, np.arange(m), np.arange(m + 1), frame_of(centroids), 2)
        _find_all(index, remaining, points, rows, found)
    joined = labels.copy()
    joined[rows] = found
    return joined


_GIVEN, _PIVOTS = range(2)  # `LazyOrder.counts`
_FEW_TO_SORT = 12  # ranges up to this size are sorted by insertion


class LazyOrder(NamedTuple):
    """Keys and slots; those already returned are in order."""

    key: np.ndarray
    slot: np.ndarray
    pivot: np.ndarray  # stack of positions that are in order
    counts: np.ndarray  # (2,) records returned, pivots


def lazy_order(capacity: int) -> LazyOrder:
    """Allocate room for `capacity` records."""
    return LazyOrder(
        np.empty(capacity),
        np.empty(capacity, np.int64),
        np.empty(capacity + 1, np.int64),
        np.zeros(2, np.int64),
    )


@part
def start(order, size):
    """Restart with the first `size` keys and slots; all slots must differ."""
    order.counts[_GIVEN], order.counts[_PIVOTS], order.pivot[0] = 0, 1, size


@part
def _before(key, slot, i, j):
    return key[i] < key[j] or (key[i] == key[j] and slot[i] < slot[j])


@part
def _exchange(key, slot, i, j):
    key[i], key[j] = key[j], key[i]
    slot[i], slot[j] = slot[j], slot[i]


@part
def _cut(key, slot, begin, end):
    """Place the median of three records correctly between `begin` and `end`; return its position."""
    a, b, c = begin, (begin + end) // 2, end - 1
    if _before(key, slot, b, a):
        a, b = b, a
    if _before(key, slot, c, b):
        b = a if _before(key, slot, c, a) else c
    _exchange(key, slot, b, end - 1)
    pivot, number, to = key[end - 1], slot[end - 1], begin
    for i in range(begin, end - 1):
        if key[i] < pivot or (key[i] == pivot and slot[i] < number):
            _exchange(key, slot, i, to)
            to += 1
    _exchange(key, slot, to, end - 1)
    return to


@part
def following(order):
    """Return the next slot by (key, slot), or -1 after the last."""
    key, slot, at = order.key, order.slot, order.counts[_GIVEN]
    if at == order.pivot[0]:
        return -1
    while order.pivot[order.counts[_PIVOTS] - 1] > at:
        end = order.pivot[order.counts[_PIVOTS] - 1]
        if end - at > _FEW_TO_SORT:
            order.pivot[order.counts[_PIVOTS]] = _cut(key, slot, at, end)
            order.counts[_PIVOTS] += 1
            continue
        for i in range(at + 1, end):
            j = i
            while j > at and _before(key, slot, j, j - 1):
                _exchange(key, slot, j, j - 1)
                j -= 1
        for i in range(end - 1, at - 1, -1):
            order.pivot[order.counts[_PIVOTS]] = i
            order.counts[_PIVOTS] += 1
    order.counts[_PIVOTS] -= 1
    order.counts[_GIVEN] += 1
    return slot[at]
