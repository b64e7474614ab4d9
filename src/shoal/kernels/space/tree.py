"""Tree of boxes over the remaining points, eight children to a node, which shrinks as points are removed.

Leaf i is block i of the points. Node i of level 0 is leaf i; node i of level h + 1 covers nodes 8i … 8i + 7 of level
h. The eight children of a node lie side by side in one block of lanes, so a tree needs no pointers: node i of level h
is lane ``i % 8`` of block ``offset[h] + i // 8``.

A node stores its box in the frame, and its *reach*: the largest squared distance of its points from an anchor, in
units of the frame and rounded up.

Bounds are float32, in the frame (:mod:`shoal.kernels.space.principal_axes`); thresholds are widened by the largest
possible rounding error, so that no relevant leaf is skipped. Decisions use float64 distances, in coordinate order.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import part
from shoal.kernels.runtime.lanes import least8, least16, most8, most16, scan_points
from shoal.kernels.space.principal_axes import Frame
from shoal.kernels.space.remaining import SLOTS, WIDTH, Nearest, nearest_few

FAN = 8
NOWHERE = np.float32(2.0**60)  # faces of an empty box; beyond every coordinate in the frame, and its square is finite
_NEVER = np.float32(-np.inf)
_UP = 1.0 + 2.0**-22


class Tree(NamedTuple):
    """Boxes over the blocks of the remaining points."""

    frame: Frame
    y: np.ndarray  # (leaves, coordinates, WIDTH) float32: the points in the frame, NaN where removed
    box: np.ndarray  # (blocks, 2 · coordinates, FAN) float32, lower and upper faces in turn
    reach: np.ndarray  # (blocks, FAN) float32, -inf where a node is empty
    offset: np.ndarray  # (levels,) first block of each level
    anchor: np.ndarray  # (d,)
    levels: np.ndarray  # (1,) levels in use, 0 before `grow`
    distance: np.ndarray  # (WIDTH,) scratch


def plant(frame: Frame, leaves: int) -> Tree:
    """Allocate a tree of `leaves` leaves; `fit`, `grow` and `anchor_at` fill it."""
    p, d = frame.axes.shape
    coordinates = p + (p < d)
    sizes = [-(-leaves // FAN)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FAN))
    return Tree(
        frame,
        np.empty((leaves, coordinates, WIDTH), dtype=np.float32),
        np.empty((sum(sizes), 2 * coordinates, FAN), dtype=np.float32),
        np.empty((sum(sizes), FAN), dtype=np.float32),
        np.cumsum([0, *sizes[:-1]]).astype(np.int64),
        np.zeros(d),
        np.zeros(1, dtype=np.int64),
        np.empty(WIDTH),
    )


@part
def faces(x, box, offset, level, node, j, nowhere):
    """Return the lower and the upper face, in coordinate j, of a leaf of points or of a node around its children."""
    d = x.shape[1]
    if level == 0:
        at = (node * d + j) * WIDTH
        return least16(x, at, nowhere), most16(x, at, -nowhere)
    at = ((offset[level - 1] + node) * d + j) * 2 * FAN
    return least8(box, at, nowhere), most8(box, at + FAN, -nowhere)


@part
def grow(tree, remaining):
    """Rebuild all boxes, for points that may have moved to other slots; `anchor_at` must follow."""
    box, y = tree.box, tree.y
    coordinates = y.shape[1]
    nodes = (remaining.counts[SLOTS] + WIDTH - 1) // WIDTH
    level = 0
    while level == 0 or nodes > 1:
        parents = (nodes + FAN - 1) // FAN
        for node in range(parents * FAN):
            block, lane = tree.offset[level] + node // FAN, node % FAN
            for i in range(coordinates):
                low, high = NOWHERE, -NOWHERE
                if node < nodes:
                    low, high = faces(y, box, tree.offset, level, node, i, NOWHERE)
                box[block, 2 * i, lane] = low
                box[block, 2 * i + 1, lane] = high
        nodes = parents
        level += 1
    tree.levels[0] = level


@part
def _leaf_reach(tree, remaining, leaf):
    scan_points(remaining.x, leaf, tree.anchor, -1.0, np.inf, tree.distance)
    return _rounded_up(tree, most16(tree.distance, 0, -np.inf))


@part
def _rounded_up(tree, distance):
    return np.float32(distance * tree.frame.scale[0] * tree.frame.scale[0] * _UP)


@part
def anchor_at(tree, remaining, point):
    """Put the anchor at `point` and measure every reach from it."""
    for j in range(point.shape[0]):
        tree.anchor[j] = point[j]
    nodes = (remaining.counts[SLOTS] + WIDTH - 1) // WIDTH
    for level in range(tree.levels[0]):
        parents = (nodes + FAN - 1) // FAN
        for node in range(parents * FAN):
            reach = _NEVER
            if node < nodes and level == 0:
                reach = _leaf_reach(tree, remaining, node)
            elif node < nodes:
                reach = most8(tree.reach, (tree.offset[level - 1] + node) * FAN, _NEVER)
            tree.reach[tree.offset[level] + node // FAN, node % FAN] = reach
        nodes = parents


@part
def _tighten_leaf(tree, slot):
    """Erase a point in the frame and tighten the box of its leaf; tell whether anything changed."""
    leaf, lane = slot // WIDTH, slot % WIDTH
    y, box, block, coordinates = tree.y, tree.box, leaf // FAN, tree.y.shape[1]
    changed = False
    for i in range(coordinates):
        value = y[leaf, i, lane]
        y[leaf, i, lane] = np.nan
        at = (leaf * coordinates + i) * WIDTH
        if value == box[block, 2 * i, leaf % FAN]:
            low = least16(y, at, NOWHERE)
            box[block, 2 * i, leaf % FAN] = low
            changed |= low != value
        if value == box[block, 2 * i + 1, leaf % FAN]:
            high = most16(y, at, -NOWHERE)
            box[block, 2 * i + 1, leaf % FAN] = high
            changed |= high != value
    return changed


@part
def _tighten_node(tree, level, node):
    """Tighten the box of a node around its children; tell whether anything changed."""
    box, coordinates = tree.box, tree.y.shape[1]
    block, lane = tree.offset[level] + node // FAN, node % FAN
    changed = False
    for i in range(coordinates):
        low, high = faces(tree.y, box, tree.offset, level, node, i, NOWHERE)
        changed |= (low != box[block, 2 * i, lane]) | (high != box[block, 2 * i + 1, lane])
        box[block, 2 * i, lane] = low
        box[block, 2 * i + 1, lane] = high
    return changed


@part
def _shorten(tree, remaining, leaf):
    """Update the reaches above a leaf that lost its farthest point."""
    reach = _leaf_reach(tree, remaining, leaf)
    node, level = leaf, 0
    while reach != tree.reach[tree.offset[level] + node // FAN, node % FAN]:
        tree.reach[tree.offset[level] + node // FAN, node % FAN] = reach
        if level + 1 == tree.levels[0]:
            break
        node //= FAN
        reach = most8(tree.reach, (tree.offset[level] + node) * FAN, _NEVER)
        level += 1


@part
def remove(tree, remaining, slot):
    """Erase the point in `slot` and tighten every box and reach that it alone determined."""
    leaf, lane, x = slot // WIDTH, slot % WIDTH, remaining.x
    radius = 0.0
    for j in range(tree.anchor.shape[0]):
        t = x[leaf, j, lane] - tree.anchor[j]
        x[leaf, j, lane] = np.nan
        radius += t * t
    if _rounded_up(tree, radius) == tree.reach[leaf // FAN, leaf % FAN]:
        _shorten(tree, remaining, leaf)
    changed = _tighten_leaf(tree, slot)
    node, level = leaf, np.int64(1)
    while changed and level < tree.levels[0]:
        node //= FAN
        changed = _tighten_node(tree, level, node)
        level += 1


EPSILON = 2.0**-24  # of float32

FRAME_LEAVES, BOXES, LEAVES = range(3)  #: `Search.work`: leaves scanned in the frame, boxes, leaves scanned exactly
PER_SEARCH = 3  #: counters of each kind of search
NEAR, FAR_FROM_CENTROID, FAR_FROM_RECORD = 0, PER_SEARCH, 2 * PER_SEARCH  #: where the counters of each kind begin


class Search(NamedTuple):
    """Scratch space of a search, and counters of its work."""

    q: np.ndarray  # (d,) the query point
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
    work: np.ndarray  # (9,) three counters for each kind of search


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
def blocks_near(work):
    """Return how many blocks searches for the nearest visited."""
    return work[NEAR + FRAME_LEAVES] + work[NEAR + BOXES]


@part
def blocks_from_centroid(work):
    """Return how many blocks searches for the farthest from the centroid visited."""
    return work[FAR_FROM_CENTROID + FRAME_LEAVES] + work[FAR_FROM_CENTROID + BOXES]


@part
def blocks_visited(work):
    """Return how many blocks all searches visited."""
    from_record = work[FAR_FROM_RECORD + FRAME_LEAVES] + work[FAR_FROM_RECORD + BOXES]
    return blocks_near(work) + blocks_from_centroid(work) + from_record


@part
def push(search, top, first, bound, level, node, sign):
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
