"""Refinement of any partition: lowers its loss at a chosen effort.

A table of moderate size is annealed as a whole, several times from different seeds if the effort allows, and the best
classes of all results are recombined. A large table is annealed in blocks of whole classes, and again in other blocks,
cut along other directions, so that no seam stays. :func:`refined` does both, with any annealing: the one here is
unconstrained; that of :mod:`shoal.kernels.repair.refine` preserves the demands on classes.

The amount of work follows from counts (records, columns, k), never from a clock. Costs are in nanoseconds of one core.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import all_equal
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.mdav.mdav import brute_total, coded_least, coded_total, index_least, mdav
from shoal.kernels.refine.annealing import annealed, ground
from shoal.kernels.refine.blockwise import Blockwise, Memory, partition_in_blocks
from shoal.kernels.refine.class_state import arranged, numbered
from shoal.kernels.refine.reblock import whole_classes
from shoal.kernels.refine.recombine import best_of_pool, best_with, can_price, priced_classes, recombine
from shoal.kernels.runtime.jit import GoOn, Share, together
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
    blocks: bool = False  #: whether even a table of moderate size is annealed in blocks


class _Budget(NamedTuple):
    """Cost of a refinement: `least`, or this share of the cost of a first partition by MDAV if that is more."""

    least: float
    share: float


_BUDGETS = {"fast": _Budget(0.5e9, 0.7), "default": _Budget(1.1e9, 1.7)}
_TWICE = 1_000  # moves per record from which two annealings find more than one
CLOSE_EFFORTS = {  #: where classes must meet demands, so that a move costs more
    "fast": Effort(1, 250_000, 400, 1, 10, 0),
    "default": Effort(6, 2_000_000, 4_000, 4, 75, 700),
    "best": Effort(12, 15_000_000, 30_000, 3, 1_500, 3_000),
}
_QUENCHED = 40  # most moves per record at temperature 0 within a budget
_COOLED = 60  # most moves per record while cooling within a budget, in each round of blocks …
_COOLED_AS_A_WHOLE = 4_000  # … and of a table as a whole
_FEWEST = 6  # moves per record that make a round of blocks worth its preparation
_ROUND = 2_000.0  # cost per record of cutting blocks


def effort_for(name: str, points: np.ndarray | Coded, k: int) -> Effort:
    """Return the work of ``fast``, ``default`` or ``best`` on a table.

    The first two spend what a budget allows, which grows with the cost of a partition by MDAV. A table is refined as a
    whole if looking up the neighbours of all records leaves most of the budget, else in blocks.
    """
    n = len(points)
    if name == "best":
        return _best(n, k)
    budget = _BUDGETS[name]
    spent = max(budget.least, budget.share * cost_to_start(points, k))
    look_up = _cost_to_look_up(points, n)
    if n <= WHOLE and look_up <= spent / 2:
        moves = (spent - look_up) / _cost_of_move(points, n, k) / n
        runs = 2 if moves >= _TWICE else 1
        quench = int(min(_QUENCHED, moves / runs / 2))
        return Effort(runs, (int(moves / runs) - quench) * n, _COOLED_AS_A_WHOLE, 1, 0, 0, quench=quench)
    block = min(n, _BLOCK)
    prepared = _cost_to_look_up(points, block) * n / block + _ROUND * n
    move = _cost_of_move(points, block, k)
    for rounds in (2, 1):
        moves = int((spent / rounds - prepared) / (move * n))
        if moves >= _FEWEST:
            quench = min(moves // 2, _QUENCHED // 2)
            return Effort(1, 0, 0, rounds, min(moves - quench, _COOLED), 0, quench=quench, blocks=True)
    return Effort(0, 0, 0, 0, 0, 0, blocks=True)


def _best(n: int, k: int) -> Effort:
    """Return the work of ``best``: fewer moves where they cost more."""
    moves = max(30_000_000 * 20 // (k + 17), 2_500 * n)
    quench = _QUENCH if n <= WHOLE else _QUENCH // 2
    return Effort(8, moves, 40_000, 4, 2_500, 3_000, generations=2, quench=quench, priced=2_000)


def _cost_to_look_up(points: np.ndarray | Coded, n: int) -> float:
    """Return the cost of the neighbours of n records, by an index that prunes little where there are many columns."""
    d = int(points.shape[1])
    seen = n if isinstance(points, Coded) else min(n, 300 * 1.5**d)
    return n * (2_000.0 + 0.2 * seen * (d + 2))


def _cost_of_move(points: np.ndarray | Coded, n: int, k: int) -> float:
    """Return the cost of a move among n records: more if no cache holds them."""
    d = int(points.shape[1])
    if isinstance(points, Coded):
        return (500.0 + 25.0 * d + 10.0 * k * d) * (1.0 + min(n / 20_000, 1.5))
    return (120.0 + 3.0 * k * d) * (1.0 + min(n * d * 8 / 5e5, 2.5))


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
    if len(points) <= _MDAV:
        return mdav(points, k)[0]
    store = Memory(points)
    size = _MDAV // 2
    partition_in_blocks(
        store, Blockwise(len(points) // size, max(size // 8, k), lambda number, x, people: mdav(x, k)[0], _as_it_is, 0)
    )
    return store.labels.astype(np.int64)


def _as_it_is(
    turn: int, number: int, x: np.ndarray | Coded, people: np.ndarray | None, labels: np.ndarray
) -> np.ndarray:
    return labels


def cost_to_start(points: np.ndarray | Coded, k: int) -> float:
    """Return the least cost of an initial partition."""
    n, d = map(int, points.shape)
    some = min(n, _MDAV // 2)
    if isinstance(points, Coded):
        each = min(coded_total(some, some, d, k), coded_least(some, some, d, k))
    else:
        each = min(brute_total(some, some, d, k), index_least(some, some, d, min(d, 13), k))
    return each * n / some


def cost_to_refine(effort: Effort, points: np.ndarray | Coded, k: int) -> float:
    """Return the cost of a refinement."""
    n = len(points)
    if n <= WHOLE and not effort.blocks:
        moves = (_moves(effort, n) + effort.quench * n) * effort.runs * effort.generations
        chosen = 2 if effort.choice else 1  # choosing among pooled classes takes about as long again
        return _cost_to_look_up(points, n) + chosen * moves * _cost_of_move(points, n, k)
    block = min(n, _BLOCK)
    moves = (effort.in_blocks + effort.quench) * n
    prepared = _cost_to_look_up(points, block) * n / block + _ROUND * n
    return effort.rounds * (prepared + moves * _cost_of_move(points, block, k))


def _moves(effort: Effort, n: int) -> int:
    """Return the moves of one annealing of a whole table: fewer in tiny tables."""
    return min(effort.moves, min(effort.per_record, 40 * n) * n)


def refine(points: np.ndarray | Coded, labels: np.ndarray, k: int, effort: Effort, seed: int) -> np.ndarray:
    """Lower the SSE of a partition.

    Guarantee: every class has at least k records, and at most 2k−1 or the size of the largest class before. The SSE
    does not rise. The same seed gives the same labels, unless the deadline passed; for distinct records, in any row
    order.
    """
    x = in_range(points)
    if len(np.unique(labels)) < 2 or all_equal(x):
        return numbered(labels)

    def whole(order: np.ndarray) -> Whole:
        inside = x[order]
        where, moves = ground(inside, k), _moves(effort, len(x))

        def work(start: np.ndarray, seed: int, go_on: GoOn) -> np.ndarray:
            return annealed(where, start, k, seed, moves, quench=effort.quench, go_on=go_on)

        def choose(best: np.ndarray, pool: list[np.ndarray], stopped: bool) -> np.ndarray:
            if effort.choice and not stopped:
                return best_of_pool(inside, pool, largest=effort.choice)
            return recombined(inside, [best, *pool])

        return inside, work, choose

    def block(rows: np.ndarray, before: np.ndarray, turn: int, seed: int, go_on: GoOn) -> np.ndarray:
        where = ground(x[rows], k, _NEAR_IN_BLOCKS)
        return annealed(where, before, k, seed, effort.in_blocks * len(rows), quench=effort.quench, go_on=go_on)

    return refined(x, labels, Annealing(whole, block, arranged, k, effort), seed)


def refined(x: np.ndarray | Coded, labels: np.ndarray, how: Annealing, seed: int) -> np.ndarray:
    """Anneal a table as a whole or in blocks; return labels numbered by first rows."""
    seeds = np.random.default_rng(seed)
    if len(x) > WHOLE or how.effort.blocks:
        return _in_blocks(x, labels, how, seeds)
    order = arranged(x, np.arange(len(x)))  # so that nothing depends on row order
    out = np.empty(len(x), np.int64)
    out[order] = _as_a_whole(numbered(labels[order]), order, how, seeds)
    return numbered(out)


def _as_a_whole(labels: np.ndarray, order: np.ndarray, how: Annealing, seeds: np.random.Generator) -> np.ndarray:
    """Anneal from several seeds, and combine the best of the results."""
    effort = how.effort
    x, anneal, choose = how.whole(order)
    best, pool, stopped, generation = labels, [labels], False, 0
    while not stopped and generation < effort.generations:

        def work(seed: int, go_on: GoOn, start: np.ndarray = best) -> np.ndarray:
            return anneal(start, seed, go_on)

        share = Share(generation / effort.generations, (generation + 1) / effort.generations)
        found, stopped = together(work, seeds.integers(1 << 60, size=effort.runs).tolist(), share)
        pool += [one for one in found if one is not None]
        best = choose(best, pool, stopped)
        generation += 1
        if generation == effort.generations and effort.priced and not stopped and not isinstance(x, Coded):
            best = _with_priced(x, [best, *pool], how.k, effort)
    return best


def _with_priced(x: np.ndarray, partitions: list[np.ndarray], k: int, effort: Effort) -> np.ndarray:
    """Improve the first partition with classes that no annealing found."""

    def work(best: np.ndarray, go_on: GoOn) -> np.ndarray:
        for power in _POWERS:
            found = priced_classes(x, best, k, effort.priced, power)
            if found is None or not go_on(1.0):
                break
            best = best_with(x, [best, *partitions], found.classes, found.open, effort.choice + effort.priced)
        return best

    starts = partitions[:1] if can_price(len(x), k) else []
    found, _ = together(work, starts, Share(1.0))  # in a thread: its steps are not part of the progress bar
    return next((labels for labels in found if labels is not None), partitions[0])


def recombined(x: np.ndarray | Coded, partitions: list[np.ndarray]) -> np.ndarray:
    """Return the first partition, improved by each of the others in turn."""
    best = partitions[0]
    for other in partitions[1:]:
        best = recombine(x, best, other)
    return best


def _in_blocks(x: np.ndarray | Coded, labels: np.ndarray, how: Annealing, seeds: np.random.Generator) -> np.ndarray:
    """Anneal in blocks of whole classes, and again in blocks cut along other directions."""
    labels, rounds = labels.astype(np.int32), how.effort.rounds
    stopped, turn = False, 0
    while not stopped and turn < rounds:
        order, bounds = whole_classes(x, labels, int(labels.max()) + 1, max(len(x) // _BLOCK + turn, 1), turn + 1)
        rows = [how.sort(x, order[begin:end]) for begin, end in itertools.pairwise(bounds) if end > begin]
        block_seeds = seeds.integers(1 << 60, size=len(rows)).tolist()

        def work(block: tuple[np.ndarray, int], go_on: GoOn, turn: int = turn) -> int:
            inside, seed = block
            labels[inside] = how.block(inside, numbered(labels[inside]), turn, seed, go_on)
            return int(labels[inside].max()) + 1

        share = Share(turn / rounds, (turn + 1) / rounds)
        found, stopped = together(work, list(zip(rows, block_seeds, strict=True)), share)
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
