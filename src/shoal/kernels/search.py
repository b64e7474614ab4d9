"""Nearest and farthest points through a tree of boxes: depth first, the most promising child next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.nearest_few import Nearest, nearest_few, offer
from shoal.kernels.remaining import NO_ROW, WIDTH, first_row
from shoal.kernels.simd import least8, lowest_bit, most8, scan_boxes, scan_points, scan_reaches
from shoal.kernels.tree import FAN, NOWHERE

_EPSILON = 2.0**-52
_ANYWHERE = NOWHERE * NOWHERE / 32.0  # above every squared distance, below that of an empty box


class Search(NamedTuple):
    """Scratch space of a search, and how much it has looked at."""

    q: np.ndarray  # (d,) searched from here
    w: np.ndarray  # (d,) -2 (q - anchor)
    anchor: np.ndarray  # (d,)
    nearest: Nearest
    distance: np.ndarray  # (WIDTH,)
    bound: np.ndarray  # (FAN,)
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
        np.empty(d),
        nearest_few(k - 1),
        np.empty(WIDTH),
        np.empty(FAN),
        np.empty(depth),
        np.empty(depth, dtype=np.int64),
        np.empty(depth, dtype=np.int64),
        np.zeros(6, dtype=np.int64),
    )


@kernel
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


@kernel
def _near_leaf(search, remaining, leaf, size, bound):  # type: ignore[no-untyped-def]
    distance, nearest = search.distance, search.nearest
    search.work[0] += 1
    mask = scan_points(remaining.x, leaf, search.q, bound, np.inf, distance)
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if distance[lane] <= bound:
            size = offer(nearest, size, remaining, leaf * WIDTH + lane, distance[lane])
            if size == nearest.distance.shape[0]:
                bound = nearest.distance[0]
    return size, bound


@kernel
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


@kernel
def find_nearest(tree, search, remaining, start):  # type: ignore[no-untyped-def]
    """Fill the heap with the records nearest to ``search.q``, ordered by (squared distance, row).

    From the leaf `start` upwards: at each level the seven siblings, if they can hold anything nearer.

    Guarantee: with at least as many records in the tree as the heap holds, the heap ends with exactly the records a
    scan of all would leave there. Complexity: O(n^(1 - 1/d)) blocks at worst, a few when the points have structure.
    """
    size, bound = _near_leaf(search, remaining, start, 0, _ANYWHERE)
    came_from = start
    for height in range(tree.levels[0]):
        parent = came_from // FAN
        block = tree.offset[height] + parent
        top = _near_children(tree, search, block, height, parent * FAN, 1 << (came_from % FAN), bound, 0)
        while top > 0:
            top -= 1
            if search.pending[top] > bound:
                continue
            level, node = search.level[top], search.node[top]
            if level == 0:
                size, bound = _near_leaf(search, remaining, node, size, bound)
            else:
                below = tree.offset[level - 1] + node
                top = _near_children(tree, search, below, level - 1, node * FAN, 0, bound, top)
        came_from = parent


@kernel
def _nearest_anchor(tree, q):  # type: ignore[no-untyped-def]
    nearest, least = 0, np.inf
    for a in range(tree.levels[1]):
        length = 0.0
        for j in range(q.shape[0]):
            t = q[j] - tree.anchor[a, j]
            length += t * t
        if length < least:
            nearest, least = a, length
    return nearest, least


@kernel
def _prepare(tree, search, a):  # type: ignore[no-untyped-def]
    """Set w = -2 (q - a); return the slack that covers all rounding.

    |x - q|² = |x - a|² + w · (x - a) + |q - a|², a the anchor. Computed in any order, each side is within
    (d + 3) ε of the sum of the magnitudes of its terms.
    """
    top = tree.offset[tree.levels[0] - 1]
    size = 0.0
    for j in range(search.q.shape[0]):
        search.anchor[j] = tree.anchor[a, j]
        t = search.q[j] - search.anchor[j]
        search.w[j] = -2.0 * t
        low = least8(tree.box, (top * search.q.shape[0] + j) * 2 * FAN, np.inf) - search.anchor[j]
        high = most8(tree.box, (top * search.q.shape[0] + j) * 2 * FAN + FAN, -np.inf) - search.anchor[j]
        size += t * t + abs(search.w[j]) * max(abs(low), abs(high))
    size += most8(tree.reach, (a * tree.reach.shape[1] + top) * FAN, 0.0)
    return (4 * search.q.shape[0] + 32) * _EPSILON * size + 1e-290


@kernel
def _far_children(tree, search, a, block, level, first_child, rest, best, top, kind):  # type: ignore[no-untyped-def]
    search.work[1+kind] += 1
    at = (a * tree.reach.shape[1] + block) * FAN
    mask = scan_reaches(tree.box, block, tree.reach, at, search.w, search.anchor, rest, best, search.bound)
    first = top
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        top = _push(search, top, first, search.bound[lane], level, first_child + lane, -1.0)
    return top


@kernel
def find_farthest(tree, search, remaining, kind, best):  # type: ignore[no-untyped-def]
    """Slot of the record farthest from ``search.q``; of several, the one with the lowest row."""
    distance = search.distance
    a, rest = _nearest_anchor(tree, search.q)
    rest += _prepare(tree, search, a)
    best_row, best_slot = NO_ROW, -1
    level = tree.levels[0] - 1
    top = _far_children(tree, search, a, tree.offset[level], level, 0, rest, best, 0, kind)
    while top > 0:
        top -= 1
        level, node = search.level[top], search.node[top]
        most = search.pending[top]
        if most < best:
            continue
        if most == best and tree.row[tree.offset[level] + node // FAN, node % FAN] > best_row:
            continue
        if level > 0:
            top = _far_children(tree, search, a, tree.offset[level - 1] + node, level - 1, node * FAN, rest, best, top, kind)
            continue
        search.work[kind] += 1
        mask = scan_points(remaining.x, node, search.q, -1.0, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            if distance[lane] >= best:
                row = first_row(remaining, node * WIDTH + lane)
                if distance[lane] > best or row < best_row:
                    best, best_row, best_slot = distance[lane], row, node * WIDTH + lane
    return best_slot, best
