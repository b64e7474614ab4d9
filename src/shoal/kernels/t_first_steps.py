"""Steps of t-closeness first: pairs of classes through a tree of boxes, or by looking at every record that remains."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.brute import look
from shoal.kernels.farthest import find_farthest
from shoal.kernels.index import USUAL, move_anchor, rebuild
from shoal.kernels.jit import kernel, part
from shoal.kernels.nearest_each import farthest_kept, find_nearest_each, offer_each, start_each
from shoal.kernels.remaining import NO_ROW, WIDTH, centroid, compact, erase, first_row, read
from shoal.kernels.simd import lowest_bit, scan_points
from shoal.kernels.subsets import classes_left, mark, name_slots, take_of_subset, taken_twice, unmark
from shoal.kernels.tree import remove


@part
def _class_through_index(index, remaining, subsets, each, slot):
    """Form the class of the records that are nearest to the one in `slot`, one of every subset."""
    tree, search = index.tree, index.search
    read(remaining, slot, search.q)
    sought = start_each(each, taken_twice(subsets, remaining))
    find_nearest_each(tree, search, remaining, subsets, each, slot // WIDTH)
    for i in range(sought):
        if take_of_subset(subsets, remaining, each.slot[i]):
            remove(tree, remaining, each.slot[i])
            unmark(subsets, remaining, tree, each.slot[i])
    remaining.counts[1] += 1


@kernel
def subset_steps(index, remaining, subsets, each, budget):
    """Form pairs of classes until one is left to be formed or `budget` blocks were looked at; return how many pairs."""
    tree, search, counts, work = index.tree, index.search, remaining.counts, index.search.work
    steps = 0
    stop = work[0] + work[1] + work[3] + work[4] + work[6] + work[7] + budget
    while classes_left(subsets, remaining) > 1 and work[0] + work[1] + work[3] + work[4] + work[6] + work[7] < stop:
        if 2 * counts[2] < counts[3] or tree.levels[0] == 0:
            rebuild(index, remaining)
            mark(subsets, remaining, tree)
        steps += 1
        centroid(remaining, search.q)
        if work[3] + work[4] > index.rebuilds[2]:
            move_anchor(index, remaining)
        index.rebuilds[2] += USUAL
        for turn in range(1, 3 if classes_left(subsets, remaining) > 2 else 2):  # x₀, then x₁
            slot = find_farthest(tree, search, remaining, 3 * turn)
            _class_through_index(index, remaining, subsets, each, slot)
    return steps


@part
def _blocks(remaining):
    return (remaining.counts[3] + WIDTH - 1) // WIDTH


@part
def _look_each(space, remaining, subsets, each, best):
    """Pass over all records: keep the nearest to q of every subset, find the farthest if it beats `best`.

    Slots stand in the order of their subsets, so that a block holds one of them, seldom more. Returns the slot of the
    farthest record, of several the one with the lowest row.
    """
    x, q, distance, of_slot = remaining.x, space.q, space.distance, subsets.of_slot
    best_row, best_slot, used = NO_ROW, -1, remaining.counts[3]
    for b in range(_blocks(remaining)):
        last = min(b * WIDTH + WIDTH, used) - 1
        bound = farthest_kept(each, np.int64(of_slot[b * WIDTH]), np.int64(of_slot[last]) + 1)
        mask = scan_points(x, b, q, bound, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            slot = b * WIDTH + lane
            offer_each(each, remaining, slot, np.int64(of_slot[slot]), distance[lane])
            if distance[lane] >= best:
                row = first_row(remaining, slot)
                if distance[lane] > best or row < best_row:
                    best, best_row, best_slot = distance[lane], row, slot
    return best_slot, best_row


@part
def _class_by_brute_force(space, remaining, subsets, each, slot, best):
    """Form the class of the records that are nearest to the one in `slot`, one of every subset.

    Returns the slot of the record farthest from it, or -1 where that must be searched anew: it went into the class.
    """
    read(remaining, slot, space.q)
    sought = start_each(each, taken_twice(subsets, remaining))
    far, far_row = _look_each(space, remaining, subsets, each, best)
    for i in range(sought):
        if each.row[i] == far_row:
            far = -1
        if take_of_subset(subsets, remaining, each.slot[i]):
            erase(remaining, each.slot[i])
    remaining.counts[1] += 1
    return far


@kernel
def brute_subset_steps(space, remaining, subsets, each, budget):
    """Form pairs of classes until one is left to be formed or `budget` coordinates were read.

    Returns the number of pairs formed and of points looked at.
    """
    steps, scanned, nobody = 0, 0, np.int64(0)
    counts, d = remaining.counts, space.q.shape[0]
    name_slots(subsets, remaining)
    while classes_left(subsets, remaining) > 1 and scanned * d < budget:
        if counts[3] - counts[2] > counts[3] // 8:
            compact(remaining)
            name_slots(subsets, remaining)
        pair = classes_left(subsets, remaining) > 2
        steps += 1
        centroid(remaining, space.q)
        slot = -1
        for turn in range(2 if pair else 1):  # x₀, farthest from the centroid; then x₁, farthest from x₀
            if slot < 0:
                scanned += counts[3]
                slot, _, _ = look(space, remaining, nobody, -1.0, 0, _blocks(remaining))
            scanned += counts[3]
            slot = _class_by_brute_force(space, remaining, subsets, each, slot, -1.0 if pair and turn == 0 else np.inf)
    compact(remaining)
    return steps, scanned
