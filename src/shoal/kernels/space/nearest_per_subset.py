"""Nearest record of every subset, and the second nearest of one of them, in one search for a whole class.

Subsets are numbered from 0 in ascending order of the values; there are as many as a class has records, `size`. For the
search through a tree, every node stores the subsets it still holds, as bits; where there are more subsets than bits,
neighbouring subsets share one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import part
from shoal.kernels.runtime.lanes import lowest_bit, scan_boxes, scan_points
from shoal.kernels.space import coded_index
from shoal.kernels.space.coded_index import CodedTree
from shoal.kernels.space.kd_order import equal_records
from shoal.kernels.space.principal_axes import to_frame
from shoal.kernels.space.remaining import CLASSES, NO_ROW, SLOTS, WIDTH, Remaining, scan, take
from shoal.kernels.space.spatial_index import within_frame
from shoal.kernels.space.tree import BOXES, FAN, FRAME_LEAVES, LEAVES, NEAR, Tree, push
from shoal.types.coded import Coded


class Each(NamedTuple):
    """Nearest record of each subset so far; the last entry is the second nearest of the subset `twice`."""

    distance: np.ndarray  # (size + 1,)
    row: np.ndarray
    slot: np.ndarray
    twice: np.ndarray  # (1,) -1 if none
    bound: np.ndarray  # (bits,) the largest distance among the subsets of a bit
    within: np.ndarray  # (bits,) float32, the same as a threshold in the frame


def nearest_each(size: int, bits: int) -> Each:
    """Allocate room for the nearest of `size` subsets, which share `bits` bits."""
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
    """Reset; `twice` is the subset that provides two records, or -1. Return how many records are sought."""
    size = each.distance.shape[0] - 1
    for i in range(size + 1):
        each.distance[i], each.row[i], each.slot[i] = np.inf, NO_ROW, -1
    each.twice[0] = twice
    return size + 1 if twice >= 0 else size


@part
def _put(each, i, distance, row, slot):
    """Put a record at i if it precedes the one there; tell whether it does."""
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
    """Return the largest distance kept for the subsets `first` … `last` - 1, beyond which nothing matters to them."""
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
    """Return the largest threshold: a box beyond it matters to no subset."""
    widest = each.within[0]
    for bit in range(1, each.within.shape[0]):
        widest = max(widest, each.within[bit])
    return widest


@part
def _matters(each, mask, bound):
    """Tell whether a box at distance `bound`, with the subsets of `mask`, may hold a nearer record of one of them."""
    while mask:
        if bound <= each.within[lowest_bit(mask)]:
            return True
        mask &= mask - 1
    return False


@part
def _leaf(tree, search, remaining, subsets, each, leaf, length):
    """Scan the records of a leaf; tell whether any was kept."""
    search.work[NEAR + FRAME_LEAVES] += 1
    within, bound = np.float32(-1.0), -1.0
    mask = subsets.holds[leaf // FAN, leaf % FAN]
    while mask:
        bit = lowest_bit(mask)
        mask &= mask - 1
        within, bound = max(within, each.within[bit]), max(bound, each.bound[bit])
    if not scan_points(tree.y, leaf, search.near, within, np.float32(np.inf), search.approximate):
        return False
    search.work[NEAR + LEAVES] += 1
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
    search.work[NEAR + BOXES] += 1
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
    """Find for every subset the record nearest to ``search.q``, by (squared distance, row); for one, the nearest two.

    The search goes from the leaf `start` upwards: at each level it visits the seven siblings that hold a subset and may
    hold a record of it as near as the one found.

    Guarantee: with enough records in every subset, the result equals that of a full scan. Complexity: that of the
    search for the nearest few, where records of all subsets are mixed. If a subset is far from q, all leaves on the
    side of it that faces q may hold the nearest, to within the size of their boxes: O(n^(1 - 1/d)) of them.
    """
    zero = np.int64(0)  # not a literal, which would compile the parts a second time
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


@part
def _matters_to_codes(each, mask, bound):
    """Tell whether a node at distance `bound`, with the subsets of `mask`, may hold a nearer record of one of them."""
    while mask:
        if bound <= each.bound[lowest_bit(mask)]:
            return True
        mask &= mask - 1
    return False


@part
def _coded_leaf(search, remaining, subsets, each, leaf):
    """Scan the records of a leaf; narrow the bounds of the subsets whose nearest it holds."""
    search.work[NEAR + FRAME_LEAVES] += 1
    search.work[NEAR + LEAVES] += 1
    bound, mask = -1.0, subsets.holds[leaf // FAN, leaf % FAN]
    while mask:
        bound = max(bound, each.bound[lowest_bit(mask)])
        mask &= mask - 1
    mask = scan(remaining.x, remaining.coded, leaf, search.q, search.aim, bound, np.inf, search.distance)
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        slot = leaf * WIDTH + lane
        i = np.int64(subsets.of_slot[slot])
        if offer_each(each, remaining, slot, i, search.distance[lane]):
            bit = subsets.bit[i]
            each.bound[bit] = farthest_kept(each, subsets.begin[bit], subsets.begin[bit + 1])


@part
def _coded_children(tree, search, g, subsets, each, block, level, first_child, skip, top):
    search.work[NEAR + BOXES] += 1
    coded_index.near_bounds(tree, search, g, block)
    bottom = top
    for lane in range(FAN):
        if lane != skip and _matters_to_codes(each, subsets.holds[block, lane], search.bound[lane]):
            here, lowest = search.bound[lane], tree.least[block, lane]
            top = coded_index.push_node(search, top, bottom, here, lowest, level, first_child + lane)
    return top


@part
def coded_nearest_each(tree, search, remaining, subsets, each, start):
    """As `find_nearest_each`, through an index of records with coded attributes."""
    g, zero = remaining.coded.layout, np.int64(0)
    for bit in range(each.bound.shape[0]):
        each.bound[bit] = np.inf
    _coded_leaf(search, remaining, subsets, each, start)
    came_from = start
    for height in range(tree.levels[0]):
        parent = came_from // FAN
        block, skip = tree.offset[height] + parent, came_from % FAN
        top = _coded_children(tree, search, g, subsets, each, block, height, parent * FAN, skip, zero)
        while top > 0:
            top -= 1
            level, node = search.level[top], search.node[top]
            holds = subsets.holds[tree.offset[level] + node // FAN, node % FAN]
            if not _matters_to_codes(each, holds, search.pending[top]):
                continue
            if level == 0:
                _coded_leaf(search, remaining, subsets, each, node)
            else:
                below = tree.offset[level - 1] + node
                top = _coded_children(tree, search, g, subsets, each, below, level - 1, node * FAN, np.int64(-1), top)
        came_from = parent


_BITS = 62


class Subsets(NamedTuple):
    """Subset of each record, and the records left in each subset."""

    of_member: np.ndarray  # (n,) int32, in the order of the remaining members
    of_slot: np.ndarray  # (slots,) int32
    left: np.ndarray  # (size,) int64 records
    classes: int  # total
    centre: np.ndarray  # (2,) int64 the central subsets, the same one twice if there is only one
    bit: np.ndarray  # (size,) int64
    begin: np.ndarray  # (bits + 1,) int64 the first subset of each bit
    holds: np.ndarray  # (blocks, FAN) int64 bits of the subsets that a node of the tree holds; empty without a tree


def class_size(n: int, k: int, t: float) -> int:
    """Return the minimum class size: [SC15] eq. (3), then eq. (4) with the floor.

    Guarantee: at least k; fewer than n // size records are left over if all n // size classes have that size. t is used
    exactly as written in decimals, without rounding.

    >>> class_size(1080, 2, 0.01), class_size(1080, 2, 0.25), class_size(7, 2, 0)
    (49, 2, 7)
    """
    size = max(k, math.ceil(n / (2 * (n - 1) * Fraction(str(float(t))) + 1)))
    return size + (n % size) // (n // size)


def central(size: int) -> tuple[int, int]:
    """Return the central subsets, which take the leftover records; the same one twice if there is only one."""
    return (size - 1) // 2, size // 2


def subset_of_rows(values: np.ndarray, size: int) -> np.ndarray:
    """Return the subset of each record, by its rank in the order of (value, row).

    >>> subset_of_rows(np.array([5, 1, 4, 1, 3]), 2)
    array([1, 0, 1, 0, 0])
    """
    n = values.shape[0]
    sizes = np.full(size, n // size)
    low, high = central(size)
    sizes[low] += (n % size + 1) // 2
    sizes[high] += (n % size) // 2
    found = np.empty(n, np.int64)
    found[np.argsort(values, kind="stable")] = np.repeat(np.arange(size), sizes)
    return found


def equal_in_subset(points: np.ndarray | Coded, subset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group records that are equal and in the same subset, as `equal_records` does."""
    if isinstance(points, Coded):
        return equal_records(points.beside(subset[:, None].astype(np.float64)))
    return equal_records(np.column_stack((points, subset.astype(np.float64))))


def subsets_of(subset: np.ndarray, size: int, remaining: Remaining, tree: Tree | CodedTree | None = None) -> Subsets:
    """Lay out the subsets of all remaining records; `mark` or `name_slots` must follow."""
    bits = min(size, _BITS)
    bit = np.arange(size) * bits // size
    inside = subset[remaining.members]
    return Subsets(
        inside.astype(np.int32),
        np.zeros(remaining.head.shape[0], dtype=np.int32),
        np.bincount(inside[remaining.label < 0], minlength=size),
        inside.shape[0] // size,
        np.array(central(size)),
        bit,
        np.searchsorted(bit, np.arange(bits + 1)),
        np.zeros((0 if tree is None else tree.reach.shape[0], FAN), dtype=np.int64),
    )


@part
def name_slots(subsets, remaining):
    """Write the subset of every slot in use; none of them may be empty."""
    for slot in range(remaining.counts[SLOTS]):
        subsets.of_slot[slot] = subsets.of_member[remaining.head[slot]]


@part
def mark(subsets, remaining, tree):
    """Write which subsets each node of a newly grown tree holds."""
    name_slots(subsets, remaining)
    holds = subsets.holds
    used = remaining.counts[SLOTS]
    nodes = (used + WIDTH - 1) // WIDTH
    for level in range(tree.levels[0]):
        parents = (nodes + FAN - 1) // FAN
        for node in range(parents * FAN):
            found = np.int64(0)
            if node < nodes and level == 0:
                for slot in range(node * WIDTH, min((node + 1) * WIDTH, used)):
                    found |= np.int64(1) << subsets.bit[subsets.of_slot[slot]]
            elif node < nodes:
                for lane in range(FAN):
                    found |= holds[tree.offset[level - 1] + node, lane]
            holds[tree.offset[level] + node // FAN, node % FAN] = found
        nodes = parents


@part
def unmark(subsets, remaining, tree, slot):
    """Remove the subset of a newly emptied slot from every node that no longer holds it."""
    holds, bit = subsets.holds, subsets.bit
    gone = bit[subsets.of_slot[slot]]
    node, level = slot // WIDTH, 0
    for other in range(node * WIDTH, min((node + 1) * WIDTH, remaining.counts[SLOTS])):
        if remaining.head[other] < remaining.end[other] and bit[subsets.of_slot[other]] == gone:
            return
    mask = np.int64(1) << gone
    while True:
        block = tree.offset[level] + node // FAN
        holds[block, node % FAN] &= ~mask
        level += 1
        if level == tree.levels[0]:
            return
        for lane in range(FAN):
            if holds[block, lane] & mask:
                return
        node //= FAN


@part
def classes_left(subsets, remaining):
    """Return how many classes are still to be formed."""
    return subsets.classes - remaining.counts[CLASSES]


@part
def taken_twice(subsets, remaining):
    """Return the subset that gives a second record to the class being formed, or -1.

    [SC15] Alg. 3 asks for |S_i| > |S_1|, which fails where S_1 is itself central; here the condition is that the subset
    has more records left than there are classes to form. Of two central subsets the lower one comes first.
    """
    after = classes_left(subsets, remaining) - 1
    for i in range(2):
        if subsets.left[subsets.centre[i]] - 1 > after:
            return subsets.centre[i]
    return np.int64(-1)


@part
def take_of_subset(subsets, remaining, slot):
    """Move the first record at `slot` into the class being formed; tell whether it was the last at that slot."""
    subsets.left[subsets.of_slot[slot]] -= 1
    return take(remaining, slot)
