"""Refinement of any partition: lowers its loss at a chosen effort.

A table of moderate size is annealed as a whole, several times from different seeds if the effort allows, and the best
classes of all results are recombined. A large table is annealed in blocks of whole classes, and again in other blocks,
cut along other directions, so that no seam stays. :func:`refined` does both, with any annealing: the one here is
unconstrained; that of :mod:`shoal.kernels.repair.refine` preserves the demands on classes.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import all_equal
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.mdav.mdav import brute_total, index_least, mdav
from shoal.kernels.refine.annealing import annealed, ground
from shoal.kernels.refine.class_state import arranged, numbered
from shoal.kernels.refine.reblock import block_labels, whole_classes
from shoal.kernels.refine.recombine import best_of_pool, best_with, can_price, priced_classes, recombine
from shoal.kernels.runtime.jit import GoOn, Watch, together
from shoal.types.coded import Coded

WHOLE = 30_000  #: largest table that is annealed as a whole, in records
_BLOCK = 4_000  # records in a block of a larger table: fits into a fast cache
_MDAV = 200_000  # largest table that is first partitioned in one piece, in records
_QUENCH = 100  # moves per record at temperature 0 at the end, for a table as a whole
_NEAR_IN_BLOCKS = 8  # neighbours tried in blocks
_POWERS = (0.0, 1.0)  # classes found by prices: first more from dense regions, then more from sparse ones


class Effort(NamedTuple):
    """Amount of work."""

    runs: int  #: annealings of a table as a whole, each from its own seed
    moves: int  #: total moves of each, for small classes
    per_record: int  #: and at most this many per record
    rounds: int  #: rounds of annealing in blocks, for a large table
    in_blocks: int  #: moves per record in each round
    choice: int  #: number of classes among which the best are chosen at once
    generations: int = 1  #: how often all annealings are repeated, from the best so far
    quench: int = 0  #: moves per record at temperature 0 in each round, where unconstrained
    priced: int = 0  #: further candidate classes at the end, found by prices if the table is small


EFFORTS = {
    "fast": Effort(1, 600_000, 400, 1, 7, 0, quench=6),
    "default": Effort(8, 4_000_000, 5_000, 2, 150, 700, quench=20),
    "best": Effort(8, 30_000_000, 40_000, 4, 2_500, 3_000, generations=2, quench=50, priced=2_000),
}
CLOSE_EFFORTS = {  #: the same where classes must meet demands, so that a move costs more
    "fast": Effort(1, 250_000, 400, 1, 10, 0),
    "default": Effort(6, 2_000_000, 4_000, 4, 75, 700),
    "best": Effort(12, 15_000_000, 30_000, 3, 1_500, 3_000),
}
Choose = Callable[[np.ndarray, list[np.ndarray], bool], np.ndarray]  #: best, all found, whether stopped → labels


Whole = tuple[np.ndarray | Coded, Callable[[np.ndarray, int, GoOn], np.ndarray], Choose]  #: points, work, choice


class Annealing(NamedTuple):
    """How to anneal, and how to combine several results."""

    whole: Callable[[np.ndarray], Whole]
    #: for rows in a given order: points, work (initial labels, seed), choice
    block: Callable[[np.ndarray, np.ndarray, int, int, GoOn], np.ndarray]  #: rows, their labels, turn, seed → labels
    sort: Callable[[np.ndarray | Coded, np.ndarray], np.ndarray]  #: sorts the rows of a block for annealing
    k: int
    effort: Effort


def quick_start(points: np.ndarray | Coded, k: int) -> np.ndarray:
    """Return an initial partition: MDAV, in blocks if the table is large."""
    return mdav(points, k)[0] if len(points) <= _MDAV else block_labels(points, k, _MDAV // 2, 0)


def seconds_to_start(n: int, d: int, k: int) -> float:
    """Estimate the seconds that an initial partition takes on two cores."""
    some = min(n, _MDAV // 2)
    each = min(brute_total(some, some, d, k), index_least(some, some, d, min(d, 13), k))
    return 1e-9 * each * (n / some) / (2 if n > _MDAV else 1)


def seconds_of(effort: Effort, n: int, d: int, k: int) -> float:
    """Estimate the seconds to start and to refine with this effort, on two cores."""
    move = 1e-9 * (120.0 + 3.0 * k * d)
    moves = _moves(effort, n, k) * effort.runs * effort.generations
    if n > WHOLE:
        moves = (effort.in_blocks + effort.quench) * n * effort.rounds
    chosen = 2 if effort.choice and n <= WHOLE else 1  # choosing among pooled classes takes about as long again
    return seconds_to_start(n, d, k) + chosen * moves * move / 2 + 3e-6 * n * effort.rounds


def _moves(effort: Effort, n: int, k: int) -> int:
    """Return the moves of one annealing of a whole table: fewer where moves cost more, and in tiny tables."""
    return min(max(effort.moves * 20 // (k + 17), effort.in_blocks * n), min(effort.per_record, 40 * n) * n)


def refine(
    points: np.ndarray | Coded, labels: np.ndarray, k: int, effort: Effort, seed: int, seconds: float | None = None
) -> np.ndarray:
    """Lower the SSE of a partition.

    With `seconds`, stop after that time with the best so far, and until then continue beyond the effort.

    Guarantee: every class has at least k records, and at most 2k−1 or the size of the largest class before. The SSE
    does not rise. The same seed gives the same labels, unless the time limit was reached; for distinct records, in any
    row order.
    """
    x = in_range(points)
    if len(np.unique(labels)) < 2 or all_equal(x):
        return numbered(labels)

    def whole(order: np.ndarray) -> Whole:
        inside = x[order]
        where, moves, quench = ground(inside, k), _moves(effort, len(x), k), min(effort.per_record // 10, _QUENCH)

        def work(start: np.ndarray, seed: int, go_on: GoOn) -> np.ndarray:
            return annealed(where, start, k, seed, moves, quench=quench, go_on=go_on)

        def choose(best: np.ndarray, pool: list[np.ndarray], stopped: bool) -> np.ndarray:
            if effort.choice and not stopped:
                return best_of_pool(inside, pool, largest=effort.choice)
            return recombined(inside, [best, *pool])

        return inside, work, choose

    def block(rows: np.ndarray, before: np.ndarray, turn: int, seed: int, go_on: GoOn) -> np.ndarray:
        where = ground(x[rows], k, _NEAR_IN_BLOCKS)
        return annealed(where, before, k, seed, effort.in_blocks * len(rows), quench=effort.quench, go_on=go_on)

    until = time.monotonic() + seconds if seconds is not None else np.inf
    return refined(x, labels, Annealing(whole, block, arranged, k, effort), seed, until)


def refined(x: np.ndarray | Coded, labels: np.ndarray, how: Annealing, seed: int, until: float = np.inf) -> np.ndarray:
    """Anneal a table as a whole or in blocks; return labels numbered by first rows.

    Work ends at `until`, by time.monotonic(); if that is finite, it continues beyond the effort until then.
    """
    seeds = np.random.default_rng(seed)
    if len(x) > WHOLE:
        return _in_blocks(x, labels, how, seeds, until)
    order = arranged(x, np.arange(len(x)))  # so that nothing depends on row order
    out = np.empty(len(x), np.int64)
    out[order] = _as_a_whole(numbered(labels[order]), order, how, seeds, until)
    return numbered(out)


def _as_a_whole(
    labels: np.ndarray, order: np.ndarray, how: Annealing, seeds: np.random.Generator, until: float
) -> np.ndarray:
    """Anneal from several seeds, and combine the best of the results."""
    effort = how.effort
    x, anneal, choose = how.whole(order)
    best, pool, stopped, generation = labels, [labels], False, 0
    while not stopped and (generation < effort.generations or until < np.inf):

        def work(seed: int, go_on: GoOn, start: np.ndarray = best) -> np.ndarray:
            return anneal(start, seed, go_on)

        total = max(effort.generations, generation + 1)
        watch = Watch(until, generation / total, (generation + 1) / total)
        found, stopped = together(work, seeds.integers(1 << 60, size=effort.runs).tolist(), watch)
        pool += [one for one in found if one is not None]
        best = choose(best, pool, stopped)
        generation += 1
        if generation == effort.generations and effort.priced and not stopped and not isinstance(x, Coded):
            best = _with_priced(x, [best, *pool], how.k, effort, until)
    return best


def _with_priced(x: np.ndarray, partitions: list[np.ndarray], k: int, effort: Effort, until: float) -> np.ndarray:
    """Improve the first partition with classes that no annealing found."""

    def work(best: np.ndarray, go_on: GoOn) -> np.ndarray:
        for power in _POWERS:
            found = priced_classes(x, best, k, effort.priced, power)
            if found is None or not go_on(1.0):
                break
            best = best_with(x, [best, *partitions], found.classes, found.open, effort.choice + effort.priced)
        return best

    starts = partitions[:1] if can_price(len(x), k) else []
    found, _ = together(work, starts, Watch(until, 1.0))  # in a thread: its steps are not part of the progress bar
    return next((labels for labels in found if labels is not None), partitions[0])


def recombined(x: np.ndarray | Coded, partitions: list[np.ndarray]) -> np.ndarray:
    """Return the first partition, improved by each of the others in turn."""
    best = partitions[0]
    for other in partitions[1:]:
        best = recombine(x, best, other)
    return best


def _in_blocks(
    x: np.ndarray | Coded, labels: np.ndarray, how: Annealing, seeds: np.random.Generator, until: float
) -> np.ndarray:
    """Anneal in blocks of whole classes, and again in blocks cut along other directions."""
    labels, rounds = labels.astype(np.int32), how.effort.rounds
    stopped, turn = False, 0
    while not stopped and (turn < rounds or until < np.inf):
        order, bounds = whole_classes(x, labels, int(labels.max()) + 1, len(x) // _BLOCK + turn, turn + 1)
        rows = [how.sort(x, order[begin:end]) for begin, end in itertools.pairwise(bounds) if end > begin]
        block_seeds = seeds.integers(1 << 60, size=len(rows)).tolist()

        def work(block: tuple[np.ndarray, int], go_on: GoOn, turn: int = turn) -> int:
            inside, seed = block
            labels[inside] = how.block(inside, numbered(labels[inside]), turn, seed, go_on)
            return int(labels[inside].max()) + 1

        total = max(rounds, turn + 1)
        watch = Watch(until, turn / total, (turn + 1) / total)
        found, stopped = together(work, list(zip(rows, block_seeds, strict=True)), watch)
        _renumber(labels, rows, found)
        turn += 1
    return numbered(labels)


def _renumber(labels: np.ndarray, rows: list[np.ndarray], found: list[int | None]) -> None:
    """Make the class numbers of all blocks, each from 0, consecutive; a block not started keeps its old classes."""
    classes = 0
    for inside, count in zip(rows, found, strict=True):
        if count is None:
            labels[inside] = numbered(labels[inside])
        labels[inside] += classes
        classes = int(labels[inside].max()) + 1
