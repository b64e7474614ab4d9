"""The record farthest from a point, through a tree of boxes."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math

import numpy as np

from shoal.kernels.frame import TINY, to_frame
from shoal.kernels.jit import part
from shoal.kernels.remaining import NO_ROW, WIDTH, first_row
from shoal.kernels.search import EPSILON, push
from shoal.kernels.simd import lowest_bit, most8, scan_points, scan_reaches
from shoal.kernels.tree import FAN


@part
def _prepare(tree, search):
    """Set up the search for the farthest from q; return the constant term of the bound, and the slack.

    |x - q|² = |x - a|² + w · (x - μ) - w · (a - μ) + |q - a|² with w = -2 (q - a), a the anchor, μ the frame's
    origin. The first term is at most a node's reach. The second is ŵ · y(x) in the frame, plus, of what the axes
    leave out, at most |w⊥| times the length left out of x. A node's box bounds both.

    The slack is ε times the number of operations times the square of all lengths together: rounding is monotonic, so
    that a bound is never below what the same operations would give for a point in the box.
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
        search.near[p] = -search.y[p]  # at worst, what is left out of x and of q points opposite ways
        search.w[p] = math.sqrt(max(4.0 * gap - inside, 0.0)) + 8.0 * EPSILON * math.sqrt(gap)
    reach = float(most8(tree.reach, tree.offset[tree.levels[0] - 1] * FAN, np.float32(0.0)))
    size = math.sqrt(gap) + math.sqrt(reach) + math.sqrt(origin) + length
    slack = (search.y.shape[0] + 16) * 2.0 * EPSILON * size * size + TINY
    return gap - slope, slack


@part
def _far_children(tree, search, block, level, first_child, rest, beyond, top, kind):
    search.work[1 + kind] += 1
    mask = scan_reaches(tree.box, tree.reach, block, search.w, rest, beyond, search.bound)
    first = top
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        top = push(search, top, first, search.bound[lane], level, first_child + lane, np.float32(-1.0))
    return top


@part
def find_farthest(tree, search, remaining, kind):
    """Slot of the record farthest from ``search.q``; of several, the one with the lowest row.

    Guarantee: the record a scan of all would find. Complexity: a few leaves when q is near the anchor; else as many as
    come within the size of their boxes of being farthest.
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
