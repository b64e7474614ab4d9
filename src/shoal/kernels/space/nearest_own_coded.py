"""Distance-based record linkage of records with coded attributes.

As :mod:`shoal.kernels.space.nearest_own`, with a tree whose nodes hold a box of numbers and, for each coded attribute,
a set of categories in 64 bits; with more categories, consecutive ones share a bit.

A masked value may be a group of the taxonomy. If the lowest common group of a record and a category has height h, the
squared distance is w·h/H; a masked group of height g is nearer by w·g/(2H) (:class:`shoal.types.CodedColumn`). A bound
assumes the highest group that was released anywhere in the column, and at most h. Bounds are computed like distances
and in the same order, so no bound is above a distance.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.runtime.lanes import lowest_bit
from shoal.kernels.space.coded_lanes import Aim, CodedLanes, aim_for, coded_lanes, scan_coded
from shoal.kernels.space.coded_order import coded_order
from shoal.kernels.space.kd_order import equal_records, regroup
from shoal.kernels.space.remaining import WIDTH, in_lanes
from shoal.kernels.space.tree import FAN, push
from shoal.types.coded import Coded

_BITS = 64


class Tree(NamedTuple):
    """Masked points in leaves of sixteen, under boxes and sets."""

    x: np.ndarray  # (leaves, p, WIDTH)
    coded: CodedLanes
    counts: np.ndarray  # (slots,) records at each point
    box: np.ndarray  # (blocks, 2p, FAN) lower and upper faces in turn; an empty node is turned inside out
    sets: np.ndarray  # (blocks, a, FAN) int64
    offset: np.ndarray  # (levels,) first block of each level
    nodes: np.ndarray  # (levels,) nodes of each level
    bit: np.ndarray  # by attribute and category: its bit
    lift: np.ndarray  # by attribute and category: the height of a masked group, 0 for a category


class Search(NamedTuple):
    """Scratch space of a search."""

    q: np.ndarray  # (p,) numbers of the query
    aim: Aim  # its distances from categories
    shared: np.ndarray  # (levels,) int64: bits with a category of the query's own group
    floor: np.ndarray  # (levels,) least distance of categories that share a group at this level and none below
    outside: np.ndarray  # (a,) least distance of categories that share no group
    found: np.ndarray  # (WIDTH,) distances to the points of a leaf
    bound: np.ndarray  # (FAN,) distances to boxes
    pending: np.ndarray  # stack: distance, level and number of nodes still to visit
    level: np.ndarray
    node: np.ndarray


def lifts_of(points: Coded) -> np.ndarray:
    """Return the height of each code by attribute: that of a masked group, 0 for a category."""
    found = [np.zeros(0, np.int64)]
    for a in range(points.codes.shape[1]):
        one = points.column(a)
        found.append(((one.high == one.low) * one.times[:, None]).sum(axis=0))
    return np.concatenate(found).astype(np.int64)


def planted(points: Coded, counts: np.ndarray) -> tuple[Tree, np.ndarray]:
    """Lay out points with their counts of records; return the tree, and the slot of each point.

    Points must have at least one number: NaN marks empty slots.
    """
    members, bounds = equal_records(points)
    members, bounds = regroup(members, bounds, coded_order(points[members[bounds[:-1]]]))
    slots = np.empty(len(points), np.int64)
    slots[members] = np.repeat(np.arange(bounds.shape[0] - 1), np.diff(bounds))
    first = members[bounds[:-1]]
    x, g = in_lanes(points.numbers, first), points.layout
    nodes = [x.shape[0]]
    while nodes[-1] > FAN:
        nodes.append(-(-nodes[-1] // FAN))
    blocks = [-(-many // FAN) for many in nodes]
    total = np.zeros(x.shape[0] * WIDTH, np.int64)
    total[: len(first)] = np.bincount(slots, counts).astype(np.int64)
    categories = np.diff(g.start).tolist()
    tree = Tree(
        x,
        coded_lanes(points, first),
        total,
        np.empty((sum(blocks), 2 * x.shape[1], FAN)),
        np.empty((sum(blocks), len(categories), FAN), np.int64),
        np.cumsum([0, *blocks[:-1]]).astype(np.int64),
        np.array(nodes, np.int64),
        np.concatenate([np.arange(c) * min(c, _BITS) // c for c in categories]).astype(np.int64),
        lifts_of(points),
    )
    _fit(tree)
    return tree, slots


def search_space(points: Coded) -> Search:
    """Allocate scratch space, for queries that are not groups."""
    g, lift, depth = points.layout, lifts_of(points), 24 * FAN
    floor, outside = np.empty(len(g.times)), np.empty(len(g.height))
    for a, (weight, height) in enumerate(zip(g.weight.tolist(), g.height.tolist(), strict=True)):
        times, most = g.times[g.level[a] : g.level[a + 1]], int(lift[g.start[a] : g.start[a + 1]].max(initial=0))
        below = np.cumsum(times) - times
        floor[g.level[a] : g.level[a + 1]] = weight * (2 * below - np.minimum(below, most)) / (2.0 * height)
        outside[a] = weight * (2 * height - most) / (2.0 * height)
    return Search(
        np.empty(points.numbers.shape[1]),
        aim_for(points),
        np.empty(len(g.times), np.int64),
        floor,
        outside,
        np.empty(WIDTH),
        np.empty(FAN),
        np.empty(depth),
        np.empty(depth, np.int64),
        np.empty(depth, np.int64),
    )


@kernel
def _fit(tree):
    """Fit boxes and sets, level by level."""
    codes, start = tree.coded.codes, tree.coded.layout.start
    for level in range(tree.nodes.shape[0]):
        for node in range((tree.nodes[level] + FAN - 1) // FAN * FAN):
            block, at = tree.offset[level] + node // FAN, node % FAN
            for j in range(tree.x.shape[1]):
                low, high = np.inf, -np.inf
                if node < tree.nodes[level] and level == 0:
                    for lane in range(WIDTH):
                        value = tree.x[node, j, lane]
                        low = value if value < low else low
                        high = value if value > high else high
                elif node < tree.nodes[level]:
                    below = tree.offset[level - 1] + node
                    for lane in range(FAN):
                        low = min(low, tree.box[below, 2 * j, lane])
                        high = max(high, tree.box[below, 2 * j + 1, lane])
                tree.box[block, 2 * j, at], tree.box[block, 2 * j + 1, at] = low, high
            for a in range(codes.shape[1]):
                inside = np.int64(0)
                if node < tree.nodes[level] and level == 0:
                    for lane in range(WIDTH):
                        if tree.x[node, 0, lane] == tree.x[node, 0, lane]:
                            inside |= np.int64(1) << tree.bit[start[a] + codes[node, a, lane]]
                elif node < tree.nodes[level]:
                    for lane in range(FAN):
                        inside |= tree.sets[tree.offset[level - 1] + node, a, lane]
                tree.sets[block, a, at] = inside


@part
def _aim(tree, search, a, code):
    """Measure attribute a from a category."""
    g, aim = tree.coded.layout, search.aim
    start, top, before = g.start[a], g.level[a + 1] - 1, aim.code[a]
    if before == code:
        return
    begin, end = start, g.start[a + 1]
    if before >= 0:
        begin, end = start + g.low[g.at[top] + before], start + g.high[g.at[top] + before]
    whole = float(2 * g.height[a])
    for c in range(begin, end):
        aim.table[c] = g.weight[a] * float(2 * g.height[a] - tree.lift[c]) / whole
    below = g.height[a]
    for level in range(top, g.level[a] - 1, -1):
        below -= g.times[level]
        low, high = start + g.low[g.at[level] + code], start + g.high[g.at[level] + code]
        for c in range(low, high):
            aim.table[c] = g.weight[a] * float(2 * below - tree.lift[c]) / whole
        search.shared[level] = 0
        for bit in range(tree.bit[low], tree.bit[high - 1] + 1):
            search.shared[level] |= np.int64(1) << bit
    aim.code[a] = code


@part
def _bounds(tree, search, block):
    """Write the least squared distance from the query to anything in eight nodes."""
    g, box, sets, q, bound = tree.coded.layout, tree.box, tree.sets, search.q, search.bound
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
        for lane in range(FAN):
            least = search.outside[~j]
            for level in range(first, end):
                if sets[block, ~j, lane] & search.shared[level]:
                    least = search.floor[level]
                    break
            bound[lane] += least


@part
def _count(tree, search, leaf, own):
    """Count the masked records of a leaf at distance `own`; if the one in slot s is nearer, -1 - s."""
    mask = scan_coded(tree.x, tree.coded, leaf, search.q, search.aim, own, np.inf, search.found)
    ties = np.int64(0)
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if search.found[lane] < own:
            return -1 - (leaf * WIDTH + lane)
        ties += tree.counts[leaf * WIDTH + lane]
    return ties


@part
def _push(tree, search, block, level, first, skip, own, top):
    """Push the children of a node that may hold a point at least as near, the nearest on top."""
    bottom = top
    _bounds(tree, search, block)
    for lane in range(FAN):
        if search.bound[lane] <= own and not (skip >> lane) & 1:
            top = push(search, top, bottom, search.bound[lane], level, first + lane, 1.0)
    return top


@part
def _as_near(tree, search, at):
    """Return how many masked records are as near to the query as that in slot `at`; if that in s is nearer, -1 - s."""
    zero, start = np.int64(0), at // WIDTH
    scan_coded(tree.x, tree.coded, start, search.q, search.aim, np.inf, np.inf, search.found)
    own = search.found[at % WIDTH]
    ties = _count(tree, search, start, own)
    if ties < 0:
        return ties
    came_from = start
    for height in range(tree.nodes.shape[0]):
        parent = came_from // FAN
        block, skip = tree.offset[height] + parent, 1 << (came_from % FAN)
        top = _push(tree, search, block, height, parent * FAN, skip, own, zero)
        while top > 0:
            top -= 1
            level, node = search.level[top], search.node[top]
            if level > 0:
                top = _push(tree, search, tree.offset[level - 1] + node, level - 1, node * FAN, zero, own, top)
                continue
            more = _count(tree, search, node, own)
            if more < 0:
                return more
            ties += more
        came_from = parent
    return ties


@kernel
def link_coded(tree, search, numbers, codes, slots, rows, out):
    """Write for some records how many masked records are as near as their own; if that in slot s is nearer, -1 - s."""
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(numbers.shape[1]):
            search.q[j] = numbers[row, j]
        for a in range(codes.shape[1]):
            _aim(tree, search, a, codes[row, a])
        out[row] = _as_near(tree, search, slots[row])
