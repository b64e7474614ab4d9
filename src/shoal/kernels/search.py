"""Nearest and farthest points through a tree of boxes: depth first, the most promising child next.

Bounds are float32, in the frame (:mod:`shoal.kernels.frame`); thresholds are widened by all that rounding can do, so
that no leaf that matters is left out. What decides is measured in float64, in coordinate order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.frame import to_frame
from shoal.kernels.jit import part
from shoal.kernels.nearest_few import Nearest, nearest_few, offer
from shoal.kernels.remaining import NO_ROW, WIDTH, first_row
from shoal.kernels.simd import lowest_bit, most8, scan_boxes, scan_points, scan_reaches
from shoal.kernels.tree import FAN

_EPSILON = 2.0**-24  # of float32
_ANYWHERE = 2.0**100  # above every squared distance in the frame, below that of an empty box
_TINY = 1e-36  # above all that underflows in float32


class Search(NamedTuple):
    """Scratch space of a search, and how much it has looked at."""

    q: np.ndarray  # (d,) searched from here
    y: np.ndarray  # the same in the frame
    near: np.ndarray  # the same in float32
    w: np.ndarray  # float32: slopes in the frame
    a: np.ndarray  # the anchor in the frame
    nearest: Nearest
    distance: np.ndarray  # (WIDTH,)
    approximate: np.ndarray  # (WIDTH,) float32
    bound: np.ndarray  # (FAN,) float32
    pending: np.ndarray  # stack: bound of each node still to visit
    level: np.ndarray
    node: np.ndarray
    work: np.ndarray  # blocks of the frame, inner blocks, leaves: near; then far from c; then far from r


def search_space(d: int, coordinates: int, k: int) -> Search:
    """Allocate scratch space for points of `d` coordinates, in a frame, and classes of `k`."""
    depth = 16 * FAN
    return Search(
        np.empty(d),
        np.empty(coordinates),
        np.empty(coordinates, dtype=np.float32),
        np.empty(coordinates, dtype=np.float32),
        np.empty(coordinates),
        nearest_few(k - 1),
        np.empty(WIDTH),
        np.empty(WIDTH, dtype=np.float32),
        np.empty(FAN, dtype=np.float32),
        np.empty(depth, dtype=np.float32),
        np.empty(depth, dtype=np.int64),
        np.empty(depth, dtype=np.int64),
        np.zeros(9, dtype=np.int64),
    )


@part
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


@part
def _within(search, scale, length, bound):  # type: ignore[no-untyped-def]
    """Threshold in the frame that lets pass every point whose squared distance from q is at most `bound`.

    Such a point is no farther than r = s·√bound in the frame, and no farther than `length` + r from its origin, so
    that rounding its coordinates and those of q moves it by at most 2ε(length + r), twice that to be safe. Each of
    the float32 operations then adds a relative ε.
    """
    if bound == np.inf:
        return np.float32(_ANYWHERE)
    r = scale * math.sqrt(bound)
    r += 4.0 * _EPSILON * (length + r)
    return np.float32(r * r * (1.0 + (search.y.shape[0] + 8) * 2.0 * _EPSILON) + _TINY)


@part
def _near_leaf(tree, search, remaining, leaf, size, bound, length, within):  # type: ignore[no-untyped-def]
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
    return size, bound, _within(search, tree.frame.scale[0], length, bound)


@part
def _near_children(tree, search, block, level, first_child, skip, within, top):  # type: ignore[no-untyped-def]
    search.work[1] += 1
    mask = scan_boxes(tree.box, block, search.near, within, search.bound) & ~skip
    first = top
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        top = _push(search, top, first, search.bound[lane], level, first_child + lane, np.float32(1.0))
    return top


@part
def find_nearest(tree, search, remaining, start):  # type: ignore[no-untyped-def]
    """Fill the heap with the records nearest to ``search.q``, ordered by (squared distance, row).

    From the leaf `start` upwards: at each level the seven siblings, if they can hold anything as near.

    Guarantee: with at least as many records in the tree as the heap holds, the heap ends with exactly the records a
    scan of all would leave there. Complexity: O(n^(1 - 1/d)) blocks at worst, a few when the points have structure.
    """
    zero = np.int64(0)  # not a literal, for which parts would be compiled once more
    length = to_frame(tree.frame, search.q, search.y)
    for i in range(search.y.shape[0]):
        search.near[i] = search.y[i]
    within = _within(search, tree.frame.scale[0], length, np.inf)
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


@part
def _prepare(tree, search):  # type: ignore[no-untyped-def]
    """Set up the search for the farthest from q; return the constant term of the bound, and the slack.

    |x - q|² = |x - a|² + w · (x - a) + |q - a|² with w = -2 (q - a), a the anchor. In the frame, w · (x - a) is
    ŵ · (y(x) - y(a)), plus what the axes leave out: at most |w⊥| times the length left out of x, minus
    w⊥ · (a - origin)⊥. The slack is ε times the number of operations times all that is added up.
    """
    frame, p, d = tree.frame, tree.frame.axes.shape[0], search.q.shape[0]
    scale = frame.scale[0]
    length = to_frame(frame, search.q, search.y)
    to_frame(frame, tree.anchor, search.a)
    gap, slope, inside, known, origin = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(d):
        t = (search.q[j] - tree.anchor[j]) * scale
        u = (tree.anchor[j] - frame.origin[j]) * scale
        gap += t * t
        slope -= 2.0 * t * u
        origin += u * u
    for i in range(search.y.shape[0]):
        search.near[i] = search.y[i]
        if i < p:
            w = -2.0 * (search.y[i] - search.a[i])
            search.w[i] = w
            inside += w * w
            known += w * search.a[i]
    left_out = 0.0
    if p < d:
        search.near[p] = -search.y[p]  # the lengths left out add up at worst
        left_out = math.sqrt(max(4.0 * gap - inside, 0.0)) + 4.0 * _EPSILON * math.sqrt(gap)
        search.w[p] = left_out * (1.0 + 2.0 * _EPSILON)
    reach = float(most8(tree.reach, tree.offset[tree.levels[0] - 1] * FAN, np.float32(0.0)))
    size = math.sqrt(gap) + math.sqrt(reach) + math.sqrt(origin) + length
    slack = (search.y.shape[0] + 16) * 2.0 * _EPSILON * size * size
    return gap - slope, slack


@part
def _far_children(tree, search, block, level, first_child, rest, beyond, top, kind):  # type: ignore[no-untyped-def]
    search.work[1 + kind] += 1
    mask = scan_reaches(tree.box, tree.reach, block, search.w, rest, beyond, search.bound)
    first = top
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        top = _push(search, top, first, search.bound[lane], level, first_child + lane, np.float32(-1.0))
    return top


@part
def find_farthest(tree, search, remaining, kind):  # type: ignore[no-untyped-def]
    """Slot of the record farthest from ``search.q``; of several, the one with the lowest row."""
    distance = search.distance
    rest, slack = _prepare(tree, search)
    rest = np.float32(rest)
    unit = tree.frame.scale[0] * tree.frame.scale[0]
    beyond, zero = np.float32(-1.0), np.int64(0)
    best, best_row, best_slot = -1.0, NO_ROW, -1
    level = tree.levels[0] - 1
    top = _far_children(tree, search, tree.offset[level], level, zero, rest, beyond, zero, kind)
    while top > 0:
        top -= 1
        level, node = search.level[top], search.node[top]
        if search.pending[top] < beyond:
            continue
        if level > 0:
            below = tree.offset[level - 1] + node
            top = _far_children(tree, search, below, level - 1, node * FAN, rest, beyond, top, kind)
            continue
        search.work[kind] += 1
        never = np.float32(-1.0)
        if not scan_points(tree.y, node, search.near, never, beyond, search.approximate):
            continue
        search.work[2 + kind] += 1
        mask = scan_points(remaining.x, node, search.q, -1.0, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            row = first_row(remaining, node * WIDTH + lane)
            if distance[lane] > best or (distance[lane] == best and row < best_row):
                best, best_row, best_slot = distance[lane], row, node * WIDTH + lane
                beyond = np.float32(best * unit - slack)
    return best_slot
