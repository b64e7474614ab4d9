"""Index of records with coded attributes: a tree whose nodes hold a box of numbers and a set of categories.

The layout is that of :mod:`shoal.kernels.space.tree`: leaf i is block i of the remaining points, and node i of level h
is lane ``i % 8`` of block ``offset[h] + i // 8``. A set of categories has 64 bits. With more categories, consecutive
ones share a bit: categories of one group are consecutive, so a set may be too large, but never too small.

Bounds are computed in float64 and in the order of distances, attribute by attribute. Rounding is monotonic, so no
bound is on the wrong side of a distance, and none needs slack. The exception is the search from the centroid: a node
stores its *reach*, the largest squared distance of its points from an anchor, an earlier centroid. Seen from the
centroid, a point is farther by a linear function of its numbers, which its box bounds, and by at most the largest
change of a table entry.

Ties go to the lowest row. Each node stores the lowest row below it, so that many ties cost no more than one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import inlined, part
from shoal.kernels.runtime.lanes import lowest_bit
from shoal.kernels.space.coded_lanes import Aim
from shoal.kernels.space.coded_order import coded_order
from shoal.kernels.space.kd_order import regroup
from shoal.kernels.space.remaining import (
    NO_ROW,
    SLOTS,
    WIDTH,
    Nearest,
    Remaining,
    aim_at_centroid,
    aim_of,
    all_remaining,
    compact,
    first_row,
    nearest_few,
    numbers_of,
    offer,
    scan,
    with_number,
)
from shoal.kernels.space.tree import (
    BOXES,
    FAN,
    FAR_FROM_CENTROID,
    FRAME_LEAVES,
    LEAVES,
    NEAR,
    blocks_from_centroid,
)
from shoal.types.coded import Coded

_BITS = 64
_SLACK = 1e-13  # relative to the largest term; a few hundred times the rounding error of a bound
_PATIENCE = 2  # excess blocks visited, per leaf of the tree, before the anchor moves
REBUILT, MOVED, ALLOWED = range(3)  #: `CodedIndex.rebuilds`
USUAL = 8  #: blocks visited by a search from the anchor itself


class CodedTree(NamedTuple):
    """Boxes and sets over the blocks of the remaining points."""

    box: np.ndarray  # (blocks, 2p, FAN) lower and upper faces in turn; an empty node is turned inside out
    sets: np.ndarray  # (blocks, a, FAN) int64, the categories in each node
    least: np.ndarray  # (blocks, FAN) lowest row in each node, as of the last rebuilding
    reach: np.ndarray  # (blocks, FAN) largest squared distance from the anchor, -inf where a node is empty
    offset: np.ndarray  # (levels,) first block of each level
    levels: np.ndarray  # (1,) levels in use, 0 before the first rebuilding
    bit: np.ndarray  # by attribute and category: its bit
    radius: np.ndarray  # (slots,) squared distance of each point from the anchor
    anchor: np.ndarray  # (p,) numbers of the anchor
    table: np.ndarray  # its distances from categories


class CodedSearch(NamedTuple):
    """Scratch space of a search, and counters of its work."""

    q: np.ndarray  # (p,) numbers of the query
    aim: Aim  # its distances from categories
    shared: np.ndarray  # (levels,) int64: bits with a category of the query's own group
    within: np.ndarray  # (levels,) int64: bits with no other categories
    below: np.ndarray  # (levels,) distance of categories that share a group at this level and none below
    slope: np.ndarray  # (p,)
    nearest: Nearest
    distance: np.ndarray  # (WIDTH,)
    bound: np.ndarray  # (FAN,)
    pending: np.ndarray  # stack: bound, lowest row, level and number of the nodes still to visit
    lowest: np.ndarray
    level: np.ndarray
    node: np.ndarray
    work: np.ndarray  # (9,) three counters for each kind of search


class CodedIndex(NamedTuple):
    """Tree and scratch space of a search."""

    tree: CodedTree
    search: CodedSearch
    rebuilds: np.ndarray  # times boxes were rebuilt, and the anchor moved; blocks allowed before it moves


def coded_index(points: Coded, members: np.ndarray, bounds: np.ndarray, k: int) -> tuple[CodedIndex, Remaining]:
    """Lay out groups of equal records, ready for the first step to grow a tree over them."""
    points = with_number(points)
    first = points if bounds.shape[0] > len(points) else points[members[bounds[:-1]]]
    members, bounds = regroup(members, bounds, coded_order(first))
    remaining = all_remaining(points, members, bounds)
    return CodedIndex(_planted(points, remaining), search_space(points, k), np.array([-1, 0, 0])), remaining


def _planted(points: Coded, remaining: Remaining) -> CodedTree:
    g, leaves = points.layout, remaining.x.shape[0]
    p, a = numbers_of(points).shape[1], points.codes.shape[1]
    sizes = [-(-leaves // FAN)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FAN))
    counts = np.diff(g.start)
    bit = np.concatenate([np.arange(c) * min(c, _BITS) // c for c in counts.tolist()]).astype(np.int64)
    return CodedTree(
        np.empty((sum(sizes), 2 * p, FAN)),
        np.empty((sum(sizes), a, FAN), np.int64),
        np.empty((sum(sizes), FAN), np.int64),
        np.empty((sum(sizes), FAN)),
        np.cumsum([0, *sizes[:-1]]).astype(np.int64),
        np.zeros(1, np.int64),
        bit,
        np.empty(leaves * WIDTH),
        np.empty(p),
        np.empty(int(g.start[-1])),
    )


def search_space(points: Coded, k: int) -> CodedSearch:
    """Allocate scratch space for a search, and classes of `k`."""
    g, depth, p = points.layout, 16 * FAN, numbers_of(points).shape[1]
    levels, aim = len(g.times), aim_of(points)
    assert aim is not None
    below = np.empty(levels)
    for a in range(len(g.height)):
        times = g.times[g.level[a] : g.level[a + 1]]
        below[g.level[a] : g.level[a + 1]] = aim.steps[a, np.cumsum(times) - times]
    return CodedSearch(
        np.empty(p),
        aim,
        np.empty(levels, np.int64),
        np.empty(levels, np.int64),
        below,
        np.empty(p),
        nearest_few(k - 1),
        np.empty(WIDTH),
        np.empty(FAN),
        np.empty(depth),
        np.empty(depth, np.int64),
        np.empty(depth, np.int64),
        np.empty(depth, np.int64),
        np.zeros(9, np.int64),
    )


@part
def _run_of_bits(first, last):
    """Return the bits `first` … `last`; none if `last` is smaller."""
    if last < first:
        return np.int64(0)
    rest = _BITS - 1 - (last - first)
    return np.int64((np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(rest)) << np.uint64(first))


@part
def aim_sets(tree, search, g):
    """Prepare bounds for sets of categories, after the query was aimed at a record."""
    for a in range(search.aim.code.shape[0]):
        code, start, end = np.int64(search.aim.code[a]), g.start[a], g.start[a + 1]
        for level in range(g.level[a], g.level[a + 1]):
            low, high = start + g.low[g.at[level] + code], start + g.high[g.at[level] + code]
            first, last = tree.bit[low], tree.bit[high - 1]
            search.shared[level] = _run_of_bits(first, last)
            if low > start and tree.bit[low - 1] == first:
                first += 1
            if high < end and tree.bit[high] == last:
                last -= 1
            search.within[level] = _run_of_bits(first, last)


@part
def near_bounds(tree, search, g, block):
    """Write the least squared distance from the query to anything in eight nodes."""
    box, sets, q, bound = tree.box, tree.sets, search.q, search.bound
    for lane in range(FAN):
        bound[lane] = 0.0
    for i in range(g.order.shape[0]):
        j = g.order[i]
        if j >= 0:
            for lane in range(FAN):
                t = max(box[block, 2 * j, lane] - q[j], q[j] - box[block, 2 * j + 1, lane], 0.0)
                bound[lane] += t * t
            continue
        first, end = g.level[~j], g.level[~j + 1]
        if end == first + 1:
            own, weight = search.shared[first], g.weight[~j]
            for lane in range(FAN):
                bound[lane] += 0.0 if sets[block, ~j, lane] & own else weight
            continue
        for lane in range(FAN):
            here, least = sets[block, ~j, lane], g.weight[~j]
            for level in range(first, end):
                if here & search.shared[level]:
                    least = search.below[level]
                    break
            bound[lane] += least


@part
def far_bounds(tree, search, g, block):
    """Write the largest squared distance from the query to anything in eight nodes; -1 for an empty one."""
    box, sets, q, bound = tree.box, tree.sets, search.q, search.bound
    for lane in range(FAN):
        bound[lane] = 0.0
    for i in range(g.order.shape[0]):
        j = g.order[i]
        if j >= 0:
            for lane in range(FAN):
                t = max(q[j] - box[block, 2 * j, lane], box[block, 2 * j + 1, lane] - q[j])
                bound[lane] += t * t
            continue
        first, end = g.level[~j], g.level[~j + 1]
        for lane in range(FAN):
            outside, most = sets[block, ~j, lane], g.weight[~j]
            for level in range(end - 1, first - 1, -1):
                if outside & ~search.within[level]:
                    break
                most = search.below[level]
            bound[lane] += most
    for lane in range(FAN):
        if box[block, 0, lane] > box[block, 1, lane]:
            bound[lane] = -1.0


@part
def centroid_bounds(tree, search, block, rest):
    """Write how far from the centroid points in eight nodes may be; below 0 for an empty one."""
    box, bound = tree.box, search.bound
    for lane in range(FAN):
        bound[lane] = tree.reach[block, lane] + rest
    for j in range(search.slope.shape[0]):
        w = search.slope[j]
        face = 2 * j + 1 if w > 0.0 else 2 * j
        for lane in range(FAN):
            bound[lane] += w * box[block, face, lane]
    for lane in range(FAN):
        if box[block, 0, lane] > box[block, 1, lane]:
            bound[lane] = -1.0


@part
def _rest_from_centroid(tree, search, g):
    """Prepare the search from the centroid: write slopes, return the constant term of the bound with its slack.

    |x - q|² = |x - a|² + Σ 2(aⱼ - qⱼ)·xⱼ + Σ (qⱼ² - aⱼ²) in numbers, for the query q and the anchor a.
    """
    q, anchor, rest, size = search.q, tree.anchor, 0.0, 0.0
    top = tree.offset[tree.levels[0] - 1]
    for lane in range(FAN):
        size = max(size, tree.reach[top, lane])
    for j in range(q.shape[0]):
        search.slope[j] = 2.0 * (anchor[j] - q[j])
        rest += (q[j] - anchor[j]) * (q[j] + anchor[j])
        most = 0.0
        for lane in range(FAN):
            if tree.box[top, 2 * j, lane] <= tree.box[top, 2 * j + 1, lane]:
                most = max(most, abs(tree.box[top, 2 * j, lane]), abs(tree.box[top, 2 * j + 1, lane]))
        size += abs(search.slope[j]) * most + q[j] * q[j] + anchor[j] * anchor[j]
    for a in range(g.weight.shape[0]):
        change = -np.inf
        for c in range(g.start[a], g.start[a + 1]):
            change = max(change, search.aim.table[c] - tree.table[c])
        rest += change
        size += g.weight[a]
    return rest + _SLACK * size


@inlined
def push_node(search, top, first, key, lowest, level, node):
    """Insert a node among those pushed since `first`; the one with the least key, then the lowest row, is on top."""
    i = top
    while i > first and (
        search.pending[i - 1] < key or (search.pending[i - 1] == key and search.lowest[i - 1] < lowest)
    ):
        search.pending[i], search.lowest[i] = search.pending[i - 1], search.lowest[i - 1]
        search.level[i], search.node[i] = search.level[i - 1], search.node[i - 1]
        i -= 1
    search.pending[i], search.lowest[i], search.level[i], search.node[i] = key, lowest, level, node
    return top + 1


@part
def _far_children(tree, search, g, block, level, first_child, rest, best, best_row, top, kind):
    search.work[kind + BOXES] += 1
    if kind == FAR_FROM_CENTROID:
        centroid_bounds(tree, search, block, rest)
    else:
        far_bounds(tree, search, g, block)
    bottom = top
    for lane in range(FAN):
        here, lowest = search.bound[lane], tree.least[block, lane]
        if here < 0.0 or here < best or (here == best and lowest > best_row):
            continue
        top = push_node(search, top, bottom, -here, lowest, level, first_child + lane)
    return top


@part
def find_farthest(tree, search, remaining, kind):
    """Return the slot of the record farthest from the query, ties to the lowest row.

    Guarantee: the record that a full scan would find.
    """
    g, zero = remaining.coded.layout, np.int64(0)
    rest = _rest_from_centroid(tree, search, g) if kind == FAR_FROM_CENTROID else 0.0
    best, best_row, best_slot = -1.0, NO_ROW, -1
    level = tree.levels[0] - 1
    top = _far_children(tree, search, g, tree.offset[level], level, zero, rest, best, best_row, zero, kind)
    while top > 0:
        top -= 1
        level, node = search.level[top], search.node[top]
        here = -search.pending[top]
        if here < best or (here == best and search.lowest[top] > best_row):
            continue
        if level > 0:
            below = tree.offset[level - 1] + node
            top = _far_children(tree, search, g, below, level - 1, node * FAN, rest, best, best_row, top, kind)
            continue
        search.work[kind + FRAME_LEAVES] += 1
        search.work[kind + LEAVES] += 1
        mask = scan(remaining.x, remaining.coded, node, search.q, search.aim, -1.0, best, search.distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            distance, row = search.distance[lane], first_row(remaining, node * WIDTH + lane)
            if distance > best or (distance == best and row < best_row):
                best, best_row, best_slot = distance, row, node * WIDTH + lane
    return best_slot


@part
def _near_children(tree, search, g, block, level, first_child, skip, bound, last, top):
    search.work[NEAR + BOXES] += 1
    near_bounds(tree, search, g, block)
    bottom = top
    for lane in range(FAN):
        here, lowest = search.bound[lane], tree.least[block, lane]
        if lane == skip or here > bound or (here == bound and lowest > last) or here == np.inf:
            continue
        top = push_node(search, top, bottom, here, lowest, level, first_child + lane)
    return top


@part
def _near_leaf(search, remaining, nearest, leaf, size, bound, last):
    """Offer the points of a leaf; return the size of the heap, and the distance and row that a record must precede."""
    search.work[NEAR + FRAME_LEAVES] += 1
    search.work[NEAR + LEAVES] += 1
    mask = scan(remaining.x, remaining.coded, leaf, search.q, search.aim, bound, np.inf, search.distance)
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if search.distance[lane] <= bound:
            size = offer(nearest, size, remaining, leaf * WIDTH + lane, search.distance[lane])
            if size == nearest.distance.shape[0]:
                bound, last = nearest.distance[0], nearest.row[0]
    return size, bound, last


@part
def find_nearest(tree, search, remaining, nearest, start):
    """Fill the heap with the records nearest to the query, ordered by (squared distance, row).

    The search goes from the leaf `start` upwards; the query must have been aimed at a record, and `aim_sets` called.

    Guarantee: with at least as many records in the tree as the heap holds, the heap ends with exactly the records that
    a full scan would leave there.
    """
    g, zero = remaining.coded.layout, np.int64(0)
    size, bound, last = _near_leaf(search, remaining, nearest, start, zero, np.inf, NO_ROW)
    came_from = start
    for height in range(tree.levels[0]):
        parent = came_from // FAN
        block = tree.offset[height] + parent
        skip = came_from % FAN
        top = _near_children(tree, search, g, block, height, parent * FAN, skip, bound, last, zero)
        while top > 0:
            top -= 1
            if search.pending[top] > bound or (search.pending[top] == bound and search.lowest[top] > last):
                continue
            level, node = search.level[top], search.node[top]
            if level == 0:
                size, bound, last = _near_leaf(search, remaining, nearest, node, size, bound, last)
            else:
                below = tree.offset[level - 1] + node
                top = _near_children(tree, search, g, below, level - 1, node * FAN, np.int64(-1), bound, last, top)
        came_from = parent


@part
def _fit_leaf(tree, remaining, leaf):
    """Fit box, sets and reach of a leaf to its points; tell whether anything changed."""
    x, codes, start = remaining.x, remaining.coded.codes, remaining.coded.layout.start
    block, at, changed = leaf // FAN, leaf % FAN, False
    for j in range(x.shape[1]):
        low, high = np.inf, -np.inf
        for lane in range(WIDTH):
            value = x[leaf, j, lane]
            low = value if value < low else low
            high = value if value > high else high
        changed |= (low != tree.box[block, 2 * j, at]) | (high != tree.box[block, 2 * j + 1, at])
        tree.box[block, 2 * j, at], tree.box[block, 2 * j + 1, at] = low, high
    for a in range(codes.shape[1]):
        inside = np.int64(0)
        for lane in range(WIDTH):
            if x[leaf, 0, lane] == x[leaf, 0, lane]:
                inside |= np.int64(1) << tree.bit[start[a] + codes[leaf, a, lane]]
        changed |= inside != tree.sets[block, a, at]
        tree.sets[block, a, at] = inside
    reach = -np.inf
    for lane in range(WIDTH):
        if x[leaf, 0, lane] == x[leaf, 0, lane]:
            reach = max(reach, tree.radius[leaf * WIDTH + lane])
    changed |= reach != tree.reach[block, at]
    tree.reach[block, at] = reach
    return changed


@part
def _fit_node(tree, level, node):
    """Fit box, sets and reach of a node to its children; tell whether anything changed."""
    block, at, below, changed = tree.offset[level] + node // FAN, node % FAN, tree.offset[level - 1] + node, False
    for j in range(tree.box.shape[1] // 2):
        low, high = np.inf, -np.inf
        for lane in range(FAN):
            low, high = min(low, tree.box[below, 2 * j, lane]), max(high, tree.box[below, 2 * j + 1, lane])
        changed |= (low != tree.box[block, 2 * j, at]) | (high != tree.box[block, 2 * j + 1, at])
        tree.box[block, 2 * j, at], tree.box[block, 2 * j + 1, at] = low, high
    for a in range(tree.sets.shape[1]):
        inside = np.int64(0)
        for lane in range(FAN):
            inside |= tree.sets[below, a, lane]
        changed |= inside != tree.sets[block, a, at]
        tree.sets[block, a, at] = inside
    reach = -np.inf
    for lane in range(FAN):
        reach = max(reach, tree.reach[below, lane])
    changed |= reach != tree.reach[block, at]
    tree.reach[block, at] = reach
    return changed


@part
def remove(tree, remaining, slot):
    """Erase the point in `slot` and tighten everything that it alone determined."""
    leaf = slot // WIDTH
    for j in range(remaining.x.shape[1]):
        remaining.x[leaf, j, slot % WIDTH] = np.nan
    changed, node, level = _fit_leaf(tree, remaining, leaf), leaf, np.int64(1)
    while changed and level < tree.levels[0]:
        node //= FAN
        changed = _fit_node(tree, level, node)
        level += 1


@part
def rebuild(index, remaining):
    """Close the gaps in leaf order, which keeps neighbours close, and rebuild all boxes and sets."""
    tree = index.tree
    compact(remaining)
    leaves = (remaining.counts[SLOTS] + WIDTH - 1) // WIDTH
    nodes, level = leaves, 0
    while level == 0 or nodes > 1:
        parents = (nodes + FAN - 1) // FAN
        for node in range(parents * FAN):
            block, lane = tree.offset[level] + node // FAN, node % FAN
            lowest = NO_ROW
            if node < nodes and level == 0:
                for slot in range(node * WIDTH, min((node + 1) * WIDTH, remaining.counts[SLOTS])):
                    lowest = min(lowest, first_row(remaining, slot))
            elif node < nodes:
                for child in range(FAN):
                    lowest = min(lowest, tree.least[tree.offset[level - 1] + node, child])
            tree.least[block, lane] = lowest
        nodes = parents
        level += 1
    tree.levels[0] = level
    index.rebuilds[REBUILT] += 1
    aim_at_centroid(remaining, index.search.q, index.search.aim)
    move_anchor(index, remaining)


@part
def move_anchor(index, remaining):
    """Move the anchor to the centroid, which the search starts from, and measure every reach from it."""
    tree, search = index.tree, index.search
    for j in range(search.q.shape[0]):
        tree.anchor[j] = search.q[j]
    for c in range(tree.table.shape[0]):
        tree.table[c] = search.aim.table[c]
    leaves = (remaining.counts[SLOTS] + WIDTH - 1) // WIDTH
    for leaf in range(leaves):
        scan(remaining.x, remaining.coded, leaf, search.q, search.aim, -1.0, np.inf, search.distance)
        for lane in range(WIDTH):
            tree.radius[leaf * WIDTH + lane] = search.distance[lane]
    nodes = leaves
    for level in range(tree.levels[0]):
        parents = (nodes + FAN - 1) // FAN
        for node in range(parents * FAN):
            if node >= nodes:
                _empty(tree, tree.offset[level] + node // FAN, node % FAN)
            elif level == 0:
                _fit_leaf(tree, remaining, node)
            else:
                _fit_node(tree, level, node)
        nodes = parents
    index.rebuilds[MOVED] += 1
    visited = blocks_from_centroid(search.work)
    index.rebuilds[ALLOWED] = visited + _PATIENCE * (leaves + 1)


@part
def _empty(tree, block, lane):
    for j in range(tree.box.shape[1] // 2):
        tree.box[block, 2 * j, lane], tree.box[block, 2 * j + 1, lane] = np.inf, -np.inf
    for a in range(tree.sets.shape[1]):
        tree.sets[block, a, lane] = 0
    tree.reach[block, lane] = -np.inf
