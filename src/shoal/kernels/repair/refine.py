"""Refinement of a partition while every class meets its demands: closeness to the table, other rules.

As :mod:`shoal.kernels.refine.refine`, with another annealing. Classes from different partitions may be mixed, because
whether one meets its demands does not depend on others. With many coordinates, all this is done on the axes along which
points vary most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import all_equal
from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.models.demands import Demands, hold, least_size, rows_of
from shoal.kernels.refine import refine as refining
from shoal.kernels.refine.annealing import Ground, ground
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.refine.recombine import best_of_pool
from shoal.kernels.refine.refine import Annealing, Effort, Whole, recombined, refined
from shoal.kernels.repair.moves import HOT, annealed_close, halved
from shoal.kernels.repair.repair import satisfy
from shoal.kernels.runtime.jit import GoOn
from shoal.kernels.space.principal_axes import on_main_axes
from shoal.types.coded import Coded

_NEAR = 40  # neighbours tried
_NEAR_IN_BLOCKS = 20
_QUENCH = 100  # moves per record at temperature 0 at the end, …
_QUENCH_IN_BLOCKS = 30  # … for a block, where further rounds continue from there, …
_LEAST_QUENCH = 10  # … or fewer, if there were fewer moves before
_COOLER = 0.3  # ratio of a round's initial temperature to that of the round before, so as to keep its gains
_LEAST_HOT = 1.0
_POOLED = 10_000  # classes of all runs up to which the best are chosen by integer programming
_ROOM = 4  # how much larger than necessary a class may grow
_LEAST_ROOM = 16
_LARGE = 30  # class size at which a move takes twice as long as with tiny classes
_TIMES = 0.8e-6  # seconds per move with those
_EACH = 1.5e-9  # plus this for each coordinate of a record of a class


class _Cooling(NamedTuple):
    """One annealing."""

    hot: float  # initial temperature
    moves: int  # during cooling
    quench: int  # per record, at temperature 0


def seconds_to_refine(effort: Effort, n: int, size: int, axes: int) -> float:
    """Estimate the seconds to refine classes of about this size with this effort, on two cores.

    `axes` is the number of coordinates that :func:`~shoal.kernels.space.principal_axes.on_main_axes` leaves.
    """
    if n > refining.WHOLE:
        moves = effort.rounds * (effort.in_blocks + _quench(effort.in_blocks * n, n, _QUENCH_IN_BLOCKS)) * n
    else:
        some = _moves(effort, n, size)
        moves = effort.runs * (some + _quench(some, n) * n)
    return moves * (_TIMES * (1 + size / _LARGE) + _EACH * size * axes) / 2 + 2e-5 * n * effort.rounds


def _moves(effort: Effort, n: int, size: int) -> int:
    """Return the moves of one annealing of a whole table: fewer where moves cost more, and in tiny tables."""
    least = max(effort.rounds // 2, 1) * effort.in_blocks * n
    moves = max(int(effort.moves * _LARGE / (_LARGE + size)), least)
    return min(moves, min(effort.per_record, 40 * n) * n)


def _quench(moves: int, n: int, most: int = _QUENCH) -> int:
    """Return the moves per record at temperature 0, after `moves` moves during cooling."""
    return min(most, max(moves // n, _LEAST_QUENCH))


def refine_close(
    points: np.ndarray | Coded, labels: np.ndarray, k: int, d: Demands, effort: Effort, seed: int
) -> np.ndarray:
    """Lower the SSE of a partition whose classes meet all demands.

    Guarantee: every class has at least k records. If every given class meets all demands, so does every returned class,
    and the SSE does not rise. Otherwise the partition is returned unchanged.
    """
    x = in_range(points)
    labels = numbered(labels)
    if not hold(d, labels).all() or all_equal(x):
        return labels
    near, blocks = max(k, 3), on_main_axes(x) if len(x) > refining.WHOLE else x

    def whole(order: np.ndarray) -> Whole:
        inside, demands = on_main_axes(x[order]), rows_of(d, order)
        where, moves = ground(inside, near, _NEAR), _moves(effort, len(x), least_size(demands, k))
        cooling = _Cooling(HOT, moves, _quench(moves, len(x)))

        def work(start: np.ndarray, seed: int, go_on: GoOn) -> np.ndarray:
            return _close(where, inside, start, k, demands, seed, cooling, go_on)

        def choose(best: np.ndarray, pool: list[np.ndarray], stopped: bool) -> np.ndarray:
            pool = sorted(pool, key=lambda one: sse(inside, one))
            best = recombined(inside, pool)
            if effort.choice and not stopped and sum(int(one.max()) + 1 for one in pool) <= _POOLED:
                best = best_of_pool(inside, [best, *pool], largest=effort.choice)
            return best

        return inside, work, choose

    def block(rows: np.ndarray, before: np.ndarray, turn: int, seed: int, go_on: GoOn) -> np.ndarray:
        inside, moves = blocks[rows], effort.in_blocks * len(rows)
        hot, quench = max(HOT * _COOLER**turn, _LEAST_HOT), _quench(moves, len(rows), _QUENCH_IN_BLOCKS)
        where = ground(inside, near, _NEAR_IN_BLOCKS)
        return _close(where, inside, before, k, rows_of(d, rows), seed, _Cooling(hot, moves, quench), go_on)

    out = refined(blocks, labels, Annealing(whole, block, lambda x, rows: rows, k, effort), seed)
    return min(labels, out, key=lambda one: sse(x, one))  # by all coordinates


def _close(
    where: Ground,
    x: np.ndarray | Coded,
    labels: np.ndarray,
    k: int,
    d: Demands,
    seed: int,
    cooling: _Cooling,
    go_on: GoOn,
) -> np.ndarray:
    """Anneal once and repair classes that miss a demand; keep the old labels if the result is worse."""
    room = max(_ROOM * least_size(d, k), _LEAST_ROOM)
    alone = not labels.any() and len(x) >= 2 * k  # a single class has no neighbours at first
    start = halved(x, labels, d, (len(x) + 1) // 2 if alone else room)
    hot, moves, quench = cooling
    found = annealed_close(where, start, k, d, seed, moves, hot=hot, quench=quench, room=room, go_on=go_on)
    if not hold(d, found).all():
        found = satisfy(x, found, k, d)
    good = [one for one in (labels, start, found) if hold(d, one).all()]
    return min(good, key=lambda one: sse(x, one))
