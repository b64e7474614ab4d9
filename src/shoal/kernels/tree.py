"""A tree of boxes over the remaining points, eight children to a node, that shrinks as points go.

Leaf i is block i of the points. Node i of level 0 is leaf i; node i of level h + 1 covers nodes 8i … 8i + 7 of level
h. The eight children of a node lie side by side in one block of lanes, so a tree needs no pointers: node i of level h
is lane ``i % 8`` of block ``offset[h] + i // 8``.

A node knows its box, its *reach* (the largest squared distance of its points from an anchor), and the lowest row
in it (or one lower: rows are not brought up to date when a point goes, which only makes ties prune less).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.remaining import NO_ROW, WIDTH, Remaining, first_row
from shoal.kernels.simd import least8, least16, lowest_bit, most8, most16, scan_points

FAN = 8
import os
ANCHORS = int(os.environ.get('M','8'))
NOWHERE = 2.0**510  # faces of an empty box; beyond every coordinate, and its square is finite


class Tree(NamedTuple):
    """Boxes over the blocks of the remaining points."""

    box: np.ndarray  # (blocks, 2 · d, FAN) lower and upper faces in turn
    reach: np.ndarray  # (ANCHORS, blocks, FAN) -inf where a node is empty
    row: np.ndarray  # (blocks, FAN)
    offset: np.ndarray  # (levels,) first block of each level
    anchor: np.ndarray  # (ANCHORS, d)
    levels: np.ndarray  # (2,) levels and anchors in use


def plant(remaining: Remaining) -> Tree:
    """Make room for a tree over the remaining points; `grow` fills it."""
    leaves, d, _ = remaining.x.shape
    sizes = [-(-leaves // FAN)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FAN))
    blocks = sum(sizes)
    return Tree(
        np.empty((blocks, 2 * d, FAN)),
        np.full((ANCHORS, blocks, FAN), -np.inf),
        np.empty((blocks, FAN), dtype=np.int64),
        np.cumsum([0, *sizes[:-1]]).astype(np.int64),
        np.zeros((ANCHORS, d)),
        np.array([len(sizes), 1], dtype=np.int64),
    )


@kernel
def _clear(tree, block, lane):  # type: ignore[no-untyped-def]
    for j in range(tree.anchor.shape[1]):
        tree.box[block, 2 * j, lane] = NOWHERE
        tree.box[block, 2 * j + 1, lane] = -NOWHERE
    tree.row[block, lane] = NO_ROW


@kernel
def _grow_leaf(tree, remaining, leaf, block, lane):  # type: ignore[no-untyped-def]
    d = tree.anchor.shape[1]
    for j in range(d):
        at = (leaf * d + j) * WIDTH
        tree.box[block, 2 * j, lane] = least16(remaining.x, at, NOWHERE)
        tree.box[block, 2 * j + 1, lane] = most16(remaining.x, at, -NOWHERE)
    row = NO_ROW
    for slot in range(leaf * WIDTH, min((leaf + 1) * WIDTH, remaining.counts[3])):
        row = min(row, first_row(remaining, slot))
    tree.row[block, lane] = row


@kernel
def _grow_node(tree, block, lane, children):  # type: ignore[no-untyped-def]
    d = tree.anchor.shape[1]
    for j in range(d):
        at = (children * d + j) * 2 * FAN
        tree.box[block, 2 * j, lane] = least8(tree.box, at, NOWHERE)
        tree.box[block, 2 * j + 1, lane] = most8(tree.box, at + FAN, -NOWHERE)
    row = NO_ROW
    for i in range(FAN):
        row = min(row, tree.row[children, i])
    tree.row[block, lane] = row


@kernel
def grow(tree, remaining):  # type: ignore[no-untyped-def]
    """Make all boxes anew, for points that may have moved to other slots; `anchor_at` must follow."""
    nodes = (remaining.counts[3] + WIDTH - 1) // WIDTH
    level = 0
    while True:
        for node in range(nodes):
            block, lane = tree.offset[level] + node // FAN, node % FAN
            if level == 0:
                _grow_leaf(tree, remaining, node, block, lane)
            else:
                _grow_node(tree, block, lane, tree.offset[level - 1] + node)
        parents = (nodes + FAN - 1) // FAN
        for node in range(nodes, parents * FAN):
            _clear(tree, tree.offset[level] + node // FAN, node % FAN)
        nodes = parents
        level += 1
        if nodes == 1:
            break
    tree.levels[0] = level


@kernel
def anchor_at(tree, remaining, a, point, scratch):  # type: ignore[no-untyped-def]
    """Put anchor `a` at `point` and measure every reach from it."""
    for j in range(point.shape[0]):
        tree.anchor[a, j] = point[j]
    nodes = (remaining.counts[3] + WIDTH - 1) // WIDTH
    for leaf in range(nodes):
        scan_points(remaining.x, leaf, point, -1.0, np.inf, scratch)
        tree.reach[a, leaf // FAN, leaf % FAN] = most16(scratch, 0, -np.inf)
    for level in range(tree.levels[0]):
        parents = (nodes + FAN - 1) // FAN
        for node in range(nodes, parents * FAN):
            tree.reach[a, tree.offset[level] + node // FAN, node % FAN] = -np.inf
        nodes = parents
        if level + 1 < tree.levels[0]:
            for node in range(nodes):
                at = (a * tree.reach.shape[1] + tree.offset[level] + node) * FAN
                block = tree.offset[level + 1] + node // FAN
                tree.reach[a, block, node % FAN] = most8(tree.reach, at, -np.inf)


@kernel
def _shrink_leaf(tree, remaining, slot):  # type: ignore[no-untyped-def]
    """Erase a point and tighten the box of its leaf; tell whether anything changed."""
    leaf, gone = slot // WIDTH, slot % WIDTH
    block, lane = leaf // FAN, leaf % FAN
    x, box, d = remaining.x, tree.box, tree.anchor.shape[1]
    changed = False
    for j in range(d):
        value = x[leaf, j, gone]
        x[leaf, j, gone] = np.nan
        if value == box[block, 2 * j, lane]:
            low = least16(x, (leaf * d + j) * WIDTH, NOWHERE)
            box[block, 2 * j, lane] = low
            changed |= low != value
        if value == box[block, 2 * j + 1, lane]:
            high = most16(x, (leaf * d + j) * WIDTH, -NOWHERE)
            box[block, 2 * j + 1, lane] = high
            changed |= high != value
    return changed


@kernel
def _shrink_node(tree, block, lane, children):  # type: ignore[no-untyped-def]
    """Tighten the box of a node around its children; tell whether anything changed."""
    box, d = tree.box, tree.anchor.shape[1]
    changed = False
    for j in range(d):
        at = (children * d + j) * 2 * FAN
        low = least8(box, at, NOWHERE)
        high = most8(box, at + FAN, -NOWHERE)
        changed |= (low != box[block, 2 * j, lane]) | (high != box[block, 2 * j + 1, lane])
        box[block, 2 * j, lane] = low
        box[block, 2 * j + 1, lane] = high
    return changed


@kernel
def _shorten(tree, remaining, a, leaf, scratch):  # type: ignore[no-untyped-def]
    """Bring the reaches from anchor `a` up to date above a leaf that lost its farthest point."""
    scan_points(remaining.x, leaf, tree.anchor[a], -1.0, np.inf, scratch)
    reach = most16(scratch, 0, -np.inf)
    node, level = leaf, 0
    while reach != tree.reach[a, tree.offset[level] + node // FAN, node % FAN]:
        tree.reach[a, tree.offset[level] + node // FAN, node % FAN] = reach
        if level + 1 == tree.levels[0]:
            break
        node //= FAN
        reach = most8(tree.reach, (a * tree.reach.shape[1] + tree.offset[level] + node) * FAN, -np.inf)
        level += 1


@kernel
def remove(tree, remaining, slot, scratch):  # type: ignore[no-untyped-def]
    """Erase the point in `slot` and tighten every box and reach that it alone held open."""
    leaf, lane, d = slot // WIDTH, slot % WIDTH, tree.anchor.shape[1]
    outermost = 0
    for a in range(tree.levels[1]):
        radius = 0.0
        for j in range(d):
            t = remaining.x[leaf, j, lane] - tree.anchor[a, j]
            radius += t * t
        if radius == tree.reach[a, leaf // FAN, leaf % FAN]:
            outermost |= 1 << a
    changed = _shrink_leaf(tree, remaining, slot)
    while outermost:
        _shorten(tree, remaining, lowest_bit(outermost), leaf, scratch)
        outermost &= outermost - 1
    node, level = leaf, 1
    while changed and level < tree.levels[0]:
        children = tree.offset[level - 1] + node // FAN
        node //= FAN
        changed = _shrink_node(tree, tree.offset[level] + node // FAN, node % FAN, children)
        level += 1
