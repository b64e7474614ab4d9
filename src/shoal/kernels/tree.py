"""A tree of boxes over points in lanes, eight children to a node, that shrinks as points go.

Leaf i is block i of the lanes. Node i of level 0 is leaf i; node i of level h + 1 covers nodes 8i … 8i + 7 of level
h. The eight children of a node lie side by side in one block of lanes, so a tree needs no pointers: node i of level h
is lane ``i % 8`` of block ``offset[h] + i // 8``.

A node knows its box, its *reach* (the largest squared distance of its points from an anchor), and the lowest row
in it (or one lower: rows are not brought up to date when a point goes, which only makes ties prune less).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.lanes import WIDTH, Lanes
from shoal.kernels.remaining import NO_ROW, first_row

FAN = 8
NOWHERE = 2.0**510  # faces of an empty box; beyond every coordinate, and its square is finite


class Tree(NamedTuple):
    """Boxes over the blocks of `lanes`."""

    lanes: Lanes
    box: np.ndarray  # (blocks, 2 · d, FAN) lower and upper faces in turn
    reach: np.ndarray  # (blocks, FAN) -inf where a node is empty
    row: np.ndarray  # (blocks, FAN)
    offset: np.ndarray  # (levels,) first block of each level
    anchor: np.ndarray  # (d,)
    radius: np.ndarray  # (slots,) squared distance of each point from the anchor
    used: np.ndarray  # (1,) slots in use when the boxes were made


def plant(lanes: Lanes, used: int) -> Tree:
    """Make room for a tree over the first `used` slots; `grow` fills it."""
    sizes = []
    nodes = lanes.x.shape[0]
    while not sizes or nodes > 1:
        nodes = -(-nodes // FAN)
        sizes.append(nodes)
    offset = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
    blocks, d = sum(sizes), lanes.x.shape[1]
    return Tree(
        lanes,
        np.empty((blocks, 2 * d, FAN)),
        np.empty((blocks, FAN)),
        np.empty((blocks, FAN), dtype=np.int64),
        offset,
        np.zeros(d),
        np.empty(lanes.group.shape[0]),
        np.array([used], dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def levels_in_use(tree):  # type: ignore[no-untyped-def]
    """Levels up to the first that is a single block."""
    nodes = (tree.used[0] + WIDTH - 1) // WIDTH
    levels = 1
    while nodes > FAN:
        nodes = (nodes + FAN - 1) // FAN
        levels += 1
    return levels


@njit(cache=True, nogil=True)
def _clear(tree, block, lane):  # type: ignore[no-untyped-def]
    for j in range(tree.anchor.shape[0]):
        tree.box[block, 2 * j, lane] = NOWHERE
        tree.box[block, 2 * j + 1, lane] = -NOWHERE
    tree.reach[block, lane] = -np.inf
    tree.row[block, lane] = NO_ROW


@njit(cache=True, nogil=True)
def _include(tree, block, lane, j, low, high):  # type: ignore[no-untyped-def]
    if low < tree.box[block, 2 * j, lane]:
        tree.box[block, 2 * j, lane] = low
    if high > tree.box[block, 2 * j + 1, lane]:
        tree.box[block, 2 * j + 1, lane] = high


@njit(cache=True, nogil=True)
def _grow_leaf(tree, remaining, leaf):  # type: ignore[no-untyped-def]
    block, lane = leaf // FAN, leaf % FAN
    _clear(tree, block, lane)
    x = tree.lanes.x
    for i in range(WIDTH):
        slot = leaf * WIDTH + i
        if slot >= tree.used[0] or np.isnan(x[leaf, 0, i]):
            continue
        radius = 0.0
        for j in range(x.shape[1]):
            _include(tree, block, lane, j, x[leaf, j, i], x[leaf, j, i])
            t = x[leaf, j, i] - tree.anchor[j]
            radius += t * t
        tree.radius[slot] = radius
        tree.reach[block, lane] = max(tree.reach[block, lane], radius)
        tree.row[block, lane] = min(tree.row[block, lane], first_row(remaining, tree.lanes.group[slot]))


@njit(cache=True, nogil=True)
def _grow_node(tree, level, node):  # type: ignore[no-untyped-def]
    """Make a node of level ≥ 1 from its children."""
    block, lane, children = tree.offset[level] + node // FAN, node % FAN, tree.offset[level - 1] + node
    _clear(tree, block, lane)
    for i in range(FAN):
        for j in range(tree.anchor.shape[0]):
            _include(tree, block, lane, j, tree.box[children, 2 * j, i], tree.box[children, 2 * j + 1, i])
        tree.reach[block, lane] = max(tree.reach[block, lane], tree.reach[children, i])
        tree.row[block, lane] = min(tree.row[block, lane], tree.row[children, i])


@njit(cache=True, nogil=True)
def grow(tree, remaining, anchor):  # type: ignore[no-untyped-def]
    """Make all boxes anew, for points that may have moved to other slots, around a new anchor."""
    for j in range(anchor.shape[0]):
        tree.anchor[j] = anchor[j]
    nodes = (tree.used[0] + WIDTH - 1) // WIDTH
    for leaf in range(nodes):
        _grow_leaf(tree, remaining, leaf)
    for level in range(levels_in_use(tree)):
        if level > 0:
            for node in range(nodes):
                _grow_node(tree, level, node)
        padded = (nodes + FAN - 1) // FAN
        for node in range(nodes, padded * FAN):
            _clear(tree, tree.offset[level] + node // FAN, node % FAN)
        nodes = padded


@njit(cache=True, nogil=True)
def _shrink_leaf(tree, slot):  # type: ignore[no-untyped-def]
    """Tighten the leaf of a point about to go; tell whether anything changed."""
    leaf, gone = slot // WIDTH, slot % WIDTH
    block, lane = leaf // FAN, leaf % FAN
    x = tree.lanes.x
    changed = False
    for j in range(x.shape[1]):
        value = x[leaf, j, gone]
        x[leaf, j, gone] = np.nan
        if value == tree.box[block, 2 * j, lane]:
            low = NOWHERE
            for i in range(WIDTH):
                if x[leaf, j, i] < low:
                    low = x[leaf, j, i]
            tree.box[block, 2 * j, lane] = low
            changed |= low != value
        if value == tree.box[block, 2 * j + 1, lane]:
            high = -NOWHERE
            for i in range(WIDTH):
                if x[leaf, j, i] > high:
                    high = x[leaf, j, i]
            tree.box[block, 2 * j + 1, lane] = high
            changed |= high != value
    if tree.radius[slot] == tree.reach[block, lane]:
        reach = -np.inf
        for i in range(WIDTH):
            if x[leaf, 0, i] == x[leaf, 0, i]:
                reach = max(reach, tree.radius[leaf * WIDTH + i])
        changed |= reach != tree.reach[block, lane]
        tree.reach[block, lane] = reach
    return changed


@njit(cache=True, nogil=True)
def _shrink_node(tree, block, lane, children):  # type: ignore[no-untyped-def]
    """Tighten a node around its children; tell whether anything changed."""
    changed = False
    for j in range(tree.anchor.shape[0]):
        low, high = NOWHERE, -NOWHERE
        for i in range(FAN):
            low = min(low, tree.box[children, 2 * j, i])
            high = max(high, tree.box[children, 2 * j + 1, i])
        changed |= low != tree.box[block, 2 * j, lane]
        changed |= high != tree.box[block, 2 * j + 1, lane]
        tree.box[block, 2 * j, lane] = low
        tree.box[block, 2 * j + 1, lane] = high
    reach = -np.inf
    for i in range(FAN):
        reach = max(reach, tree.reach[children, i])
    changed |= reach != tree.reach[block, lane]
    tree.reach[block, lane] = reach
    return changed


@njit(cache=True, nogil=True)
def remove(tree, slot):  # type: ignore[no-untyped-def]
    """Erase the point in `slot` and tighten every box that it alone held open."""
    if not _shrink_leaf(tree, slot):
        return
    node = slot // WIDTH
    for level in range(1, levels_in_use(tree)):
        node //= FAN
        block, lane, children = tree.offset[level] + node // FAN, node % FAN, tree.offset[level - 1] + node
        if not _shrink_node(tree, block, lane, children):
            return
