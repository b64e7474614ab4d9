"""Nearest and farthest points through a tree of boxes: depth first, the most promising child next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.lanes import WIDTH
from shoal.kernels.nearest_few import Nearest, nearest_few, offer
from shoal.kernels.remaining import NO_ROW, first_row
from shoal.kernels.simd import lowest_bit, scan_boxes, scan_corners, scan_points, scan_slopes
from shoal.kernels.tree import FAN, NOWHERE, levels_in_use

_EPSILON = 2.0**-52
_ANYWHERE = NOWHERE * NOWHERE / 32.0  # above every squared distance, below that of an empty box


class Search(NamedTuple):
    """Scratch space of a search, and how much it has looked at."""

    q: np.ndarray  # (d,) searched from here
    w: np.ndarray  # (d,) -2 (q - anchor)
    nearest: Nearest
    distance: np.ndarray  # (WIDTH,)
    bound: np.ndarray  # (FAN,)
    corner: np.ndarray  # (FAN,)
    pending: np.ndarray  # stack: bound of each node still to visit
    level: np.ndarray
    node: np.ndarray
    work: np.ndarray  # leaves and inner blocks looked at


def search_space(d: int, k: int) -> Search:
    """Allocate scratch space for points of `d` coordinates and classes of `k`."""
    depth = 30 * FAN
    return Search(
        np.empty(d),
        np.empty(d),
        nearest_few(k - 1),
        np.empty(WIDTH),
        np.empty(FAN),
        np.empty(FAN),
        np.empty(depth),
        np.empty(depth, dtype=np.int64),
        np.empty(depth, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def _push(search, top, first, bound, level, node, sign):  # type: ignore[no-untyped-def]
    """Insert a node among those pushed since `first`, the most promising (least ``sign · bound``) on top."""
    i = top
    while i > first and sign * search.pending[i - 1] < sign * bound:
        search.pending[i] = search.pending[i - 1]
        search.level[i] = search.level[i - 1]
        search.node[i] = search.node[i - 1]
        i -= 1
    search.pending[i] = bound
    search.level[i] = level
    search.node[i] = node
    return top + 1


@njit(cache=True, nogil=True)
def _near_leaf(tree, search, remaining, leaf, size, bound):  # type: ignore[no-untyped-def]
    lanes, distance, heap = tree.lanes, search.distance, search.nearest
    search.work[0] += 1
    mask = scan_points(lanes.x, leaf, search.q, bound, np.inf, distance)
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if distance[lane] <= bound:
            slot = leaf * WIDTH + lane
            size = offer(heap, size, remaining, lanes.group[slot], distance[lane], slot)
            if size == heap.distance.shape[0]:
                bound = heap.distance[0]
    return size, bound


@njit(cache=True, nogil=True)
def _near_children(tree, search, block, level, first_child, skip, bound, top):  # type: ignore[no-untyped-def]
    search.work[1] += 1
    mask = scan_boxes(tree.box, block, search.q, bound, search.bound) & ~skip
    first = top
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        least = search.bound[lane]
        if least == bound and tree.row[block, lane] > search.nearest.row[0]:
            continue
        top = _push(search, top, first, least, level, first_child + lane, 1.0)
    return top


@njit(cache=True, nogil=True)
def find_nearest(tree, search, remaining, start):  # type: ignore[no-untyped-def]
    """Fill the heap with the records nearest to ``search.q``, ordered by (squared distance, row).

    From the leaf `start` upwards: at each level the seven siblings, if they can hold anything nearer.

    Guarantee: with at least as many records in the tree as the heap holds, the heap ends with exactly the records a
    scan of all would leave there. Complexity: O(n^(1 - 1/d)) blocks at worst, a few when the points have structure.
    """
    size, bound = _near_leaf(tree, search, remaining, start, 0, _ANYWHERE)
    came_from = start
    for height in range(levels_in_use(tree)):
        parent = came_from // FAN
        block = tree.offset[height] + parent
        top = _near_children(tree, search, block, height, parent * FAN, 1 << (came_from % FAN), bound, 0)
        while top > 0:
            top -= 1
            if search.pending[top] > bound:
                continue
            level, node = search.level[top], search.node[top]
            if level == 0:
                size, bound = _near_leaf(tree, search, remaining, node, size, bound)
            else:
                below = tree.offset[level - 1] + node
                top = _near_children(tree, search, below, level - 1, node * FAN, 0, bound, top)
        came_from = parent


@njit(cache=True, nogil=True)
def _prepare(tree, search):  # type: ignore[no-untyped-def]
    """Set w = -2 (q - a); return |q - a|² and the slack that covers all rounding.

    |x - q|² = |x - a|² + w · (x - a) + |q - a|², a the anchor. Computed in any order, each side is within
    (d + 3) ε of the sum of the magnitudes of its terms.
    """
    top = tree.offset[levels_in_use(tree) - 1]
    length, size = 0.0, 0.0
    for j in range(search.q.shape[0]):
        t = search.q[j] - tree.anchor[j]
        length += t * t
        search.w[j] = -2.0 * t
        low, high = np.inf, -np.inf
        for i in range(FAN):
            low, high = min(low, tree.box[top, 2 * j, i]), max(high, tree.box[top, 2 * j + 1, i])
        size += abs(search.w[j]) * max(abs(low - tree.anchor[j]), abs(high - tree.anchor[j]))
    reach = 0.0
    for i in range(FAN):
        reach = max(reach, tree.reach[top, i])
    return length, (4 * search.q.shape[0] + 32) * _EPSILON * (size + length + reach) + 1e-290



@njit(cache=True, nogil=True)
def _far_children(tree, search, block, level, first_child, rest, best, top):  # type: ignore[no-untyped-def]
    search.work[1] += 1
    scan_slopes(tree.box, block, search.w, tree.anchor, search.bound)
    scan_corners(tree.box, block, search.q, search.corner)
    first = top
    for lane in range(FAN):
        most = min(search.bound[lane] + (tree.reach[block, lane] + rest), search.corner[lane])
        if most >= best:
            top = _push(search, top, first, most, level, first_child + lane, -1.0)
    return top


@njit(cache=True, nogil=True)
def find_farthest(tree, search, remaining):  # type: ignore[no-untyped-def]
    """Slot of the record farthest from ``search.q``; of several, the one with the lowest row."""
    lanes, distance = tree.lanes, search.distance
    length, slack = _prepare(tree, search)
    rest = length + slack
    best, best_row, best_slot = -1.0, NO_ROW, -1
    level = levels_in_use(tree) - 1
    top = _far_children(tree, search, tree.offset[level], level, 0, rest, best, 0)
    while top > 0:
        top -= 1
        level, node = search.level[top], search.node[top]
        most = search.pending[top]
        if most < best:
            continue
        if most == best and tree.row[tree.offset[level] + node // FAN, node % FAN] > best_row:
            continue
        if level > 0:
            top = _far_children(tree, search, tree.offset[level - 1] + node, level - 1, node * FAN, rest, best, top)
            continue
        search.work[0] += 1
        mask = scan_points(lanes.x, node, search.q, -1.0, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            if distance[lane] >= best:
                row = first_row(remaining, lanes.group[node * WIDTH + lane])
                if distance[lane] > best or row < best_row:
                    best, best_row, best_slot = distance[lane], row, node * WIDTH + lane
    return best_slot
