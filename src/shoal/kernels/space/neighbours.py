"""Nearest neighbours of every record.

Points lie in leaves of sixteen, under a tree of boxes. All points of a leaf are searched from at the same time: a box
is first measured against the box of the leaf, then against all its points at once, and only the rest against single
points.

The layout is that of :mod:`shoal.kernels.space.tree`: node i of level h is lane ``i % 8`` of block
``offset[h] + i // 8``. Here, however, the faces are the float64 coordinates themselves, so that bounds need no slack.

Records with coded attributes are searched from one after the other, through the tree of
:mod:`shoal.kernels.space.coded_index`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.runtime.jit import announce, kernel, part, thread_pool
from shoal.kernels.runtime.lanes import lowest_bit, most16, scan_apart, scan_points, scan_queries
from shoal.kernels.space.coded_index import aim_sets, coded_index, find_nearest, rebuild, search_space
from shoal.kernels.space.kd_order import equal_records, kd_order, regroup
from shoal.kernels.space.remaining import WIDTH, aim_at, in_lanes, sink
from shoal.kernels.space.tree import FAN, faces, push
from shoal.progress import report
from shoal.threads import thread_count
from shoal.types.coded import Coded


class Boxes(NamedTuple):
    """Distinct points in leaves, the records at each, and boxes over them."""

    x: np.ndarray  # (leaves, d, WIDTH) the points, the last leaf padded with NaN
    members: np.ndarray  # (n,) rows grouped by point, ascending at each
    bounds: np.ndarray  # (points + 1,) position of the first row of each point
    low: np.ndarray  # (leaves, d) lower faces of the leaves
    high: np.ndarray  # (leaves, d) upper faces
    box: np.ndarray  # (blocks, 2d, FAN) lower and upper faces of eight nodes side by side
    offset: np.ndarray  # (levels,) first block of each level
    nodes: np.ndarray  # (levels,) number of nodes of each level; level 0 are the leaves


def leaf_boxes(points: np.ndarray) -> Boxes:
    """Lay out the records of an (n, d) table.

    Complexity: O(n log n + n·d) time, O(n·d) memory.
    """
    members, bounds = equal_records(points)
    first = points if bounds.shape[0] > points.shape[0] else points[members[bounds[:-1]]]
    members, bounds = regroup(members, bounds, kd_order(first))
    x = in_lanes(points, members[bounds[:-1]])
    nodes = [x.shape[0]]
    while nodes[-1] > FAN:
        nodes.append(-(-nodes[-1] // FAN))
    blocks = [-(-count // FAN) for count in nodes]
    d = points.shape[1]
    boxes = Boxes(
        x,
        members.astype(np.int32),
        bounds.astype(np.int32),
        np.empty((x.shape[0], d)),
        np.empty((x.shape[0], d)),
        np.empty((sum(blocks), 2 * d, FAN)),
        np.cumsum([0, *blocks[:-1]]).astype(np.int64),
        np.array(nodes, dtype=np.int64),
    )
    _grow(boxes)
    return boxes


@kernel
def _grow(boxes):
    """Compute the boxes of all leaves and nodes; padding boxes are turned inside out."""
    x, box, d = boxes.x, boxes.box, boxes.x.shape[1]
    for level in range(boxes.nodes.shape[0]):
        nodes = boxes.nodes[level]
        for node in range((nodes + FAN - 1) // FAN * FAN):
            block, lane = boxes.offset[level] + node // FAN, node % FAN
            for j in range(d):
                low, high = np.inf, -np.inf
                if node < nodes:
                    low, high = faces(x, box, boxes.offset, level, node, j, np.inf)
                    if level == 0:
                        boxes.low[node, j], boxes.high[node, j] = low, high
                box[block, 2 * j, lane], box[block, 2 * j + 1, lane] = low, high


_POINTS_PER_CALL = 16 * WIDTH * 64  # small enough that no thread waits long for another at the end


class _Search(NamedTuple):
    """Scratch space of the search from one leaf."""

    distance: np.ndarray  # (WIDTH, few) squared distances of the nearest records met so far, ascending
    row: np.ndarray  # (WIDTH, few) their rows
    size: np.ndarray  # (WIDTH,) how many of them
    within: np.ndarray  # (WIDTH,) distance beyond which no record can matter
    q: np.ndarray  # (WIDTH, d) the points of the leaf
    found: np.ndarray  # (WIDTH,) distances to the points of another leaf
    apart: np.ndarray  # (FAN,) distances between boxes
    pending: np.ndarray  # stack: distance, level and number of nodes still to visit
    level: np.ndarray
    node: np.ndarray


def _search_space(d: int, few: int) -> _Search:
    depth = 24 * FAN
    return _Search(
        np.empty((WIDTH, few)),
        np.empty((WIDTH, few), dtype=np.int32),
        np.empty(WIDTH, dtype=np.int64),
        np.empty(WIDTH),
        np.empty((WIDTH, d)),
        np.empty(WIDTH),
        np.empty(FAN),
        np.empty(depth),
        np.empty(depth, dtype=np.int64),
        np.empty(depth, dtype=np.int64),
    )


@part
def _insert(search, query, distance, row):
    """Insert a record among the nearest of a query, ordered by (distance, row); tell whether it was kept."""
    distances, rows = search.distance[query], search.row[query]
    at, few = search.size[query], distances.shape[0]
    if at == few:
        at -= 1
        if distances[at] < distance or (distances[at] == distance and rows[at] < row):
            return False
    else:
        search.size[query] += 1
    while at > 0 and (distances[at - 1] > distance or (distances[at - 1] == distance and rows[at - 1] > row)):
        distances[at], rows[at] = distances[at - 1], rows[at - 1]
        at -= 1
    distances[at], rows[at] = distance, row
    if search.size[query] == few:
        search.within[query] = distances[few - 1]
    return True


@part
def _visit(boxes, search, leaf, other):
    """Measure from the points of a leaf to those of another, if its box is near enough."""
    found = search.found
    queries = scan_queries(boxes.x, leaf, boxes.low[other], boxes.high[other], search.within)
    while queries:
        query = lowest_bit(queries)
        queries &= queries - 1
        near = scan_points(boxes.x, other, search.q[query], search.within[query], np.inf, found)
        while near:
            lane = lowest_bit(near)
            near &= near - 1
            point = other * WIDTH + lane
            if point + 1 >= boxes.bounds.shape[0]:
                break
            for at in range(boxes.bounds[point], boxes.bounds[point + 1]):
                if not _insert(search, query, found[lane], boxes.members[at]):
                    break  # rows at a point ascend


@part
def _push(boxes, search, leaf, block, level, first, skip, top):
    """Push the children of a node that are near enough to the leaf, the nearest on top."""
    bottom, reach = top, most16(search.within, 0, -1.0)
    mask = scan_apart(boxes.box, block, boxes.low[leaf], boxes.high[leaf], reach, search.apart) & ~skip
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if first + lane >= boxes.nodes[level]:
            break
        top = push(search, top, bottom, search.apart[lane], level, first + lane, 1.0)
    return top


@part
def _search_from(boxes, search, leaf):
    """Find the nearest records of all points of a leaf: in the leaf, then in its siblings, then higher up."""
    zero = np.int64(0)  # not a literal, which would compile the parts a second time
    for query in range(WIDTH):
        search.size[query] = 0
        search.within[query] = np.inf if leaf * WIDTH + query + 1 < boxes.bounds.shape[0] else -1.0
        for j in range(search.q.shape[1]):
            search.q[query, j] = boxes.x[leaf, j, query]
    _visit(boxes, search, leaf, leaf)
    came_from = leaf
    for height in range(boxes.nodes.shape[0]):
        parent = came_from // FAN
        block, skip = boxes.offset[height] + parent, 1 << (came_from % FAN)
        top = _push(boxes, search, leaf, block, height, parent * FAN, skip, zero)
        while top > 0:
            top -= 1
            if search.pending[top] > most16(search.within, 0, -1.0):
                continue
            level, node = search.level[top], search.node[top]
            if level == 0:
                _visit(boxes, search, leaf, node)
            else:
                below = boxes.offset[level - 1] + node
                top = _push(boxes, search, leaf, below, level - 1, node * FAN, zero, top)
        came_from = parent


@part
def _any(wanted, members, begin, end):
    """Tell whether any of some members is wanted."""
    for at in range(begin, end):
        if wanted[members[at]]:
            return True
    return False


@kernel
def _search_leaves(boxes, search, wanted, begin, end, out):
    """Write the nearest other records of the wanted records in leaves `begin` … `end` - 1.

    The search finds one more than asked for. A record then drops itself if it is among them (with many equal records
    it need not be), otherwise the last.
    """
    count, points = out.shape[1], boxes.bounds.shape[0] - 1
    for leaf in range(begin, end):
        last = boxes.bounds[min((leaf + 1) * WIDTH, points)]
        if not _any(wanted, boxes.members, boxes.bounds[leaf * WIDTH], last):
            continue
        _search_from(boxes, search, leaf)
        for query in range(min(WIDTH, points - leaf * WIDTH)):
            point = leaf * WIDTH + query
            for at in range(boxes.bounds[point], boxes.bounds[point + 1]):
                row, skipped = boxes.members[at], 0
                for i in range(count):
                    if search.row[query, i + skipped] == row:
                        skipped = 1
                    out[row, i] = search.row[query, i + skipped]


@kernel
def _plant(index, remaining):
    rebuild(index, remaining)


@part
def _ascend(nearest):
    """Sort the records in a heap, nearest first."""
    distance, row, slot = nearest.distance, nearest.row, nearest.slot
    for i in range(distance.shape[0] - 1, 0, -1):
        last = distance[i], row[i], slot[i]
        distance[i], row[i], slot[i] = distance[0], row[0], slot[0]
        sink(distance[:i], row[:i], slot[:i], last[0], last[1], last[2])


@kernel
def _search_codes(tree, search, remaining, wanted, begin, end, out):
    """Write the nearest other records of the wanted records in slots `begin` … `end` - 1; as :func:`_search_leaves`."""
    rows = search.nearest.row
    for slot in range(begin, end):
        if not _any(wanted, remaining.members, remaining.head[slot], remaining.end[slot]):
            continue
        aim_at(remaining, slot, search.q, search.aim)
        aim_sets(tree, search, remaining.coded.layout)
        find_nearest(tree, search, remaining, search.nearest, slot // WIDTH)
        _ascend(search.nearest)
        for at in range(remaining.head[slot], remaining.end[slot]):
            row, skipped = remaining.members[at], 0
            for i in range(out.shape[1]):
                if rows[i + skipped] == row:
                    skipped = 1
                out[row, i] = rows[i + skipped]


def neighbours(x: np.ndarray | Coded, count: int, rows: np.ndarray | None = None) -> np.ndarray:
    """Return the `count` nearest other records of every record, or all n - 1: (n, count) int32, nearest first.

    With `rows`, only those of the records in these rows, in this order.

    Guarantee: row i holds the first `count` of all rows but i, ordered by (squared distance from record i, row). Points
    are scaled as in :func:`shoal.kernels.mdav.mdav.mdav`.

    Complexity: O(n log n) to lay out the points, then for each leaf of 16 the leaves that may hold a neighbour: a few
    dozen where d is small, all n / 16 at worst. Equal records are searched from once. O(n·(d + count)) memory. Coded
    attributes count as one coordinate each.

    >>> import numpy as np
    >>> neighbours(np.array([[0.0], [1.0], [3.0], [2.0]]), 2).tolist()
    [[1, 3], [0, 3], [3, 1], [1, 2]]
    """
    n = len(x)
    count = max(min(count, n - 1), 0)
    out = np.empty((n, count), dtype=np.int32)
    if count == 0:
        return out if rows is None else out[rows]
    x = in_range(x)
    wanted = np.full(n, rows is None)
    wanted[slice(0) if rows is None else rows] = True
    points, search = _among_codes(x, wanted, out) if isinstance(x, Coded) else _among_leaves(x, wanted, out)
    begins = range(0, points, _POINTS_PER_CALL)
    threads = points > _POINTS_PER_CALL and thread_count() > 1
    with thread_pool() as pool:
        for begin, _ in zip(begins, (pool.map if threads else map)(search, begins), strict=True):
            report(min(begin + _POINTS_PER_CALL, n), n)
    return out if rows is None else out[rows]


def _among_leaves(x: np.ndarray, wanted: np.ndarray, out: np.ndarray) -> tuple[int, Callable[[int], None]]:
    """Return the number of positions to search from, and the search from some of them, in coordinates."""
    announce(_search_leaves)
    boxes, (d, few) = leaf_boxes(x), (x.shape[1], out.shape[1] + 1)
    leaves = boxes.x.shape[0]

    def search(begin: int) -> None:
        first, end = begin // WIDTH, min((begin + _POINTS_PER_CALL) // WIDTH, leaves)
        _search_leaves(boxes, _search_space(d, few), wanted, first, end, out)

    return leaves * WIDTH, search


def _among_codes(x: Coded, wanted: np.ndarray, out: np.ndarray) -> tuple[int, Callable[[int], None]]:
    """Return the number of positions to search from, and the search from some of them, in numbers and codes."""
    announce(_search_codes)
    members, bounds = equal_records(x)
    index, remaining = coded_index(x, members, bounds, out.shape[1] + 2)
    _plant(index, remaining)
    slots = len(bounds) - 1

    def search(begin: int) -> None:
        space = search_space(x, out.shape[1] + 2)
        _search_codes(index.tree, space, remaining, wanted, begin, min(begin + _POINTS_PER_CALL, slots), out)

    return slots, search
