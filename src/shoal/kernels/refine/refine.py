"""Lower the loss of any partition, with as much effort as is wanted.

A table of moderate size is annealed as a whole, several times from different seeds where the effort allows; of what
comes out the best classes are put together. A large one is annealed in blocks made of whole classes, and again in
other blocks, cut along other directions, so that no seam stays.
"""

from __future__ import annotations

import itertools
import time
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.in_range import in_range
from shoal.kernels.arithmetic.overlay import recombine
from shoal.kernels.mdav.mdav import brute_total, index_least, mdav
from shoal.kernels.refine.annealing import annealed, ground
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.refine.column_pool import can_price, priced_classes
from shoal.kernels.refine.reblock import arranged, block_labels, whole_classes
from shoal.kernels.refine.set_partition import best_of_pool, best_with
from shoal.kernels.runtime.threads import GoOn, Watch, together

WHOLE = 30_000  #: records up to which a table is annealed as a whole
_BLOCK = 4_000  # records of a block of a larger one: what fits into a fast cache
_MDAV = 200_000  # records up to which a table is partitioned in one piece to begin with
_QUENCH = 100  # moves per record without heat at the end, of a table as a whole
_NEAR_IN_BLOCKS = 8  # neighbours looked at there
_POWERS = (0.0, 1.0)  # classes found by prices: first more of them in crowds, then more in the open


class Effort(NamedTuple):
    """How much to try."""

    runs: int  #: annealings of a table as a whole, each from another seed
    generations: int  #: how often they are all repeated, from the best so far
    moves: int  #: of each, in all, for classes of three
    per_record: int  #: and at most so many for each record
    rounds: int  #: of annealing in blocks, for a large table
    in_blocks: int  #: moves per record in each round
    quench: int  #: and moves per record without heat
    choice: int  #: classes among which the best are chosen at once
    priced: int  #: further classes to choose from at the end, found by prices where the table is small


EFFORTS = {
    "fast": Effort(1, 1, 600_000, 400, 1, 7, 6, 0, 0),
    "default": Effort(8, 1, 4_000_000, 5_000, 2, 150, 20, 700, 0),
    "best": Effort(8, 2, 30_000_000, 40_000, 4, 2_500, 50, 3_000, 2_000),
}


def quick_start(points: np.ndarray, k: int) -> np.ndarray:
    """Return a partition to begin with: MDAV, in blocks where the table is large."""
    return mdav(points, k)[0] if len(points) <= _MDAV else block_labels(points, k, _MDAV // 2, 0)


def seconds_to_start(n: int, d: int, k: int) -> float:
    """Return about how long a first partition takes on two cores."""
    some = min(n, _MDAV // 2)
    each = min(brute_total(some, some, d, k), index_least(some, some, d, min(d, 13), k))
    return 1e-9 * each * (n / some) / (2 if n > _MDAV else 1)


def seconds_of(effort: Effort, n: int, d: int, k: int) -> float:
    """Return about how long it takes to begin and to refine with this effort, on two cores."""
    move = 1e-9 * (120.0 + 3.0 * k * d)
    moves = _moves(effort, n, k) * effort.runs * effort.generations
    if n > WHOLE:
        moves = (effort.in_blocks + effort.quench) * n * effort.rounds
    chosen = 2 if effort.choice and n <= WHOLE else 1  # to choose among pooled classes takes about as long again
    return seconds_to_start(n, d, k) + chosen * moves * move / 2 + 3e-6 * n * effort.rounds


def _moves(effort: Effort, n: int, k: int) -> int:
    """Return the moves of one annealing of a whole table: fewer where one costs more, and in tiny tables."""
    return min(max(effort.moves * 20 // (k + 17), effort.in_blocks * n), min(effort.per_record, 40 * n) * n)


def refine(
    points: np.ndarray, labels: np.ndarray, k: int, effort: Effort, seed: int, seconds: float | None = None
) -> np.ndarray:
    """Lower the SSE of a partition.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, n < 2³⁰. Left as they are.
    labels : (n,) int64
        A partition into classes of at least k.
    k : int
        Least size of a class, at least 2.
    effort : Effort
        How much to try.
    seed : int
        At least 0; same seed, same labels, unless time was up.
    seconds : float, optional
        End when so many seconds have gone by, with the best so far; until then, go on beyond the effort.

    Returns
    -------
    labels : (n,) int64
        Classes numbered by their first rows.

    Guarantee: every class has at least k records, and at most 2k−1 or as many as the largest had before. The SSE is
    at most that of the partition given. Of distinct records, the classes depend on where they lie, not on their rows.
    """
    x = in_range(points)
    if len(np.unique(labels)) < 2 or not np.ptp(x, axis=0).any():
        return numbered(labels)
    until = time.monotonic() + seconds if seconds is not None else np.inf
    seeds = np.random.default_rng(seed)
    if len(x) > WHOLE:
        return _in_blocks(x, labels, k, effort, seeds, until)
    order = arranged(x, np.arange(len(x)))
    inside = np.ascontiguousarray(x[order])
    out = np.empty(len(x), np.int64)
    out[order] = _as_a_whole(inside, numbered(labels[order]), k, effort, seeds, until)
    return numbered(out)


def _as_a_whole(
    x: np.ndarray, labels: np.ndarray, k: int, effort: Effort, seeds: np.random.Generator, until: float
) -> np.ndarray:
    """Anneal from several seeds, and put together the best of what comes out."""
    where = ground(x, k)
    moves, quench = _moves(effort, len(x), k), min(effort.per_record // 10, _QUENCH)
    best, pool, stopped, generation = labels, [labels], False, 0
    while not stopped and (generation < effort.generations or until < np.inf):

        def work(seed: int, go_on: GoOn, start: np.ndarray = best) -> np.ndarray:
            return annealed(where, start, k, seed, moves, quench=quench, go_on=go_on)

        total = max(effort.generations, generation + 1)
        watch = Watch(until, generation / total, (generation + 1) / total)
        found, stopped = together(work, [int(seed) for seed in seeds.integers(1 << 60, size=effort.runs)], watch)
        pool += [one for one in found if one is not None]
        best = (
            best_of_pool(x, pool, largest=effort.choice)
            if effort.choice and not stopped
            else _recombined(x, [best, *pool])
        )
        generation += 1
        if generation == effort.generations and effort.priced and not stopped:
            best = _with_priced(x, [best, *pool], k, effort, until)
    return best


def _with_priced(x: np.ndarray, partitions: list[np.ndarray], k: int, effort: Effort, until: float) -> np.ndarray:
    """Improve the first partition with classes that no annealing met."""

    def work(best: np.ndarray, go_on: GoOn) -> np.ndarray:
        for power in _POWERS:
            found = priced_classes(x, best, k, effort.priced, power)
            if found is None or not go_on(1.0):
                break
            best = best_with(x, [best, *partitions], found.classes, found.open, effort.choice + effort.priced)
        return best

    starts = partitions[:1] if can_price(len(x), k) else []
    found, _ = together(work, starts, Watch(until, 1.0))  # in a thread: its steps are no part of the bar
    return next((labels for labels in found if labels is not None), partitions[0])


def _recombined(x: np.ndarray, partitions: list[np.ndarray]) -> np.ndarray:
    best = partitions[0]
    for other in partitions[1:]:
        best = recombine(x, best, other)
    return best


def _in_blocks(
    x: np.ndarray, labels: np.ndarray, k: int, effort: Effort, seeds: np.random.Generator, until: float
) -> np.ndarray:
    """Anneal in blocks of whole classes, and again in blocks cut along other directions."""
    labels = labels.astype(np.int32)
    stopped, turn = False, 0
    while not stopped and (turn < effort.rounds or until < np.inf):
        classes = int(labels.max()) + 1
        order, bounds = whole_classes(x, labels, classes, len(x) // _BLOCK + turn, turn + 1)
        rows = [order[begin:end] for begin, end in itertools.pairwise(bounds)]
        block_seeds = seeds.integers(1 << 60, size=len(rows)).tolist()

        def work(block: tuple[np.ndarray, int], go_on: GoOn) -> int:
            inside = arranged(x, block[0])
            part, before = x[inside], numbered(labels[inside])
            where = ground(part, k, _NEAR_IN_BLOCKS)
            moves = effort.in_blocks * len(inside)
            labels[inside] = annealed(where, before, k, block[1], moves, quench=effort.quench, go_on=go_on)
            return int(labels[inside].max()) + 1

        total = max(effort.rounds, turn + 1)
        watch = Watch(until, turn / total, (turn + 1) / total)
        found, stopped = together(work, list(zip(rows, block_seeds, strict=True)), watch)
        _renumber(labels, rows, found)
        turn += 1
    return numbered(labels)


def _renumber(labels: np.ndarray, rows: list[np.ndarray], found: list[int | None]) -> None:
    """Put the classes of all blocks, each numbered from 0, one after the other; a block not begun has its old ones."""
    classes = 0
    for inside, count in zip(rows, found, strict=True):
        if count is None:
            labels[inside] = numbered(labels[inside])
        labels[inside] += classes
        classes = int(labels[inside].max()) + 1
