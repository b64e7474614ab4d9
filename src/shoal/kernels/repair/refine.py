"""Lower the loss of a partition while every class holds what is demanded of it: closeness to the table, other rules.

As :mod:`shoal.kernels.refine.refine`: a table of moderate size is annealed as a whole, from several seeds where the
effort allows, and of what comes out the best classes are put together; a large one is annealed in blocks made of whole
classes, and again in other blocks. Classes from different partitions may be mixed, for whether one holds its demands
depends on no other. Where coordinates are many, all this is done on the axes along which points vary most.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.in_range import in_range
from shoal.kernels.arithmetic.overlay import recombine, sse
from shoal.kernels.models.demands import Demands, hold, least_size, rows_of
from shoal.kernels.refine.annealing import Ground, ground
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.refine.reblock import arranged, whole_classes
from shoal.kernels.refine.set_partition import best_of_pool
from shoal.kernels.repair.moves import HOT, annealed_close, halved
from shoal.kernels.repair.repair import satisfy
from shoal.kernels.runtime.threads import GoOn, Watch, together
from shoal.kernels.space.principal_axes import on_main_axes

WHOLE = 30_000  #: records up to which a table is annealed as a whole
_BLOCK = 4_000  # records of a block of a larger one
_NEAR = 40  # neighbours looked at
_NEAR_IN_BLOCKS = 20
_QUENCH = 100  # moves per record without heat at the end, …
_QUENCH_IN_BLOCKS = 30  # … of a block, where further rounds go on from there, …
_LEAST_QUENCH = 10  # … or fewer, where there were fewer with it
_COOLER = 0.3  # temperature that a round begins with, over that of the round before: what that found is not to be lost
_LEAST_HOT = 1.0
_POOLED = 10_000  # classes of all runs together up to which the best are chosen by integer programming
_ROOM = 4  # how much larger than need be a class may grow
_LEAST_ROOM = 16
_LARGE = 30  # size of classes of which a move takes twice as long as of tiny ones
_TIMES = 0.8e-6  # seconds that it takes of those
_EACH = 1.5e-9  # and for each coordinate of a record of a class


class Effort(NamedTuple):
    """How much to try."""

    runs: int  #: annealings of a table as a whole, each from another seed
    moves: int  #: of each
    per_record: int  #: and at most so many for each record
    rounds: int  #: of annealing in blocks, for a large table
    in_blocks: int  #: moves per record in each round
    choice: int  #: classes among which the best are chosen at once


class _Cooling(NamedTuple):
    """One annealing."""

    hot: float  # temperature to begin with
    moves: int  # while it cools
    quench: int  # for each record, without heat


EFFORTS = {
    "fast": Effort(1, 250_000, 400, 1, 10, 0),
    "default": Effort(6, 2_000_000, 4_000, 4, 75, 700),
    "best": Effort(12, 15_000_000, 30_000, 3, 1_500, 3_000),
}


def seconds_to_refine(effort: Effort, n: int, size: int, axes: int) -> float:
    """Return about how long it takes to refine classes of about this size with this effort, on two cores.

    `axes` is the number of coordinates that :func:`~shoal.kernels.space.principal_axes.on_main_axes` leaves.
    """
    if n > WHOLE:
        moves = effort.rounds * (effort.in_blocks + _quench(effort.in_blocks * n, n, _QUENCH_IN_BLOCKS)) * n
    else:
        some = _moves(effort, n, size)
        moves = effort.runs * (some + _quench(some, n) * n)
    return moves * (_TIMES * (1 + size / _LARGE) + _EACH * size * axes) / 2 + 2e-5 * n * effort.rounds


def _moves(effort: Effort, n: int, size: int) -> int:
    """Return the moves of one annealing of a whole table: fewer where one costs more, and in tiny tables."""
    least = max(effort.rounds // 2, 1) * effort.in_blocks * n
    moves = max(int(effort.moves * _LARGE / (_LARGE + size)), least)
    return min(moves, min(effort.per_record, 40 * n) * n)


def _quench(moves: int, n: int, most: int = _QUENCH) -> int:
    """Return the moves per record without heat, after so many with it."""
    return min(most, max(moves // n, _LEAST_QUENCH))


def refine_close(points: np.ndarray, labels: np.ndarray, k: int, d: Demands, effort: Effort, seed: int) -> np.ndarray:
    """Lower the SSE of a partition whose classes hold what is demanded.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, n < 2³⁰. Left as they are.
    labels : (n,) int64
        A partition into classes of at least k.
    k : int
        Least size of a class, at least 2.
    d : Demands
        What classes must hold.
    effort : Effort
        How much to try.
    seed : int
        At least 0; same seed, same labels.

    Returns
    -------
    labels : (n,) int64
        Classes numbered by their first rows.

    Guarantee: every class has at least k records. If every class given holds all demands, so does every class
    returned, and the SSE is at most what it was. If not, the partition is returned as it came.
    """
    x = in_range(points)
    labels = numbered(labels)
    if not hold(d, labels).all() or not np.ptp(x, axis=0).any():
        return labels
    seeds = np.random.default_rng(seed)
    if len(x) > WHOLE:
        out = _in_blocks(on_main_axes(x), labels, k, d, effort, seeds)
    else:
        order = arranged(x, np.arange(len(x)))  # so that nothing depends on the order of rows
        out = np.empty(len(x), np.int64)
        inside = on_main_axes(np.ascontiguousarray(x[order]))
        out[order] = _as_a_whole(inside, numbered(labels[order]), k, rows_of(d, order), effort, seeds)
    return min(labels, numbered(out), key=lambda one: sse(x, one))  # by all coordinates


def _as_a_whole(
    x: np.ndarray, labels: np.ndarray, k: int, d: Demands, effort: Effort, seeds: np.random.Generator
) -> np.ndarray:
    """Anneal from several seeds, and put together the best of what comes out."""
    where, moves = ground(x, max(k, 3), _NEAR), _moves(effort, len(x), least_size(d, k))
    cooling = _Cooling(HOT, moves, _quench(moves, len(x)))

    def work(seed: int, go_on: GoOn) -> np.ndarray:
        return _close(where, x, labels, k, d, seed, cooling, go_on)

    found, stopped = together(work, [int(seed) for seed in seeds.integers(1 << 60, size=effort.runs)], Watch())
    pool = [labels, *(one for one in found if one is not None)]
    pool.sort(key=lambda one: sse(x, one))
    best = pool[0]
    for other in pool[1:]:
        best = recombine(x, best, other)
    if effort.choice and not stopped and sum(int(one.max()) + 1 for one in pool) <= _POOLED:
        best = best_of_pool(x, [best, *pool], largest=effort.choice)
    return best


def _close(
    where: Ground, x: np.ndarray, labels: np.ndarray, k: int, d: Demands, seed: int, cooling: _Cooling, go_on: GoOn
) -> np.ndarray:
    """Anneal once; what does not hold in the end is repaired. What is then worse than before is dropped."""
    room = max(_ROOM * least_size(d, k), _LEAST_ROOM)
    alone = not labels.any() and len(x) >= 2 * k  # one class has no neighbour to begin with
    start = halved(x, labels, d, (len(x) + 1) // 2 if alone else room)
    hot, moves, quench = cooling
    found = annealed_close(where, start, k, d, seed, moves, hot=hot, quench=quench, room=room, go_on=go_on)
    if not hold(d, found).all():
        found = satisfy(x, found, k, d)
    good = [one for one in (labels, start, found) if hold(d, one).all()]
    return min(good, key=lambda one: sse(x, one))


def _in_blocks(
    x: np.ndarray, labels: np.ndarray, k: int, d: Demands, effort: Effort, seeds: np.random.Generator
) -> np.ndarray:
    """Anneal in blocks of whole classes, and again in blocks cut along other directions."""
    stopped, turn = False, 0
    while not stopped and turn < effort.rounds:
        order, bounds = whole_classes(
            x, labels.astype(np.int32), int(labels.max()) + 1, len(x) // _BLOCK + turn, turn + 1
        )
        rows = [order[begin:end] for begin, end in itertools.pairwise(bounds) if end > begin]
        each = list(zip(rows, seeds.integers(1 << 60, size=len(rows)).tolist(), strict=True))

        hot = max(HOT * _COOLER**turn, _LEAST_HOT)

        def work(
            block: tuple[np.ndarray, int], go_on: GoOn, before: np.ndarray = labels, hot: float = hot
        ) -> np.ndarray:
            inside, seed = block
            there, own = np.ascontiguousarray(x[inside]), numbered(before[inside])
            where, moves = ground(there, max(k, 3), _NEAR_IN_BLOCKS), effort.in_blocks * len(inside)
            cooling = _Cooling(hot, moves, _quench(moves, len(inside), _QUENCH_IN_BLOCKS))
            return _close(where, there, own, k, rows_of(d, inside), seed, cooling, go_on)

        found, stopped = together(work, each, Watch(begin=turn / effort.rounds, end=(turn + 1) / effort.rounds))
        after, classes = np.empty(len(x), np.int64), 0
        for inside, one in zip(rows, found, strict=True):
            own = numbered(labels[inside]) if one is None else one
            after[inside] = own + classes
            classes += int(own.max()) + 1
        labels, turn = after, turn + 1
    return numbered(labels)
