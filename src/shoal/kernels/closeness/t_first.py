"""t-closeness first ([SC15] Algorithm 3): the exact partition, by brute force or through a spatial index.

S_i are the subsets of the paper, x₀ and x₁ its records, k′ the size of its classes after eqs. (3) and (4).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.mdav.mdav import COORDINATES_PER_CALL, Trace, form_classes
from shoal.kernels.mdav.steps import look, pass_space
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.runtime.lanes import lowest_bit
from shoal.kernels.space import coded_index
from shoal.kernels.space.coded_index import CodedIndex
from shoal.kernels.space.nearest_per_subset import (
    class_size,
    classes_left,
    coded_nearest_each,
    equal_in_subset,
    farthest_kept,
    find_nearest_each,
    mark,
    name_slots,
    nearest_each,
    offer_each,
    start_each,
    subset_of_rows,
    subsets_of,
    take_of_subset,
    taken_twice,
    unmark,
)
from shoal.kernels.space.remaining import (
    CLASSES,
    NO_ROW,
    POINTS,
    SLOTS,
    WIDTH,
    Remaining,
    aim_at,
    aim_at_centroid,
    centroid,
    compact,
    erase,
    first_row,
    read,
    scan,
    scatter,
)
from shoal.kernels.space.spatial_index import ALLOWED, USUAL, Index, find_farthest, move_anchor, rebuild, spatial_index
from shoal.kernels.space.tree import PER_SEARCH, blocks_from_centroid, blocks_visited, remove
from shoal.types.coded import Coded

if TYPE_CHECKING:
    from shoal.kernels.space.principal_axes import Frame


_SAMPLE = 4096
_TELLING = 0.03  # share of the subsets' variance explained by coordinates, above which the layout separates subsets …
_APART = 2.0  # … by this much from first to last: helps to find the nearest, and hinders finding the farthest


def t_first(
    points: np.ndarray | Coded, values: np.ndarray, k: int, t: float, *, path: str | None = None
) -> tuple[np.ndarray, Trace]:
    """Partition points by t-closeness first, without checking how close the classes come out.

    Records are ranked by `values`, (n,). `path` and rounding are those of :func:`shoal.kernels.mdav.mdav.mdav`. Classes
    are numbered in the order they are formed. In the trace, records count as distinct if they differ in a coordinate or
    a subset.

    Guarantee: there are ⌊n / k′⌋ classes of k′ or k′ + 1 records, k′ ≥ k, with one record of every subset. If k′
    divides n and no two values are equal, every class is within t. If an odd number of records is left over, the lower
    of two central subsets takes one more.

    >>> import numpy as np
    >>> points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.2]])
    >>> labels, trace = t_first(points, np.array([1, 2, 1, 2, 1, 2]), 2, 0.5)
    >>> labels
    array([0, 0, 2, 2, 1, 1])
    """
    points = in_range(points)
    n, size = points.shape[0], class_size(points.shape[0], k, t)
    if n < 2 * size:
        return np.zeros(n, np.int64), Trace("one class", size)
    subset = subset_of_rows(values, size)
    groups = equal_in_subset(points, subset)

    def through_index(frame: Frame | None) -> tuple[Index | CodedIndex, Remaining, Callable[[int], int]]:
        if isinstance(points, Coded):
            announce(coded_subset_steps)
            of_codes, remaining = coded_index.coded_index(points, *groups, size)
            subsets = subsets_of(subset, size, remaining, of_codes.tree)
            each = nearest_each(size, subsets.begin.shape[0] - 1)
            return of_codes, remaining, lambda budget: coded_subset_steps(of_codes, remaining, subsets, each, budget)
        assert frame is not None
        announce(subset_steps)
        apart = subset * (_APART / (size - 1)) if _explained(points, subset) > _TELLING else None
        index, remaining = spatial_index(points, *groups, frame, size, apart)
        subsets = subsets_of(subset, size, remaining, index.tree)
        each = nearest_each(size, subsets.begin.shape[0] - 1)
        return index, remaining, lambda budget: subset_steps(index, remaining, subsets, each, budget)

    def by_brute_force(remaining: Remaining) -> Callable[[], tuple[int, int, int]]:
        announce(brute_subset_steps)
        subsets = subsets_of(subset, size, remaining)
        remaining = scatter(remaining, subsets.of_member)
        space, each = pass_space(points, 2), nearest_each(size, 0)
        return lambda: (*brute_subset_steps(space, remaining, subsets, each, COORDINATES_PER_CALL), 0)

    def unfinished(remaining: Remaining) -> bool:
        return bool(remaining.counts[CLASSES] < n // size - 1)

    return form_classes(points, groups, size, path, unfinished, through_index, by_brute_force)


def _explained(points: np.ndarray, subset: np.ndarray) -> float:
    """Return the share of the variance of subset numbers that the coordinates explain, in a sample of records."""
    step = max(points.shape[0] // _SAMPLE, 1)
    x, y = points[::step], subset[::step]
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    y = y - y.mean()
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    freedom = max(x.shape[0] - x.shape[1] - 1, 1)
    return float(1.0 - (left @ left) / (y @ y) * (x.shape[0] - 1) / freedom)


@part
def _class_through_index(index, remaining, subsets, each, slot):
    """Form the class of the records nearest to the one in `slot`, one of every subset."""
    tree, search = index.tree, index.search
    read(remaining, slot, search.q)
    sought = start_each(each, taken_twice(subsets, remaining))
    find_nearest_each(tree, search, remaining, subsets, each, slot // WIDTH)
    for i in range(sought):
        if take_of_subset(subsets, remaining, each.slot[i]):
            remove(tree, remaining, each.slot[i])
            unmark(subsets, remaining, tree, each.slot[i])
    remaining.counts[CLASSES] += 1


@kernel
def subset_steps(index, remaining, subsets, each, budget):
    """Form pairs of classes until one is left to form or `budget` blocks were visited; return the number of pairs."""
    tree, search, counts, work = index.tree, index.search, remaining.counts, index.search.work
    steps = 0
    stop = blocks_visited(work) + budget
    while classes_left(subsets, remaining) > 1 and blocks_visited(work) < stop:
        half_empty = 2 * counts[POINTS] < counts[SLOTS]
        if half_empty or tree.levels[0] == 0:
            rebuild(index, remaining)
            mark(subsets, remaining, tree)
        steps += 1
        centroid(remaining, search.q)
        if blocks_from_centroid(work) > index.rebuilds[ALLOWED]:
            move_anchor(index, remaining)
        index.rebuilds[ALLOWED] += USUAL
        for turn in range(1, 3 if classes_left(subsets, remaining) > 2 else 2):  # x₀, then x₁
            slot = find_farthest(tree, search, remaining, PER_SEARCH * turn)
            _class_through_index(index, remaining, subsets, each, slot)
    return steps


@part
def _class_through_codes(index, remaining, subsets, each, slot):
    """Form the class of the records nearest to the one in `slot`, one of every subset, through an index of codes."""
    tree, search = index.tree, index.search
    aim_at(remaining, slot, search.q, search.aim)
    coded_index.aim_sets(tree, search, remaining.coded.layout)
    sought = start_each(each, taken_twice(subsets, remaining))
    coded_nearest_each(tree, search, remaining, subsets, each, slot // WIDTH)
    for i in range(sought):
        if take_of_subset(subsets, remaining, each.slot[i]):
            coded_index.remove(tree, remaining, each.slot[i])
            unmark(subsets, remaining, tree, each.slot[i])
    remaining.counts[CLASSES] += 1


@kernel
def coded_subset_steps(index, remaining, subsets, each, budget):
    """Form pairs of classes as `subset_steps` does, of records with coded attributes."""
    tree, search, counts, work = index.tree, index.search, remaining.counts, index.search.work
    steps = 0
    stop = blocks_visited(work) + budget
    while classes_left(subsets, remaining) > 1 and blocks_visited(work) < stop:
        if 2 * counts[POINTS] < counts[SLOTS] or tree.levels[0] == 0:
            coded_index.rebuild(index, remaining)
            mark(subsets, remaining, tree)
        steps += 1
        aim_at_centroid(remaining, search.q, search.aim)
        if blocks_from_centroid(work) > index.rebuilds[ALLOWED]:
            coded_index.move_anchor(index, remaining)
        index.rebuilds[ALLOWED] += USUAL
        for turn in range(1, 3 if classes_left(subsets, remaining) > 2 else 2):  # x₀, then x₁
            slot = coded_index.find_farthest(tree, search, remaining, PER_SEARCH * turn)
            _class_through_codes(index, remaining, subsets, each, slot)
    return steps


@part
def _blocks(remaining):
    return (remaining.counts[SLOTS] + WIDTH - 1) // WIDTH


@part
def _look_each(space, remaining, subsets, each, best):
    """Pass over all records: keep the nearest to q of every subset, find the farthest if it beats `best`.

    Slots are ordered by subset, so that a block holds one subset, seldom more. Returns the slot of the farthest record,
    ties to the lowest row.
    """
    x, coded, q, distance, of_slot = remaining.x, remaining.coded, space.q, space.distance, subsets.of_slot
    best_row, best_slot, used = NO_ROW, -1, remaining.counts[SLOTS]
    for b in range(_blocks(remaining)):
        last = min(b * WIDTH + WIDTH, used) - 1
        bound = farthest_kept(each, np.int64(of_slot[b * WIDTH]), np.int64(of_slot[last]) + 1)
        mask = scan(x, coded, b, q, space.aim, bound, best, distance)
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
    """Form the class of the records nearest to the one in `slot`, one of every subset.

    Returns the slot of the record farthest from it, or -1 if another search is needed because it joined the class.
    """
    aim_at(remaining, slot, space.q, space.aim)
    sought = start_each(each, taken_twice(subsets, remaining))
    far, far_row = _look_each(space, remaining, subsets, each, best)
    for i in range(sought):
        if each.row[i] == far_row:
            far = -1
        if take_of_subset(subsets, remaining, each.slot[i]):
            erase(remaining, each.slot[i])
    remaining.counts[CLASSES] += 1
    return far


@kernel
def brute_subset_steps(space, remaining, subsets, each, budget):
    """Form pairs of classes until one is left to form or `budget` coordinates were read.

    Returns the number of pairs formed and of points scanned.
    """
    steps, scanned, no_neighbours = 0, 0, np.int64(0)
    counts, d = remaining.counts, space.q.shape[0]
    name_slots(subsets, remaining)
    while classes_left(subsets, remaining) > 1 and scanned * d < budget:
        if counts[SLOTS] - counts[POINTS] > counts[SLOTS] // 8:
            compact(remaining)
            name_slots(subsets, remaining)
        pair = classes_left(subsets, remaining) > 2
        steps += 1
        aim_at_centroid(remaining, space.q, space.aim)
        slot = -1
        for turn in range(2 if pair else 1):  # x₀, farthest from the centroid; then x₁, farthest from x₀
            if slot < 0:
                scanned += counts[SLOTS]
                slot, _, _ = look(space, remaining, no_neighbours, -1.0, 0, _blocks(remaining))
            scanned += counts[SLOTS]
            slot = _class_by_brute_force(space, remaining, subsets, each, slot, -1.0 if pair and turn == 0 else np.inf)
    compact(remaining)
    return steps, scanned
