"""Order of points in which every aligned run of 16, 128, 1024, … points lies close together, also while points move.

This is the recursion of a kd-tree without the tree: a range of points is cut at a multiple of a power of two blocks, so
that all blocks but the last are full and a node's children are found by counting.

Records that are equal in every coordinate have the same distance to everything. MDAV takes them in row order, so a
*group* is a queue: its rows ascending, with a head that advances as they are taken.

The layout is that of :mod:`shoal.kernels.space.neighbours`, with float64 faces, so that bounds need no slack. A removed
point is NaN. A point that moves stays in its leaf, whose box follows it; this suits points that do not move far. Ties
go to the lowest number. Each node stores the lowest number below it, so that many ties cost no more than one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.runtime.lanes import lowest_bit, scan_boxes, scan_points
from shoal.kernels.space.remaining import WIDTH, in_lanes
from shoal.kernels.space.tree import FAN, faces
from shoal.types.coded import Coded

_MULTIPLIER = -7046029254386353131  # 0x9E3779B97F4A7C15, as a signed integer


@kernel
def _hashes(patterns, out):
    for i in range(patterns.shape[0]):
        h = np.int64(0)
        for j in range(patterns.shape[1]):
            bits = patterns[i, j]
            if bits & 0x7FFFFFFFFFFFFFFF == 0:
                bits = 0  # -0.0 and 0.0 are the same coordinate
            h = (h ^ bits) * _MULTIPLIER
            h ^= (h >> 29) & 0x7FFFFFFFF
        out[i] = h


@kernel
def _mark_first(points, members, first):
    """Mark where, along `members`, the coordinates change."""
    first[0] = True
    for i in range(1, members.shape[0]):
        a, b = members[i - 1], members[i]
        first[i] = False
        for j in range(points.shape[1]):
            if points[a, j] != points[b, j]:
                first[i] = True
                break


def regroup(members: np.ndarray, bounds: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reorder groups, keeping the order inside each."""
    if members.shape[0] == order.shape[0]:
        return members[order], bounds
    sizes = np.diff(bounds)[order]
    moved = np.concatenate(([0], np.cumsum(sizes)))
    source = np.repeat(bounds[:-1][order] - moved[:-1], sizes) + np.arange(members.shape[0])
    return members[source], moved


def equal_records(points: np.ndarray | Coded) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows of an (n, d) table, or records that are equal in all numbers and codes.

    Returns
    -------
    members : (n,) int64
        Row positions, group after group, ascending inside each group.
    bounds : (m + 1,) int64
        Group g is ``members[bounds[g]:bounds[g + 1]]``. Groups are ordered by their first rows.

    Guarantee: rows of one group are equal, and ascending. If two different records share a 64-bit hash, some equal rows
    may fall into two groups, which costs time and changes no result.
    Complexity: O(n·d + n log n).
    """
    if isinstance(points, Coded):
        points = np.column_stack((points.numbers, points.codes))
    n = points.shape[0]
    hashes = np.empty(n, dtype=np.int64)
    _hashes(points.view(np.int64), hashes)
    members = np.argsort(hashes, kind="stable")
    first = np.empty(n, dtype=np.bool_)
    _mark_first(points, members, first)
    starts = np.flatnonzero(first)
    if starts.shape[0] == n:
        return np.arange(n), np.arange(n + 1)
    return regroup(members, np.append(starts, n), np.argsort(members[starts]))


_SAMPLE = 64


@part
def _widest(points, order, start, end):
    """Return the coordinate with the widest range in a sample of ``order[start:end]``."""
    stride = max((end - start) // _SAMPLE, 1)
    widest, best = -1.0, 0
    for j in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(start, end, stride):
            value = points[order[i], j]
            low, high = min(low, value), max(high, value)
        if high - low > widest:
            widest, best = high - low, j
    return best


@part
def select(keys, order, offset, low, high, target):
    """Run Hoare's selection on ``keys[low..high]``, moving `order` along: no key before `target` is larger."""
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[offset + i], order[offset + j] = order[offset + j], order[offset + i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            return


@kernel
def _cut_all(points, order, keys, stack):
    stack[0, 0], stack[0, 1] = 0, order.shape[0]
    top = 1
    while top > 0:
        top -= 1
        start, end = stack[top, 0], stack[top, 1]
        if end - start <= WIDTH:
            continue
        half = WIDTH
        while 2 * half < end - start:
            half *= 2
        j = _widest(points, order, start, end)
        for i in range(start, end):
            keys[i - start] = points[order[i], j]
        select(keys, order, start, 0, end - start - 1, half)
        stack[top, 0], stack[top, 1] = start, start + half
        stack[top + 1, 0], stack[top + 1, 1] = start + half, end
        top += 2


def kd_order(points: np.ndarray) -> np.ndarray:
    """Return the order in which to lay out points.

    Guarantee: a permutation of 0 … len(points) - 1. Complexity: O(m log m) expected for m points, plus a sample of 64
    points per cut to choose the coordinate.
    """
    m = points.shape[0]
    order = np.arange(m, dtype=np.int32)
    _cut_all(points, order, np.empty(m, dtype=points.dtype), np.empty((96, 2), dtype=np.int64))
    return order


NONE = np.iinfo(np.int64).max
_ANYWHERE = np.finfo(np.float64).max  # an empty box is farther away than this


class MovingPoints(NamedTuple):
    """Points in leaves of sixteen, boxes over them, and the scratch space of a search."""

    x: np.ndarray  # (leaves, d, WIDTH) float64
    number: np.ndarray  # (leaves · WIDTH,) number of the point in each slot, NONE where removed
    slot: np.ndarray  # of each number
    box: np.ndarray  # (blocks, 2d, FAN) lower and upper faces of eight nodes side by side
    least: np.ndarray  # (blocks, FAN) lowest number below each node
    offset: np.ndarray  # (levels,) first block of each level; level 0 are the leaves
    q: np.ndarray  # (d,) the query point
    distance: np.ndarray  # (WIDTH,)
    bound: np.ndarray  # (FAN,)
    pending: np.ndarray  # stack: bound, level and number of nodes still to visit
    level: np.ndarray
    node: np.ndarray


def moving_points(points: np.ndarray, numbers: np.ndarray) -> MovingPoints:
    """Lay out an (m, d) table of finite points with different numbers from 0. O(m log m + m·d)."""
    order = kd_order(points)
    x = in_lanes(points, order)
    leaves, d, _ = x.shape
    blocks = [-(-leaves // FAN)]
    while blocks[-1] > 1:
        blocks.append(-(-blocks[-1] // FAN))
    number = np.full(leaves * WIDTH, NONE)
    number[: len(order)] = numbers[order]
    slot = np.full(int(numbers.max()) + 1, -1)
    slot[number[: len(order)]] = np.arange(len(order))
    box = np.empty((sum(blocks), 2 * d, FAN))
    box[:, ::2], box[:, 1::2] = np.inf, -np.inf
    stack = len(blocks) * FAN
    tree = MovingPoints(
        x,
        number,
        slot,
        box,
        np.full((sum(blocks), FAN), NONE),
        np.cumsum([0, *blocks[:-1]]).astype(np.int64),
        np.empty(d),
        np.empty(WIDTH),
        np.empty(FAN),
        np.empty(stack),
        np.empty(stack, np.int64),
        np.empty(stack, np.int64),
    )
    _grow(tree, leaves)
    return tree


@kernel
def _grow(tree, leaves):
    nodes = leaves
    for level in range(tree.offset.shape[0]):
        for node in range(nodes):
            _fit(tree, level, node)
        nodes = (nodes + FAN - 1) // FAN


@part
def _fit(tree, level, node):
    """Recompute the box and the lowest number of a node from its contents; tell whether anything changed."""
    block, lane, d = tree.offset[level] + node // FAN, node % FAN, tree.q.shape[0]
    children = node if level == 0 else tree.offset[level - 1] + node
    changed = False
    for j in range(d):
        low, high = faces(tree.x, tree.box, tree.offset, level, node, j, np.inf)
        changed |= (low != tree.box[block, 2 * j, lane]) | (high != tree.box[block, 2 * j + 1, lane])
        tree.box[block, 2 * j, lane], tree.box[block, 2 * j + 1, lane] = low, high
    least = NONE
    for i in range(WIDTH if level == 0 else FAN):
        least = min(least, tree.number[node * WIDTH + i] if level == 0 else tree.least[children, i])
    changed |= least != tree.least[block, lane]
    tree.least[block, lane] = least
    return changed


@part
def put(tree, slot, number, point):
    """Put a numbered point into a slot; NONE with a point of NaN empties the slot."""
    for j in range(point.shape[0]):
        tree.x[slot // WIDTH, j, slot % WIDTH] = point[j]
    tree.number[slot] = number
    if number != NONE:
        tree.slot[number] = slot
    node, level = slot // WIDTH, np.int64(0)
    while level < tree.offset.shape[0] and _fit(tree, level, node):
        node //= FAN
        level += 1


@part
def _near_leaf(tree, leaf, best, number):
    """Return the squared distance and number of the nearest point in a leaf, or the best so far if that is nearer."""
    mask = scan_points(tree.x, leaf, tree.q, best, np.inf, tree.distance)
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        here, other = tree.distance[lane], tree.number[leaf * WIDTH + lane]
        if here < best or (here == best and other < number):
            best, number = here, other
    return best, number


@part
def _near_children(tree, block, level, first_child, skip, best, number, top):
    """Push the nodes of a block that may hold something nearer, the most promising on top."""
    bottom = top
    mask = scan_boxes(tree.box, block, tree.q, best, tree.bound) & ~skip
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        here, least = tree.bound[lane], tree.least[block, lane]
        if here == best and least >= number:
            continue
        i = top
        while i > bottom and (
            tree.pending[i - 1] < here
            or (tree.pending[i - 1] == here and tree.least[block, tree.node[i - 1] % FAN] < least)
        ):
            tree.pending[i], tree.level[i], tree.node[i] = tree.pending[i - 1], tree.level[i - 1], tree.node[i - 1]
            i -= 1
        tree.pending[i], tree.level[i], tree.node[i] = here, level, first_child + lane
        top += 1
    return top


@part
def nearest(tree, leaf):
    """Return the number of the point nearest to ``tree.q``, searching from a leaf upwards.

    Guarantee: the first of all points by (squared distance, number); squared distances are sums of (xⱼ - qⱼ)² in
    float64 in coordinate order. The tree must hold at least one point.
    """
    zero = np.int64(0)  # not a literal, which would compile the parts a second time
    best, number = _near_leaf(tree, leaf, _ANYWHERE, NONE)
    came_from = leaf
    for height in range(tree.offset.shape[0]):
        parent = came_from // FAN
        block = tree.offset[height] + parent
        top = _near_children(tree, block, height, parent * FAN, 1 << (came_from % FAN), best, number, zero)
        while top > 0:
            top -= 1
            level, node = tree.level[top], tree.node[top]
            least = tree.least[tree.offset[level] + node // FAN, node % FAN]
            if tree.pending[top] > best or (tree.pending[top] == best and least >= number):
                continue
            if level == 0:
                best, number = _near_leaf(tree, node, best, number)
            else:
                below = tree.offset[level - 1] + node
                top = _near_children(tree, below, level - 1, node * FAN, zero, best, number, top)
        came_from = parent
    return number
