"""Lower the loss of a partition while every class holds what is demanded of it: closeness to the table, other rules.

As :mod:`shoal.kernels.refine.refine`, with another annealing. Classes from different partitions may be mixed, for
whether one holds its demands depends on no other. Where coordinates are many, all this is done on the axes along which
points vary most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_costs import sse
from shoal.kernels.arithmetic.scaling import in_range
from shoal.kernels.models.demands import Demands, hold, least_size, rows_of
from shoal.kernels.refine import refine as refining
from shoal.kernels.refine.annealing import Ground, ground
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.refine.recombine import best_of_pool
from shoal.kernels.refine.refine import Annealing, Choose, Effort, recombined, refined
from shoal.kernels.repair.moves import HOT, annealed_close, halved
from shoal.kernels.repair.repair import satisfy
from shoal.kernels.runtime.threads import GoOn
from shoal.kernels.space.principal_axes import on_main_axes

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


class _Cooling(NamedTuple):
    """One annealing."""

    hot: float  # temperature to begin with
    moves: int  # while it cools
    quench: int  # for each record, without heat


def seconds_to_refine(effort: Effort, n: int, size: int, axes: int) -> float:
    """Return about how long it takes to refine classes of about this size with this effort, on two cores.

    `axes` is the number of coordinates that :func:`~shoal.kernels.space.principal_axes.on_main_axes` leaves.
    """
    if n > refining.WHOLE:
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

    Guarantee: every class has at least k records. If every class given holds all demands, so does every class returned,
    and the SSE does not rise. If not, the partition is returned as it came.
    """
    x = in_range(points)
    labels = numbered(labels)
    if not hold(d, labels).all() or not np.ptp(x, axis=0).any():
        return labels
    near, blocks = max(k, 3), on_main_axes(x) if len(x) > refining.WHOLE else x

    def whole(order: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray, int, GoOn], np.ndarray], Choose]:
        inside, demands = on_main_axes(np.ascontiguousarray(x[order])), rows_of(d, order)
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
        inside, moves = np.ascontiguousarray(blocks[rows]), effort.in_blocks * len(rows)
        hot, quench = max(HOT * _COOLER**turn, _LEAST_HOT), _quench(moves, len(rows), _QUENCH_IN_BLOCKS)
        where = ground(inside, near, _NEAR_IN_BLOCKS)
        return _close(where, inside, before, k, rows_of(d, rows), seed, _Cooling(hot, moves, quench), go_on)

    out = refined(blocks, labels, Annealing(whole, block, lambda x, rows: rows, k, effort), seed)
    return min(labels, out, key=lambda one: sse(x, one))  # by all coordinates


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
