"""Spatial index: farthest and nearest remaining records, through a tree of boxes."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import part
from shoal.kernels.runtime.lanes import lowest_bit, most8, scan_boxes, scan_points, scan_reaches
from shoal.kernels.space.kd_order import kd_order, regroup
from shoal.kernels.space.principal_axes import TINY, Frame, fit, frame_coordinates, to_frame
from shoal.kernels.space.remaining import (
    NO_ROW,
    SLOTS,
    WIDTH,
    Remaining,
    all_remaining,
    centroid,
    compact,
    first_row,
    offer,
)
from shoal.kernels.space.tree import (
    BOXES,
    EPSILON,
    FAN,
    FRAME_LEAVES,
    LEAVES,
    NEAR,
    Search,
    Tree,
    anchor_at,
    blocks_from_centroid,
    grow,
    plant,
    push,
    search_space,
)


@part
def _prepare(tree, search):
    """Set up the search for the farthest from q; return the constant term of the bound, and the slack.

    |x - q|² = |x - a|² + w · (x - μ) - w · (a - μ) + |q - a|² with w = -2 (q - a), a the anchor, μ the frame's
    origin. The first term is at most a node's reach. The second is ŵ · y(x) in the frame plus, for the part outside the
    axes, at most |w⊥| times the length of that part of x. A node's box bounds both.

    The slack is ε times the number of operations times the square of the sum of all lengths: rounding is monotonic, so
    a bound is never below the result of the same operations for a point in the box.
    """
    frame, p, d = tree.frame, tree.frame.axes.shape[0], search.q.shape[0]
    scale = frame.scale[0]
    length = to_frame(frame, search.q, search.y)
    to_frame(frame, tree.anchor, search.a)
    gap, slope, inside, origin = 0.0, 0.0, 0.0, 0.0
    for j in range(d):
        t = (search.q[j] - tree.anchor[j]) * scale
        u = (tree.anchor[j] - frame.origin[j]) * scale
        gap += t * t
        slope -= 2.0 * t * u
        origin += u * u
    for i in range(p):
        search.near[i] = search.y[i]
        w = -2.0 * (search.y[i] - search.a[i])
        search.w[i] = w
        inside += w * w
    if p < d:
        search.near[p] = -search.y[p]  # at worst, the left-out parts of x and of q point in opposite directions
        search.w[p] = math.sqrt(max(4.0 * gap - inside, 0.0)) + 8.0 * EPSILON * math.sqrt(gap)
    reach = float(most8(tree.reach, tree.offset[tree.levels[0] - 1] * FAN, np.float32(0.0)))
    size = math.sqrt(gap) + math.sqrt(reach) + math.sqrt(origin) + length
    slack = (search.y.shape[0] + 16) * 2.0 * EPSILON * size * size + TINY
    return gap - slope, slack


@part
def _far_children(tree, search, block, level, first_child, rest, beyond, top, kind):
    search.work[kind + BOXES] += 1
    mask = scan_reaches(tree.box, tree.reach, block, search.w, rest, beyond, search.bound)
    first = top
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        top = push(search, top, first, search.bound[lane], level, first_child + lane, np.float32(-1.0))
    return top


@part
def find_farthest(tree, search, remaining, kind):
    """Return the slot of the record farthest from ``search.q``, ties to the lowest row.

    Guarantee: the record that a full scan would find. Complexity: a few leaves when q is near the anchor; otherwise as
    many as may hold the farthest to within the size of their boxes.
    """
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
        search.work[kind + FRAME_LEAVES] += 1
        never = np.float32(-1.0)
        if not scan_points(tree.y, node, search.near, never, beyond, search.approximate):
            continue
        search.work[kind + LEAVES] += 1
        mask = scan_points(remaining.x, node, search.q, -1.0, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            row = first_row(remaining, node * WIDTH + lane)
            if distance[lane] > best or (distance[lane] == best and row < best_row):
                best, best_row, best_slot = distance[lane], row, node * WIDTH + lane
                beyond = np.float32(best * unit - slack)
    return best_slot


_ANYWHERE = 2.0**100  # above every squared distance in the frame, below that of an empty box


@part
def within_frame(search, scale, length, bound):
    """Return a threshold in the frame that admits every point whose squared distance from q is at most `bound`.

    Such a point is no farther than r = s·√bound in the frame, and no farther than `length` + r from its origin.
    Rounding its coordinates and those of q therefore moves it by at most 2ε(length + r), doubled to be safe. Each of
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
    search.work[NEAR + FRAME_LEAVES] += 1
    if not scan_points(tree.y, leaf, search.near, within, np.float32(np.inf), search.approximate):
        return size, bound, within
    search.work[NEAR + LEAVES] += 1
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
    search.work[NEAR + BOXES] += 1
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

    The search goes from the leaf `start` upwards: at each level it visits the seven siblings that may hold a record as
    near.

    Guarantee: with at least as many records in the tree as the heap holds, the heap ends with exactly the records that
    a full scan would leave there. Complexity: O(n^(1 - 1/d)) blocks at worst, a few when the points have structure.
    """
    zero = np.int64(0)  # not a literal, which would compile the parts a second time
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


REBUILT, MOVED, ALLOWED = range(3)  #: `Index.rebuilds`
_PATIENCE = 2  # excess blocks visited, per leaf of the tree, before the anchor moves
USUAL = 8  # blocks visited by a search from the anchor itself


class Index(NamedTuple):
    """Tree and scratch space of a search."""

    tree: Tree
    search: Search
    rebuilds: np.ndarray  # times boxes were rebuilt, and the anchor moved; blocks allowed before it moves


def spatial_index(
    points: np.ndarray, members: np.ndarray, bounds: np.ndarray, frame: Frame, k: int, apart: np.ndarray | None = None
) -> tuple[Index, Remaining]:
    """Lay out groups of equal records in kd order, ready for the first step to grow a tree over them.

    `apart` gives every row one more coordinate for the layout, in units of the widest range of a coordinate, so that a
    leaf tends to hold records with similar values of it. It changes no distance.
    """
    first = members[bounds[:-1]]
    y = frame_coordinates(frame, points, first)
    order = kd_order(y if apart is None else _beside(y, apart[first]))
    members, bounds = regroup(members, bounds, order)
    remaining = all_remaining(points, members, bounds)
    search = search_space(points.shape[1], y.shape[1], k)
    return Index(plant(frame, remaining.x.shape[0]), search, np.array([-1, 0, 0])), remaining


def _beside(y: np.ndarray, apart: np.ndarray) -> np.ndarray:
    return np.column_stack((y, apart * np.ptp(y, axis=0).max())).astype(np.float32)


@part
def rebuild(index, remaining):
    """Close the gaps in leaf order, which keeps neighbours close, and rebuild all boxes."""
    tree, search = index.tree, index.search
    compact(remaining)
    centroid(remaining, tree.anchor)
    fit(tree.frame, remaining, tree.anchor, tree.y, (search.q, search.y))
    grow(tree, remaining)
    index.rebuilds[REBUILT] += 1
    centroid(remaining, search.q)
    move_anchor(index, remaining)


@part
def move_anchor(index, remaining):
    """Move the anchor to the centroid, which the search starts from."""
    anchor_at(index.tree, remaining, index.search.q)
    index.rebuilds[MOVED] += 1
    visited = blocks_from_centroid(index.search.work)
    index.rebuilds[ALLOWED] = visited + _PATIENCE * (remaining.counts[SLOTS] // WIDTH + 1)
