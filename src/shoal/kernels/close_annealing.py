"""Simulated annealing of a partition whose classes must hold what is demanded: closeness to the table, other rules.

A class that misses something costs as much SSE as `price` says. While it cools a class may miss it for a while; in
the end none does that can be helped, for nothing is then as dear as that.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.kernels.annealing import Ground, neighbour, schedule, uniform
from shoal.kernels.arrangement import arrange, numbered
from shoal.kernels.close_moves import (
    close_join,
    close_rotate,
    close_shift,
    close_split,
    close_swap,
)
from shoal.kernels.demands import Demands
from shoal.kernels.gap import gap
from shoal.kernels.jit import announce, kernel
from shoal.kernels.moves import best_swap
from shoal.kernels.roster import likest, roster_of

_JOIN = 0.01  # share of moves that join two classes, and of those that split one
_SHIFT = 0.2  # share of moves that shift a record
_BEST = 0.4  # share of moves that exchange a record for the one that fits best; the rest, for the likest in value
HOT = 10.0  #: temperature to begin with, in units of a record's heat: higher than without closeness, which hinders
_PRICE = 500.0  # of an excess of t, in units of the mean heat
_RECORD = 20.0  # price of a record that a rule lacks, in the same units
_CLOSEST = 1e-3  # t below which the price does not rise further
_FINALLY = 1e6  # times the price at the end


@kernel
def _anneal(a, r, where, k, moves, temperature, price, random):
    """Try so many moves at one temperature."""
    near, heat, n, attributes = where.near, where.heat, a.x.shape[0], r.code.shape[0]
    for _ in range(moves):
        i = np.int32(uniform(random) * n)
        j = neighbour(near, i, random)
        home, b = a.label[i], a.label[j]
        if b == home:
            continue
        limit = -temperature * heat[i] * np.log(1.0 - uniform(random)) - 1e-12 * heat[i]
        at = int(uniform(random) * attributes)
        kind = uniform(random)
        if kind < _JOIN:
            close_join(a, r, home, b, price, limit)
        elif kind < 2 * _JOIN:
            close_split(a, r, at, home, i, k, price, limit)
        elif kind < 2 * _JOIN + _SHIFT:
            close_shift(a, r, i, b, k, price, limit)
        else:
            y = likest(a, r, at, b, i)
            if kind > 1.0 - _BEST:
                y = best_swap(a, i, b, gap(a.x, i, a.mean, b))[0]
            change = close_swap(a, r, i, y, price, limit)
            if change == np.inf:
                z = near[y, int(uniform(random) * near.shape[1])]
                if a.label[z] not in (home, b):
                    z = likest(a, r, at, a.label[z], y)
                    close_rotate(a, r, i, y, z, price, limit)


def annealed_close(
    where: Ground,
    labels: np.ndarray,
    k: int,
    d: Demands,
    seed: int,
    moves: int,
    hot: float = HOT,
    quench: int = 100,
    room: int = 0,
    go_on: Callable[[float], bool] = lambda share: True,
) -> np.ndarray:
    """Lower the SSE of a partition, and bring its classes to hold all demands.

    Parameters
    ----------
    where : Ground
        The points.
    labels : (n,) integers
        A partition into classes of at least k; whether they hold the demands does not matter.
    k : int
        Least size of a class, at least 2.
    d : Demands
        What classes must hold.
    seed : int
        From 0 to 2⁶⁴ − 1; same seed, same labels.
    moves : int
        Moves to try while it cools.
    hot : float
        Temperature to begin with. The hotter, the less is left of where it began.
    quench : int
        Moves per record at temperature 0, at the end, where nothing is as dear as to miss a demand.
    room : int
        Records that a class may grow to, at least.
    go_on : callable
        Told the share that is done, several times a second; False ends the annealing at once.

    Returns
    -------
    labels : (n,) int64
        Classes numbered by their first rows.

    Guarantee: every class has at least k records. That all hold the demands, or that the SSE is lower, is not promised:
    see for yourself.

    Complexity: O(s · d) for each move, s being the size of the classes it is about.
    """
    announce(_anneal)
    if len(np.unique(labels)) < 2 and len(labels) < 2 * k:
        return numbered(labels)
    a = arrange(where.x, labels, k, room)
    t, heat = max(d.c.t, _CLOSEST), float(where.heat.mean())
    r = roster_of(a, d, _RECORD / (_PRICE / t) if d.close.any() else 1.0)
    random = np.array([seed], np.uint64)
    price = _PRICE * heat / t if d.close.any() else _RECORD * heat
    for share, temperature, some in schedule(moves, quench * len(labels), hot):
        _anneal(a, r, where, k, some, temperature, price if temperature > 0 else price * _FINALLY, random)
        if not go_on(share):
            break
    return numbered(a.label)
