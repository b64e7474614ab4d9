"""MDAV steps through the spatial index: each search visits a few leaves instead of every record."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.space.remaining import CLASSES, POINTS, REMAINING, SLOTS, WIDTH, centroid, read, take
from shoal.kernels.space.spatial_index import ALLOWED, USUAL, find_farthest, find_nearest, move_anchor, rebuild
from shoal.kernels.space.tree import PER_SEARCH, blocks_from_centroid, blocks_visited, remove


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
    remaining.counts[CLASSES] += 1


@kernel
def index_steps(index, remaining, k, budget):
    """Form pairs of classes until fewer than 2k records remain or `budget` blocks were visited.

    Returns the number of pairs formed. A single class, formed when 2k to 3k - 1 records remain, counts as a pair.
    """
    tree, search, counts, work = index.tree, index.search, remaining.counts, index.search.work
    steps = 0
    stop = blocks_visited(work) + budget
    while counts[REMAINING] >= 2 * k and blocks_visited(work) < stop:
        half_empty = 2 * counts[POINTS] < counts[SLOTS]
        if half_empty or tree.levels[0] == 0:
            rebuild(index, remaining)
        steps += 1
        centroid(remaining, search.q)
        if blocks_from_centroid(work) > index.rebuilds[ALLOWED]:
            move_anchor(index, remaining)
        index.rebuilds[ALLOWED] += USUAL
        for turn in range(1, 3 if counts[REMAINING] >= 3 * k else 2):  # r, farthest from c; then s, farthest from r
            _class_around(index, remaining, find_farthest(tree, search, remaining, PER_SEARCH * turn))
    return steps
