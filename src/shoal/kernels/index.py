"""MDAV through a tree of boxes: each search looks at a few leaves instead of every record."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.farthest import find_farthest
from shoal.kernels.frame import Frame, fit, frame_coordinates
from shoal.kernels.groups import regroup
from shoal.kernels.jit import kernel, part
from shoal.kernels.kd_order import kd_order
from shoal.kernels.nearest import find_nearest
from shoal.kernels.remaining import WIDTH, Remaining, all_remaining, centroid, compact, read, take
from shoal.kernels.search import Search, search_space
from shoal.kernels.tree import Tree, anchor_at, grow, plant, remove

_PATIENCE = 2  # blocks looked at in excess, per leaf of the tree, before the anchor moves
USUAL = 8  # blocks that a search from the anchor itself looks at


class Index(NamedTuple):
    """The tree and what a search needs."""

    tree: Tree
    search: Search
    rebuilds: np.ndarray  # times boxes were made anew, and the anchor moved; blocks allowed before it moves


def spatial_index(
    points: np.ndarray, members: np.ndarray, bounds: np.ndarray, frame: Frame, k: int, apart: np.ndarray | None = None
) -> tuple[Index, Remaining]:
    """Lay out groups of equal records in kd order, ready for the first step to grow a tree over them.

    `apart` says of every row how far it is to lie from others besides, in units of the widest range of a coordinate: a
    leaf then holds rather records that are alike in it. It changes no distance.
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
    """Close the gaps in the order of the leaves, which keeps neighbours together, and grow all boxes anew."""
    tree, search = index.tree, index.search
    compact(remaining)
    centroid(remaining, tree.anchor)
    fit(tree.frame, remaining, tree.anchor, tree.y, (search.q, search.y))
    grow(tree, remaining)
    index.rebuilds[0] += 1
    centroid(remaining, search.q)
    move_anchor(index, remaining)


@part
def move_anchor(index, remaining):
    """Put the anchor at the centroid, which the search starts from."""
    anchor_at(index.tree, remaining, index.search.q)
    index.rebuilds[1] += 1
    work = index.search.work
    index.rebuilds[2] = work[3] + work[4] + _PATIENCE * (remaining.counts[3] // WIDTH + 1)


@part
def _class_around(index, remaining, slot):
    """Form the class of the record in `slot` and its k - 1 nearest."""
    tree, search = index.tree, index.search
    slots = search.nearest.slot
    read(remaining, slot, search.q)
    if take(remaining, slot):
        remove(tree, remaining, slot)
    find_nearest(tree, search, remaining, slot // WIDTH)
    for i in range(slots.shape[0]):
        if take(remaining, slots[i]):
            remove(tree, remaining, slots[i])
    remaining.counts[1] += 1


@kernel
def index_steps(index, remaining, k, budget):
    """Form pairs of classes until fewer than 2k records remain or `budget` blocks were looked at.

    Returns the number of pairs formed. A single class, formed when 2k to 3k - 1 records remain, counts as a pair.
    """
    tree, search, counts, work = index.tree, index.search, remaining.counts, index.search.work
    steps = 0
    stop = work[0] + work[1] + work[3] + work[4] + work[6] + work[7] + budget
    while counts[0] >= 2 * k and work[0] + work[1] + work[3] + work[4] + work[6] + work[7] < stop:
        if 2 * counts[2] < counts[3] or tree.levels[0] == 0:
            rebuild(index, remaining)
        steps += 1
        centroid(remaining, search.q)
        if work[3] + work[4] > index.rebuilds[2]:
            move_anchor(index, remaining)
        index.rebuilds[2] += USUAL
        for turn in range(1, 3 if counts[0] >= 3 * k else 2):  # r, farthest from c; then s, farthest from r
            _class_around(index, remaining, find_farthest(tree, search, remaining, 3 * turn))
    return steps
