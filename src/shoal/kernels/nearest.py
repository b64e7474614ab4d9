"""The records nearest to a point, through a tree of boxes."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math

import numpy as np

from shoal.kernels.frame import TINY, to_frame
from shoal.kernels.jit import part
from shoal.kernels.nearest_few import offer
from shoal.kernels.remaining import WIDTH
from shoal.kernels.search import EPSILON, push
from shoal.kernels.simd import lowest_bit, scan_boxes, scan_points
from shoal.kernels.tree import FAN

_ANYWHERE = 2.0**100  # above every squared distance in the frame, below that of an empty box


@part
def within_frame(search, scale, length, bound):
    """Threshold in the frame that lets pass every point whose squared distance from q is at most `bound`.

    Such a point is no farther than r = s·√bound in the frame, and no farther than `length` + r from its origin, so
    that rounding its coordinates and those of q moves it by at most 2ε(length + r), twice that to be safe. Each of
    the float32 operations then adds a relative ε.
    """
    if bound == np.inf:
        return np.float32(_ANYWHERE)
    r = scale * math.sqrt(bound)
    r += 4.0 * EPSILON * (length + r)
    return np.float32(r * r * (1.0 + (search.y.shape[0] + 8) * 2.0 * EPSILON) + TINY)


@part
def _near_leaf(tree, search, remaining, leaf, size, bound, length, within):
    distance, nearest = search.distance, search.nearest
    search.work[0] += 1
    if not scan_points(tree.y, leaf, search.near, within, np.float32(np.inf), search.approximate):
        return size, bound, within
    search.work[2] += 1
    mask = scan_points(remaining.x, leaf, search.q, bound, np.inf, distance)
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if distance[lane] <= bound:
            size = offer(nearest, size, remaining, leaf * WIDTH + lane, distance[lane])
            if size == nearest.distance.shape[0]:
                bound = nearest.distance[0]
    return size, bound, within_frame(search, tree.frame.scale[0], length, bound)


@part
def _near_children(tree, search, block, level, first_child, skip, within, top):
    search.work[1] += 1
    mask = scan_boxes(tree.box, block, search.near, within, search.bound) & ~skip
    first = top
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        top = push(search, top, first, search.bound[lane], level, first_child + lane, np.float32(1.0))
    return top


@part
def find_nearest(tree, search, remaining, start):
    """Fill the heap with the records nearest to ``search.q``, ordered by (squared distance, row).

    From the leaf `start` upwards: at each level the seven siblings, if they can hold anything as near.

    Guarantee: with at least as many records in the tree as the heap holds, the heap ends with exactly the records a
    scan of all would leave there. Complexity: O(n^(1 - 1/d)) blocks at worst, a few when the points have structure.
    """
    zero = np.int64(0)  # not a literal, for which parts would be compiled once more
    length = to_frame(tree.frame, search.q, search.y)
    for i in range(search.y.shape[0]):
        search.near[i] = search.y[i]
    within = within_frame(search, tree.frame.scale[0], length, np.inf)
    size, bound, within = _near_leaf(tree, search, remaining, start, zero, np.inf, length, within)
    came_from = start
    for height in range(tree.levels[0]):
        parent = came_from // FAN
        block = tree.offset[height] + parent
        top = _near_children(tree, search, block, height, parent * FAN, 1 << (came_from % FAN), within, zero)
        while top > 0:
            top -= 1
            if search.pending[top] > within:
                continue
            level, node = search.level[top], search.node[top]
            if level == 0:
                size, bound, within = _near_leaf(tree, search, remaining, node, size, bound, length, within)
            else:
                below = tree.offset[level - 1] + node
                top = _near_children(tree, search, below, level - 1, node * FAN, zero, within, top)
        came_from = parent
