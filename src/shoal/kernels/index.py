"""MDAV through a tree of boxes: each search looks at a few leaves instead of every record."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.remaining import WIDTH, Remaining, centroid, compact, read, take
from shoal.kernels.search import Search, find_farthest, find_nearest, search_space
from shoal.kernels.tree import Tree, anchor_at, grow, plant, remove

import os
TUNE2=int(os.environ.get('TUNE2','2'))
TUNE=int(os.environ.get('TUNE','2'))

class Index(NamedTuple):
    """The tree and what a search needs."""

    tree: Tree
    search: Search
    rebuilds: np.ndarray  # boxes made anew; anchors moved


def spatial_index(remaining: Remaining, k: int) -> Index:
    """Build a tree over all points that remain."""
    search = search_space(remaining.x.shape[1], k)
    index = Index(plant(remaining), search, np.zeros(4, dtype=np.int64))
    _rebuild(index, remaining)
    index.rebuilds[:] = 0
    return index


@kernel
def _rebuild(index, remaining):  # type: ignore[no-untyped-def]
    """Close the gaps in the order of the leaves, which keeps neighbours together, and grow all boxes anew."""
    compact(remaining)
    grow(index.tree, remaining)
    centroid(remaining, index.search.q)
    anchor_at(index.tree, remaining, 0, index.search.q, index.search.distance)
    index.tree.levels[1] = 1
    index.rebuilds[0] += 1


@kernel
def _class_around(index, remaining, slot):  # type: ignore[no-untyped-def]
    """Form the class of the record in `slot` and its k - 1 nearest."""
    tree, search = index.tree, index.search
    slots = search.nearest.slot
    read(remaining, slot, search.q)
    if take(remaining, slot):
        remove(tree, remaining, slot, search.distance)
    find_nearest(tree, search, remaining, slot // WIDTH)
    for i in range(slots.shape[0]):
        if take(remaining, slots[i]):
            remove(tree, remaining, slots[i], search.distance)
    remaining.counts[1] += 1


@kernel
def index_steps(index, remaining, k, budget):  # type: ignore[no-untyped-def]
    """Form pairs of classes until fewer than 2k records remain or `budget` blocks were looked at."""
    steps = 0
    tree, search, counts = index.tree, index.search, remaining.counts
    work = search.work
    base = work[2] + work[3]
    excess = counts[3] * TUNE // 16
    credit = work[4] + work[5] + counts[3] * TUNE2 // 16
    stop = work.sum() + budget
    while counts[0] >= 2 * k and work.sum() < stop:
        if 2 * counts[2] < counts[3]:
            _rebuild(index, remaining)
        steps += 1
        pair = counts[0] >= 3 * k
        centroid(remaining, search.q)
        now = work[2] + work[3]
        if now - base > excess:
            anchor_at(tree, remaining, 0, search.q, search.distance)
            index.rebuilds[1] += 1
            base = now
            excess = counts[3] * TUNE // 16
        excess += 8
        _class_around(index, remaining, find_farthest(tree, search, remaining, 2, find_farthest(tree, search, remaining, 0,-1.0)[1])[0])
        if not pair:
            break
        credit += 16
        if work[4] + work[5] > credit and tree.anchor.shape[0]>1:
            a = tree.levels[1]
            if a < tree.anchor.shape[0]:
                tree.levels[1] += 1
            else:
                a = 1 + index.rebuilds[2] % (tree.anchor.shape[0] - 1)
            index.rebuilds[2] += 1
            anchor_at(tree, remaining, a, search.q, search.distance)
            credit = work[4] + work[5] + counts[3] * TUNE2 // 16
        _class_around(index, remaining, find_farthest(tree, search, remaining, 4, find_farthest(tree, search, remaining, 0,-1.0)[1])[0])
    return steps
