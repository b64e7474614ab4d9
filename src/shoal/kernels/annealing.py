"""Simulated annealing of a partition: moves between neighbouring classes, fewer and fewer of them for the worse.

A move that raises the SSE by Δ is made with the probability exp(−Δ / (T·h)), where the temperature T falls
geometrically and h, the *heat* of a record, is the scale of distances where it lies. Records in the open and records
in a crowd thus freeze at the same time, which matters where a few far records carry most of the loss.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels.arrangement import arrange, numbered, total_sse
from shoal.kernels.gap import padded
from shoal.kernels.jit import announce, kernel, part
from shoal.kernels.moves import create, dissolve, rotate, shift_or_swap
from shoal.kernels.neighbours import neighbours

HOT, COLD = 2.0, 0.05  # temperatures, in units of a record's heat
_LOCALITY = 0.6  # power of the local scale in the heat: 0 is one heat for all, 1 the local scale itself
_FAINTEST = 1e-3  # least heat, relative to the mean: equal records have a scale of 0
_COMPOUND = 0.05  # share of moves that dissolve a class, and of those that create one
_STAGES = 200  # temperatures between hot and cold
_QUENCH = 100  # moves per record at temperature 0, at the end
_MOVES_PER_CALL = 1 << 19  # about a tenth of a second


class Ground(NamedTuple):
    """Where an annealing takes place: padded points, their neighbours, their heat."""

    x: np.ndarray
    near: np.ndarray
    heat: np.ndarray


def ground(x: np.ndarray, k: int) -> Ground:
    """Look up the neighbours of all records, and the scale of distances around each.

    `x` holds finite coordinates within 2±500, C-contiguous; n ≥ 2.
    """
    near = neighbours(x, 12 + 2 * k)
    points = padded(x)
    few = near[:, : max(min(k - 1, near.shape[1]), 1)]
    scale = np.zeros(len(x))
    for r in range(few.shape[1]):
        scale += ((x - x[few[:, r]]) ** 2).sum(axis=1)
    scale *= (k - 1) / (2 * k * few.shape[1])
    mean = scale.mean()
    if mean == 0.0:
        return Ground(points, near, scale)
    heat = np.maximum(scale / mean, _FAINTEST) ** _LOCALITY
    return Ground(points, near, heat * (mean / heat.mean()))


@part
def _uniform(random):
    """Draw from [0, 1): Marsaglia's xorshift."""
    z = random[0]
    z ^= z << np.uint64(13)
    z ^= z >> np.uint64(7)
    z ^= z << np.uint64(17)
    random[0] = z
    return (z >> np.uint64(11)) * 2.0**-53


@part
def _neighbour(near, i, random):
    """Draw a neighbour, a near one more often."""
    u = _uniform(random)
    return near[i, int(u * u * near.shape[1])]


@kernel
def _anneal(a, near, heat, k, moves, temperature, random):
    """Try so many moves at one temperature; return the change of SSE."""
    n, total = a.x.shape[0], 0.0
    for _ in range(moves):
        i = int(_uniform(random) * n)
        home, b = a.label[i], a.label[_neighbour(near, i, random)]
        if b == home:
            continue
        kind = _uniform(random)
        limit = -temperature * heat[i] * np.log(1.0 - _uniform(random)) - 1e-12 * heat[i]
        change = np.inf
        if kind < _COMPOUND:
            if a.size[home] <= k + 1:
                change = dissolve(a, near, home, limit)
        elif kind < 2 * _COMPOUND:
            change = create(a, near, i, k, limit)
        else:
            change = shift_or_swap(a, i, b, k, limit)
            if change == np.inf:
                y = a.member[b, int(_uniform(random) * a.size[b])]
                c = a.label[_neighbour(near, y, random)]
                if c not in (home, b):
                    change = rotate(a, i, y, c, k, limit)
        if change != np.inf:
            total += change
    return total


def annealed(
    where: Ground,
    labels: np.ndarray,
    k: int,
    seed: int,
    moves: int,
    hot: float = HOT,
    report: Callable[[float], None] = lambda share: None,
) -> np.ndarray:
    """Lower the SSE of a partition by annealing.

    Parameters
    ----------
    where : Ground
        The points.
    labels : (n,) integers
        A partition into classes of at least k.
    k : int
        Least size of a class, at least 2.
    seed : int
        At least 0; same seed, same labels.
    moves : int
        Moves to try while it cools; then come some at temperature 0.
    hot : float
        Temperature to begin with. The hotter, the less is left of where it began.
    report : callable
        Told the share that is done, several times a second. What it raises ends the annealing.

    Returns
    -------
    labels : (n,) int64
        Classes numbered by their first rows.

    Guarantee: every class has at least k records, and at most 2k−1 or as many as the largest had before. The SSE is
    at most that of the partition given.

    Complexity: about 0.15 µs for each move where classes are small; O(k·d) for each.
    """
    announce(_anneal)
    if len(np.unique(labels)) < 2 or where.near.shape[1] == 0:
        return numbered(labels)
    a = arrange(where.x, labels, k)
    before = total_sse(a)
    random = np.array([2 * seed + 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF or 1], np.uint64)
    quench = _QUENCH * len(labels)
    for share, temperature, some in _schedule(moves, quench, hot):
        _anneal(a, where.near, where.heat, k, some, temperature, random)
        report(share)
    return numbered(a.label if total_sse(a) < before else labels)


def _schedule(moves: int, quench: int, hot: float) -> list[tuple[float, float, int]]:
    """Return the calls to make: the share done after each, its temperature, its moves."""
    each = max(moves // _STAGES, 1)
    calls = [
        (hot * (COLD / hot) ** (stage / (_STAGES - 1)), part)
        for stage in range(_STAGES if moves else 0)
        for part in _parts(each)
    ]
    calls += [(0.0, part) for part in _parts(quench)]
    done = np.cumsum([some for _, some in calls])
    return [(float(share / done[-1]), t, some) for share, (t, some) in zip(done, calls, strict=True)]


def _parts(moves: int) -> list[int]:
    return [min(_MOVES_PER_CALL, moves - begin) for begin in range(0, moves, _MOVES_PER_CALL)]
