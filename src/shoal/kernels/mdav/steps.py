"""Steps of MDAV: by brute force, which scans all remaining records, or through the spatial index.

This is the baseline for the index, and the faster of the two when records are few or nothing prunes.

The threads are Python threads: kernels release the GIL, so they run in parallel, and no thread pool of another library
remains that a fork or another thread could trip over. Handing part of a pass to another thread takes about 50 µs, so it
pays only for long passes.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.runtime.lanes import lowest_bit
from shoal.kernels.space import coded_index
from shoal.kernels.space.coded_lanes import Aim
from shoal.kernels.space.remaining import (
    CLASSES,
    NO_ROW,
    POINTS,
    REMAINING,
    SLOTS,
    WIDTH,
    Nearest,
    Remaining,
    aim_at,
    aim_at_centroid,
    aim_of,
    centroid,
    compact,
    erase,
    first_row,
    nearest_few,
    numbers_of,
    offer,
    read,
    scan,
    take,
)
from shoal.kernels.space.spatial_index import ALLOWED, USUAL, find_farthest, find_nearest, move_anchor, rebuild
from shoal.kernels.space.tree import PER_SEARCH, blocks_from_centroid, blocks_visited, remove
from shoal.threads import thread_count
from shoal.types.coded import Coded


class Pass(NamedTuple):
    """Scratch space of a pass over all records."""

    q: np.ndarray  # (d,) the point distances are measured from
    nearest: Nearest
    distance: np.ndarray  # (WIDTH,)
    aim: Aim | None = None  # its distances from categories


def pass_space(points: np.ndarray | Coded, k: int) -> Pass:
    """Allocate the scratch space for passes over points, and classes of `k`."""
    return Pass(np.empty(numbers_of(points).shape[1]), nearest_few(k - 1), np.empty(WIDTH), aim_of(points))


@part
def look(space, remaining, capacity, best, first, last):
    """Pass over blocks `first` … `last` - 1: keep the `capacity` nearest to q, find the farthest if it beats `best`.

    Returns the slot of the farthest record (ties to the lowest row), its squared distance, and the number of records
    kept.
    """
    x, coded, q, distance, nearest = remaining.x, remaining.coded, space.q, space.distance, space.nearest
    size = np.int64(0)
    bound = np.inf if capacity > 0 else -1.0
    best_row, best_slot = NO_ROW, -1
    for b in range(first, last):
        mask = scan(x, coded, b, q, space.aim, bound, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            slot = b * WIDTH + lane
            if distance[lane] <= bound:
                size = offer(nearest, size, remaining, slot, distance[lane])
                if size == capacity:
                    bound = nearest.distance[0]
            if distance[lane] >= best:
                row = first_row(remaining, slot)
                if distance[lane] > best or row < best_row:
                    best, best_row, best_slot = distance[lane], row, slot
    return best_slot, best, size


@part
def _blocks(remaining):
    return (remaining.counts[SLOTS] + WIDTH - 1) // WIDTH


@part
def _class_around(space, remaining, slot, best):
    """Form the class of the record in `slot` and its k - 1 nearest.

    Returns the slot of the record farthest from it, or -1 if another search is needed: when all remaining records are
    equally far, records of the class itself are among the farthest.
    """
    nearest = space.nearest
    aim_at(remaining, slot, space.q, space.aim)
    if take(remaining, slot):
        erase(remaining, slot)
    far, best, _ = look(space, remaining, nearest.distance.shape[0], best, 0, _blocks(remaining))
    if best == nearest.distance[0]:
        far = -1
    for i in range(nearest.slot.shape[0]):
        if take(remaining, nearest.slot[i]):
            erase(remaining, nearest.slot[i])
    remaining.counts[CLASSES] += 1
    return far


@kernel
def brute_steps(space, remaining, k, budget):
    """Form pairs of classes until fewer than 2k records remain or `budget` coordinates were read.

    Returns the number of pairs formed and of points scanned. A single class, formed when 2k to 3k - 1 records remain,
    counts as a pair.
    """
    steps, scanned, no_neighbours = 0, 0, np.int64(0)
    counts, d = remaining.counts, space.q.shape[0]
    while counts[REMAINING] >= 2 * k and scanned * d < budget:
        if counts[SLOTS] - counts[POINTS] > counts[SLOTS] // 8:
            compact(remaining)
        pair = counts[REMAINING] >= 3 * k
        steps += 1
        aim_at_centroid(remaining, space.q, space.aim)
        slot = -1
        for turn in range(2 if pair else 1):  # r, farthest from c; then s, farthest from r
            if slot < 0:
                scanned += counts[SLOTS]
                slot, _, _ = look(space, remaining, no_neighbours, -1.0, 0, _blocks(remaining))
            scanned += counts[SLOTS]
            slot = _class_around(space, remaining, slot, -1.0 if pair and turn == 0 else np.inf)
    return steps, scanned


_WORTH_A_THREAD = 1_000_000  # coordinates in a part of a pass: below that, the handover costs what it gains


class Found(NamedTuple):
    """Result of a pass over all records."""

    slot: int  # of the farthest
    distance: float
    nearest: np.ndarray  # slots of the nearest; a point's slot appears once for each record taken from it
    reach: float  # squared distance of the last of them


class SplitPass(NamedTuple):
    """Passes that measure from the same point, one for each thread."""

    parts: list[Pass]
    pool: ThreadPoolExecutor  # for all parts but the first


def worthwhile_threads(remaining: Remaining) -> int:
    """Return the number of threads between which a pass should be split; 1 where there is too little work."""
    coordinates = int(remaining.counts[SLOTS]) * int(remaining.x.shape[1])
    if remaining.coded is not None:
        coordinates += int(remaining.counts[SLOTS]) * int(remaining.coded.codes.shape[1])
    return max(1, min(thread_count(), coordinates // _WORTH_A_THREAD))


def split_pass(points: np.ndarray | Coded, k: int, pool: ThreadPoolExecutor) -> SplitPass:
    """Allocate the scratch space for split passes over points, and classes of `k`."""
    first = pass_space(points, k)
    others = (pass_space(points, k)._replace(q=first.q, aim=first.aim) for _ in range(1, thread_count()))
    return SplitPass([first, *others], pool)


@kernel
def _scan(space, remaining, capacity, best, first, last):
    return look(space, remaining, capacity, best, first, last)


@kernel
def _begin(space, remaining):
    """Close gaps if there are many, and measure from the centroid."""
    if remaining.counts[SLOTS] - remaining.counts[POINTS] > remaining.counts[SLOTS] // 8:
        compact(remaining)
    aim_at_centroid(remaining, space.q, space.aim)


@kernel
def _open_class(space, remaining, slot):
    """Take the record that a class is formed around, and measure from it."""
    aim_at(remaining, slot, space.q, space.aim)
    if take(remaining, slot):
        erase(remaining, slot)


@kernel
def _close_class(remaining, slots):
    """Take the nearest records into the class."""
    for i in range(slots.shape[0]):
        if take(remaining, slots[i]):
            erase(remaining, slots[i])
    remaining.counts[CLASSES] += 1


def _look_everywhere(space: SplitPass, remaining: Remaining, capacity: int, best: float, threads: int) -> Found:
    """Pass over all records, one part in each thread, and merge the results."""
    blocks = -(-int(remaining.counts[SLOTS]) // WIDTH)
    parts = space.parts[:threads]
    bounds = [blocks * i // len(parts) for i in range(len(parts) + 1)]
    others = [
        space.pool.submit(_scan, part, remaining, capacity, best, first, last)
        for part, first, last in zip(parts[1:], bounds[1:-1], bounds[2:], strict=True)
    ]
    found = [_scan(parts[0], remaining, capacity, best, 0, bounds[1]), *(other.result() for other in others)]

    def rank(one: tuple[int, float, int]) -> tuple[float, bool, int]:
        slot, distance, _ = one
        return -distance, slot < 0, int(remaining.members[remaining.head[slot]]) if slot >= 0 else -1

    slot, distance, _ = min(found, key=rank)  # the farthest, ties to the lowest row
    heaps = [(part.nearest, size) for part, (_, _, size) in zip(parts, found, strict=True)]
    distances, rows, slots = (np.concatenate([heap[i][:size] for heap, size in heaps]) for i in range(3))
    order = np.lexsort((rows, distances))[:capacity]
    return Found(slot, distance, slots[order], float(distances[order[-1]]) if capacity else -1.0)


def split_steps(space: SplitPass, remaining: Remaining, k: int, budget: int) -> tuple[int, int]:
    """Form pairs of classes as `brute_steps` does, while splitting a pass pays."""
    steps, scanned, d = 0, 0, remaining.x.shape[1]
    while remaining.counts[REMAINING] >= 2 * k and scanned * d < budget:
        threads = worthwhile_threads(remaining)
        if threads == 1:
            break
        pair = remaining.counts[REMAINING] >= 3 * k
        steps += 1
        _begin(space.parts[0], remaining)
        slot = -1
        for turn in range(2 if pair else 1):  # r, farthest from c; then s, farthest from r
            if slot < 0:
                scanned += int(remaining.counts[SLOTS])
                slot = _look_everywhere(space, remaining, 0, -1.0, threads).slot
            scanned += int(remaining.counts[SLOTS])
            _open_class(space.parts[0], remaining, slot)
            found = _look_everywhere(space, remaining, k - 1, -1.0 if pair and turn == 0 else np.inf, threads)
            _close_class(remaining, found.nearest)
            slot = -1 if found.distance == found.reach else found.slot
    return steps, scanned


@part
def _indexed_class(index, remaining, slot):
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
            _indexed_class(index, remaining, find_farthest(tree, search, remaining, PER_SEARCH * turn))
    return steps


@part
def _coded_class(index, remaining, slot):
    """Form the class of the record in `slot` and its k - 1 nearest, and prepare the search for the farthest from it."""
    tree, search = index.tree, index.search
    slots = search.nearest.slot
    aim_at(remaining, slot, search.q, search.aim)
    coded_index.aim_sets(tree, search, remaining.coded.layout)
    if take(remaining, slot):
        coded_index.remove(tree, remaining, slot)
    coded_index.find_nearest(tree, search, remaining, search.nearest, slot // WIDTH)
    for i in range(slots.shape[0]):
        if take(remaining, slots[i]):
            coded_index.remove(tree, remaining, slots[i])
    remaining.counts[CLASSES] += 1


@kernel
def coded_index_steps(index, remaining, k, budget):
    """Form pairs of classes as `index_steps` does, of records with coded attributes."""
    tree, search, counts, work = index.tree, index.search, remaining.counts, index.search.work
    steps = 0
    stop = blocks_visited(work) + budget
    while counts[REMAINING] >= 2 * k and blocks_visited(work) < stop:
        if 2 * counts[POINTS] < counts[SLOTS] or tree.levels[0] == 0:
            coded_index.rebuild(index, remaining)
        steps += 1
        aim_at_centroid(remaining, search.q, search.aim)
        if blocks_from_centroid(work) > index.rebuilds[ALLOWED]:
            coded_index.move_anchor(index, remaining)
        index.rebuilds[ALLOWED] += USUAL
        for turn in range(1, 3 if counts[REMAINING] >= 3 * k else 2):  # r, farthest from c; then s, farthest from r
            slot = coded_index.find_farthest(tree, search, remaining, PER_SEARCH * turn)
            _coded_class(index, remaining, slot)
    return steps
