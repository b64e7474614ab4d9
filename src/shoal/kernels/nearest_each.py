"""The nearest record of every subset, and the second nearest of one of them: one search for a whole class."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.frame import to_frame
from shoal.kernels.jit import part
from shoal.kernels.nearest import within_frame
from shoal.kernels.remaining import NO_ROW, WIDTH
from shoal.kernels.search import push
from shoal.kernels.simd import lowest_bit, scan_boxes, scan_points
from shoal.kernels.tree import FAN


class Each(NamedTuple):
    """The nearest record of each subset met so far; the last entry is the second nearest of the subset `twice`."""

    distance: np.ndarray  # (size + 1,)
    row: np.ndarray
    slot: np.ndarray
    twice: np.ndarray  # (1,) -1 if none
    bound: np.ndarray  # (bits,) the largest distance among the subsets of a bit
    within: np.ndarray  # (bits,) float32, the same as a threshold in the frame


def nearest_each(size: int, bits: int) -> Each:
    """Make room for the nearest of `size` subsets, which share so many bits."""
    return Each(
        np.empty(size + 1),
        np.empty(size + 1, dtype=np.int64),
        np.empty(size + 1, dtype=np.int64),
        np.empty(1, dtype=np.int64),
        np.empty(bits),
        np.empty(bits, dtype=np.float32),
    )


@part
def start_each(each, twice):
    """Forget what was met; `twice` is the subset that gives two records, or -1. Return how many are sought."""
    size = each.distance.shape[0] - 1
    for i in range(size + 1):
        each.distance[i], each.row[i], each.slot[i] = np.inf, NO_ROW, -1
    each.twice[0] = twice
    return size + 1 if twice >= 0 else size


@part
def _put(each, i, distance, row, slot):
    """Put a record at i if it comes before the one there; tell whether it does."""
    if distance < each.distance[i] or (distance == each.distance[i] and row < each.row[i]):
        each.distance[i], each.row[i], each.slot[i] = distance, row, slot
        return True
    return False


@part
def offer_each(each, remaining, slot, i, distance):
    """Offer the records at a slot of subset i; tell whether any was kept."""
    last = each.distance.shape[0] - 1
    row = np.int64(remaining.members[remaining.head[slot]])
    if i != each.twice[0]:
        return _put(each, i, distance, row, slot)
    before, before_row, before_slot = each.distance[i], each.row[i], each.slot[i]
    if _put(each, i, distance, row, slot):
        each.distance[last], each.row[last], each.slot[last] = before, before_row, before_slot
        kept = True
    else:
        kept = _put(each, last, distance, row, slot)
    if kept and remaining.head[slot] + 1 < remaining.end[slot]:
        _put(each, last, distance, np.int64(remaining.members[remaining.head[slot] + 1]), slot)
    return kept


@part
def farthest_kept(each, first, last):
    """Return the largest distance kept for the subsets `first` … `last` - 1: nothing farther matters to them."""
    bound = 0.0
    for i in range(first, last):
        bound = max(bound, each.distance[i])
    if first <= each.twice[0] < last:
        bound = max(bound, each.distance[each.distance.shape[0] - 1])
    return bound


@part
def _narrow(tree, search, subsets, each, bit, length):
    bound = farthest_kept(each, subsets.begin[bit], subsets.begin[bit + 1])
    if bound < each.bound[bit]:
        each.bound[bit] = bound
        each.within[bit] = within_frame(search, tree.frame.scale[0], length, bound)


@part
def _widest(each):
    """Return the largest threshold: no box beyond it matters to any subset."""
    widest = each.within[0]
    for bit in range(1, each.within.shape[0]):
        widest = max(widest, each.within[bit])
    return widest


@part
def _matters(each, mask, bound):
    """Tell whether a box so far away, which holds these subsets, may hold a nearer record of one of them."""
    while mask:
        if bound <= each.within[lowest_bit(mask)]:
            return True
        mask &= mask - 1
    return False


@part
def _leaf(tree, search, remaining, subsets, each, leaf, length):
    """Look at the records of a leaf; tell whether any was kept."""
    search.work[0] += 1
    within, bound = np.float32(-1.0), -1.0
    mask = subsets.holds[leaf // FAN, leaf % FAN]
    while mask:
        bit = lowest_bit(mask)
        mask &= mask - 1
        within, bound = max(within, each.within[bit]), max(bound, each.bound[bit])
    if not scan_points(tree.y, leaf, search.near, within, np.float32(np.inf), search.approximate):
        return False
    search.work[2] += 1
    mask = scan_points(remaining.x, leaf, search.q, bound, np.inf, search.distance)
    found = False
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        slot = leaf * WIDTH + lane
        i = np.int64(subsets.of_slot[slot])
        if offer_each(each, remaining, slot, i, search.distance[lane]):
            _narrow(tree, search, subsets, each, subsets.bit[i], length)
            found = True
    return found


@part
def _children(tree, search, subsets, each, block, level, first_child, skip, widest, top):
    search.work[1] += 1
    mask = scan_boxes(tree.box, block, search.near, widest, search.bound) & ~skip
    first = top
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if _matters(each, subsets.holds[block, lane], search.bound[lane]):
            top = push(search, top, first, search.bound[lane], level, first_child + lane, np.float32(1.0))
    return top


@part
def find_nearest_each(tree, search, remaining, subsets, each, start):
    """Find for every subset the record nearest to ``search.q``, by (squared distance, row); of one the nearest two.

    From the leaf `start` upwards: at each level the seven siblings, if they hold a subset and may hold anything of it
    as near as what was found.

    Guarantee: with enough records in every subset, those that a scan of all would find. Complexity: as the search for
    the nearest few, where records of all subsets are mixed. Where a subset is far from q, all leaves on the side of it
    that faces q come within the size of their boxes of holding the nearest: O(n^(1 - 1/d)) of them.
    """
    zero = np.int64(0)  # not a literal, for which parts would be compiled once more
    length = to_frame(tree.frame, search.q, search.y)
    for i in range(search.y.shape[0]):
        search.near[i] = search.y[i]
    anywhere = within_frame(search, tree.frame.scale[0], length, np.inf)
    for bit in range(each.bound.shape[0]):
        each.bound[bit], each.within[bit] = np.inf, anywhere
    widest = anywhere
    if _leaf(tree, search, remaining, subsets, each, start, length):
        widest = _widest(each)
    came_from = start
    for height in range(tree.levels[0]):
        parent = came_from // FAN
        block, skip = tree.offset[height] + parent, 1 << (came_from % FAN)
        top = _children(tree, search, subsets, each, block, height, parent * FAN, skip, widest, zero)
        while top > 0:
            top -= 1
            level, node = search.level[top], search.node[top]
            if not _matters(each, subsets.holds[tree.offset[level] + node // FAN, node % FAN], search.pending[top]):
                continue
            if level > 0:
                below = tree.offset[level - 1] + node
                top = _children(tree, search, subsets, each, below, level - 1, node * FAN, zero, widest, top)
            elif _leaf(tree, search, remaining, subsets, each, node, length):
                widest = _widest(each)
        came_from = parent
