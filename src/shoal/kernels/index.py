"""MDAV through a tree of boxes: each search looks at a few leaves instead of every record."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.kd_order import kd_order
from shoal.kernels.lanes import WIDTH, erase, lay_out, read
from shoal.kernels.remaining import Remaining, centroid, close_class, take
from shoal.kernels.search import Search, find_farthest, find_nearest, search_space
from shoal.kernels.tree import Tree, grow, plant, remove


class Index(NamedTuple):
    """The tree, what a search needs, and scratch for the rounding of sums."""

    tree: Tree
    search: Search
    digits: np.ndarray
    rebuilds: np.ndarray  # (1,)


def spatial_index(points: np.ndarray, remaining: Remaining, k: int) -> Index:
    """Build a tree over all groups that remain."""
    rows = remaining.members[np.minimum(remaining.head, remaining.members.shape[0] - 1)]
    order = np.flatnonzero(remaining.head < remaining.end)
    kd_order(points, rows, order)
    lanes = lay_out(points, order, rows[order], remaining.head.shape[0])
    tree = plant(lanes, order.shape[0])
    digits = np.empty(remaining.limbs.shape[1], dtype=np.int64)
    index = Index(tree, search_space(points.shape[1], k), digits, np.zeros(1, dtype=np.int64))
    centroid(remaining, digits, index.search.q)
    grow(tree, remaining, index.search.q)
    return index


@njit(cache=True, nogil=True)
def _rebuild(index, remaining):  # type: ignore[no-untyped-def]
    """Close the gaps in the order of the leaves, which keeps neighbours together, and grow all boxes anew."""
    tree = index.tree
    lanes = tree.lanes
    to = 0
    for slot in range(tree.used[0]):
        b, lane = slot // WIDTH, slot % WIDTH
        if np.isnan(lanes.x[b, 0, lane]):
            continue
        if to < slot:
            for j in range(lanes.x.shape[1]):
                lanes.x[to // WIDTH, j, to % WIDTH] = lanes.x[b, j, lane]
            lanes.group[to] = lanes.group[slot]
            lanes.slot[lanes.group[to]] = to
        to += 1
    for slot in range(to, (to + WIDTH - 1) // WIDTH * WIDTH):
        erase(lanes, slot)
    tree.used[0] = to
    centroid(remaining, index.digits, index.search.q)
    grow(tree, remaining, index.search.q)
    index.rebuilds[0] += 1


@njit(cache=True, nogil=True)
def _class_around(index, remaining, slot):  # type: ignore[no-untyped-def]
    """Form the class of the record in `slot` and its k - 1 nearest."""
    tree, heap = index.tree, index.search.nearest
    read(tree.lanes, slot, index.search.q)
    if take(remaining, tree.lanes.group[slot]):
        remove(tree, slot)
    find_nearest(tree, index.search, remaining, slot // WIDTH)
    for i in range(heap.distance.shape[0]):
        if take(remaining, tree.lanes.group[heap.slot[i]]):
            remove(tree, heap.slot[i])
    close_class(remaining)


@njit(cache=True, nogil=True)
def index_steps(index, remaining, k, budget):  # type: ignore[no-untyped-def]
    """Form pairs of classes until fewer than 2k records remain or `budget` blocks were looked at."""
    steps = 0
    search = index.search
    stop = search.work[0] + search.work[1] + budget
    while remaining.counts[0] >= 2 * k and search.work[0] + search.work[1] < stop:
        if 2 * remaining.counts[2] < index.tree.used[0]:
            _rebuild(index, remaining)
        steps += 1
        pair = remaining.counts[0] >= 3 * k
        centroid(remaining, index.digits, search.q)
        _class_around(index, remaining, find_farthest(index.tree, search, remaining))
        if not pair:
            break
        _class_around(index, remaining, find_farthest(index.tree, search, remaining))
    return steps
