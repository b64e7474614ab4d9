"""Distance-based record linkage: is a record's own masked version the nearest, and how many others are as near?

An attacker holds original values and links them to the nearest masked record. To decide whether that is the right
one, no search for the nearest is needed: the distance to the right one is known, and a single nearer masked record
settles it. Distinct masked points lie in leaves of sixteen under a tree of boxes
(:mod:`shoal.kernels.space.neighbours`); the search begins at the leaf of the right one, and ends at the first nearer
point. Records with coded attributes have a tree of their own (:mod:`shoal.kernels.space.nearest_own_coded`).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import announce, kernel, part, thread_pool
from shoal.kernels.runtime.lanes import lowest_bit, scan_boxes, scan_points
from shoal.kernels.space.kd_order import equal_records
from shoal.kernels.space.nearest_own_coded import lifts_of, link_coded, planted, search_space
from shoal.kernels.space.neighbours import Boxes, leaf_boxes
from shoal.kernels.space.remaining import WIDTH, with_number
from shoal.kernels.space.tree import FAN, push
from shoal.threads import thread_count
from shoal.types.coded import Coded, some_of

_RECORDS_PER_CALL = 8192  # small enough that no thread waits long for another at the end
_REMEMBERED = 4  # masked records for each record
_CLOSE = 2.0**-500  # numbers less far apart may be at a squared distance of 0
_FAR = 2.0**500  # masked values beyond it are treated as lying at it: squares must stay finite


class Masked(NamedTuple):
    """Distinct masked records, the number of each, and the one that every record became."""

    points: np.ndarray | Coded  # (distinct, d)
    counts: np.ndarray  # (distinct,) int64
    of_row: np.ndarray  # (n,) int64


def different(masked: np.ndarray | Coded) -> Masked:
    """Group equal masked records.

    Complexity: O(n log n + n·d).

    >>> different(np.array([[1.0], [2.0], [1.0]])).counts.tolist()
    [2, 1]
    """
    if isinstance(masked, Coded):
        masked = replace(masked, numbers=np.clip(masked.numbers, -_FAR, _FAR))
    else:
        masked = np.ascontiguousarray(np.clip(masked, -_FAR, _FAR))
    members, bounds = equal_records(masked)
    of_row = np.empty(len(masked), np.int64)
    of_row[members] = np.repeat(np.arange(bounds.shape[0] - 1), np.diff(bounds))
    first = masked[members[bounds[:-1]]]
    return Masked(first if isinstance(first, Coded) else np.ascontiguousarray(first), np.diff(bounds), of_row)


class _Space(NamedTuple):
    """Scratch space of a search."""

    found: np.ndarray  # (WIDTH,) distances to the points of a leaf
    bound: np.ndarray  # (FAN,) distances to boxes
    pending: np.ndarray  # stack: distance, level and number of nodes still to visit
    level: np.ndarray
    node: np.ndarray


def _space() -> _Space:
    depth = 24 * FAN
    return _Space(np.empty(WIDTH), np.empty(FAN), np.empty(depth), np.empty(depth, np.int64), np.empty(depth, np.int64))


@part
def _count(boxes, counts, space, q, leaf, own):
    """Count the masked records of a leaf at distance `own`; -1 if one is nearer."""
    mask, ties = scan_points(boxes.x, leaf, q, own, np.inf, space.found), np.int64(0)
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if space.found[lane] < own:
            return np.int64(-1)
        ties += counts[leaf * WIDTH + lane]
    return ties


@part
def _push(boxes, space, q, block, level, first, skip, own, top):
    """Push the children of a node that may hold a point at least as near, the nearest on top."""
    bottom = top
    mask = scan_boxes(boxes.box, block, q, own, space.bound) & ~skip
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        top = push(space, top, bottom, space.bound[lane], level, first + lane, 1.0)
    return top


@part
def _as_near(boxes, counts, space, q, at):
    """Return how many masked records are as near to q as the point at position `at`; 0 if one is nearer."""
    zero, start = np.int64(0), at // WIDTH  # not a literal, which would compile the parts a second time
    scan_points(boxes.x, start, q, np.inf, np.inf, space.found)
    own = space.found[at % WIDTH]
    ties = _count(boxes, counts, space, q, start, own)
    if ties < 0:
        return zero
    came_from = start
    for height in range(boxes.nodes.shape[0]):
        parent = came_from // FAN
        block, skip = boxes.offset[height] + parent, 1 << (came_from % FAN)
        top = _push(boxes, space, q, block, height, parent * FAN, skip, own, zero)
        while top > 0:
            top -= 1
            level, node = space.level[top], space.node[top]
            if level > 0:
                top = _push(boxes, space, q, boxes.offset[level - 1] + node, level - 1, node * FAN, zero, own, top)
                continue
            more = _count(boxes, counts, space, q, node, own)
            if more < 0:
                return zero
            ties += more
        came_from = parent
    return ties


@kernel
def _link(boxes, counts, space, x, places, rows, out):
    """Write for some rows of x how many masked records are as near as their own; 0 if one is nearer."""
    for i in range(rows.shape[0]):
        out[rows[i]] = _as_near(boxes, counts, space, x[rows[i]], places[rows[i]])


def _laid_out(points: np.ndarray, counts: np.ndarray) -> tuple[Boxes, np.ndarray, np.ndarray]:
    """Return the points in leaves, the number of records at each position, and the position of each point."""
    boxes = leaf_boxes(points)
    sizes = np.diff(boxes.bounds)
    places = np.empty(points.shape[0], np.int64)
    places[boxes.members] = np.repeat(np.arange(sizes.shape[0]), sizes)
    return boxes, np.bincount(places, counts).astype(np.int64), places


def as_near(x: np.ndarray | Coded, own: np.ndarray, masked: Masked, columns: np.ndarray) -> np.ndarray:
    """Return for each record how many masked records are as near as its own, including its own; 0 if any is nearer.

    `x` holds m original records, `own` (m,) the index of the distinct masked record each became, and `columns` the
    coordinates or columns of codes that the attacker knows, ascending. An attacker who picks one of the nearest at
    random is right with probability 1/ties. For several sets of columns, prepare :class:`Links` once.

    Guarantee: equal to the count over the matrix of all distances, each a sum in the order of `columns`.

    Complexity: O(p log p) to lay out p distinct points; then for each record a few leaves where one is nearer or d is
    small, all p / 16 at worst. O(p·c + m·c) memory.

    >>> masked = different(np.array([[1.5], [1.5], [3.5], [3.5]]))
    >>> x = np.array([[1.0], [2.0], [3.0], [2.4]])
    >>> as_near(x, masked.of_row, masked, np.array([0])).tolist()
    [2, 2, 2, 0]
    """
    return Links(x, own, masked).as_near(columns)


class Links:
    """Records and the masked record that each became, to be linked by one set of columns or by several `sets`."""

    def __init__(self, x: np.ndarray | Coded, own: np.ndarray, masked: Masked, sets: int = 1) -> None:
        self._x, self._own, self._masked = x, own, masked
        room = min(sets - 1, _REMEMBERED)
        self._nearer = _Nearer(x, masked.points, own, room) if isinstance(x, Coded) else None

    def as_near(self, columns: np.ndarray) -> np.ndarray:
        """Link by some columns: :func:`as_near`."""
        points = some_of(self._masked.points, columns.tolist())
        if isinstance(points, Coded):
            return self._coded_as_near(with_number(points), columns)
        known = some_of(self._x, columns.tolist())
        announce(_link)
        boxes, counts, places = _laid_out(points, self._masked.counts)
        at = places[self._own]
        out = np.empty(at.shape[0], np.int64)
        order = np.argsort(at, kind="stable")  # neighbours one after the other, while their leaves are in the cache
        _in_parts(lambda rows: _link(boxes, counts, _space(), known, at, rows, out), order)
        return out

    def _coded_as_near(self, points: Coded, columns: np.ndarray) -> np.ndarray:
        """Link by columns, some of them coded; look up records that are equal, and equally far from their own, once.

        No search is needed for a record at distance 0 from its own, nor if a masked record that was nearer with other
        columns known is nearer again.
        """
        assert self._nearer is not None
        announce(link_coded)
        far, settled = self._nearer.among(columns)
        tree, slots = planted(points, self._masked.counts)
        at = slots[self._own]
        out = np.where(settled, 0, tree.counts[at])
        rest = np.flatnonzero(~settled & ((far > 0.0) | (not self._nearer.exact)))
        if not len(rest):
            return out
        known = some_of(self._x[rest], columns.tolist())
        assert isinstance(known, Coded)
        members, bounds = equal_records(known.beside(far[rest][:, None]))
        first = members[bounds[:-1]]
        known, at, found = with_number(known[first]), at[rest[first]], np.empty(len(first), np.int64)

        def link(rows: np.ndarray) -> None:
            link_coded(tree, search_space(points), known.numbers, known.codes, at, rows, found)

        _in_parts(link, np.argsort(at, kind="stable"))
        each = np.repeat(found, np.diff(bounds))
        out[rest[members]] = np.maximum(each, 0)
        point = np.empty(len(tree.counts), np.int64)
        point[slots] = np.arange(len(slots))
        self._nearer.remember(rest[members[each < 0]], point[-1 - each[each < 0]])
        return out


class _Nearer:
    """Masked records that were nearer to a record than its own, with some columns known."""

    def __init__(self, x: Coded, points: np.ndarray | Coded, own: np.ndarray, room: int) -> None:
        assert isinstance(points, Coded)
        start, lift = x.layout.start, lifts_of(x)
        assert not any(lift[start[a] + x.codes[:, a]].any() for a in range(x.codes.shape[1]))  # no groups
        both = np.vstack((x.numbers, points.numbers))
        self._x, self._points = x, points
        self._far = np.ascontiguousarray(x.distances(points[own]).T)  # (columns, m)
        self._near = np.full((room, *self._far.shape), np.inf)
        self._next = np.zeros(len(x), np.int64)  # of the remembered, the one to forget next
        #: whether only equal records are at a distance of 0
        self.exact = all(bool((np.diff(np.unique(column)) > _CLOSE).all()) for column in both.T)

    def among(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of each record from its own, and whether one of the remembered is nearer."""
        far, settled = _sum(self._far, columns), np.zeros(len(self._x), np.bool_)
        for near in self._near:
            settled |= _sum(near, columns) < far
        return far, settled

    def remember(self, rows: np.ndarray, points: np.ndarray) -> None:
        """Remember for some records a masked record that is nearer."""
        if len(self._near):
            self._near[self._next[rows], :, rows] = self._x[rows].distances(self._points[points])
            self._next[rows] = (self._next[rows] + 1) % len(self._near)


def _sum(distances: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Add up the squared distances in some columns, in their order."""
    found = np.zeros(distances.shape[1])
    for j in columns.tolist():
        found += distances[int(j)]
    return found


def _in_parts(link: Callable[[np.ndarray], None], order: np.ndarray) -> None:
    """Link records in their order, on several threads if there are many."""
    begins = range(0, order.shape[0], _RECORDS_PER_CALL)
    with thread_pool() as pool:
        each = pool.map if len(begins) > 1 and thread_count() > 1 else map
        for _ in each(lambda begin: link(order[begin : begin + _RECORDS_PER_CALL]), begins):
            pass
