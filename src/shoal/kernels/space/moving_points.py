"""Exact nearest-point search among numbered points that are removed or moved one by one, through a tree of boxes.

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
from shoal.kernels.space.kd_order import kd_order
from shoal.kernels.space.remaining import WIDTH, in_lanes
from shoal.kernels.space.tree import FAN, faces

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
