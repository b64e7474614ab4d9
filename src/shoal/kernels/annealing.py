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
_LOCALITY = 0.4  # power of the local scale in the heat: 0 is one heat for all, 1 the local scale itself
_FAINTEST = 1e-3  # least heat, relative to the mean: equal records have a scale of 0
_COMPOUND = 0.05  # share of moves that dissolve a class, and of those that create one
_FARTHEST = 64  # records in the open, which are neighbours of each other wherever they lie
_OPEN = 0.03  # share of moves between them
_STAGES = 200  # temperatures from hot to cold, at most
_MOVES_PER_STAGE = 2_000  # at least: a call has its price
_MOVES_PER_CALL = 1 << 19  # about a tenth of a second


class Ground(NamedTuple):
    """Where an annealing takes place."""

    x: np.ndarray  #: padded points
    near: np.ndarray  #: neighbours of each
    heat: np.ndarray  #: scale of distances around each
    far: np.ndarray  #: the records that lie most in the open


def ground(x: np.ndarray, k: int, count: int | None = None) -> Ground:
    """Look up `count` neighbours of each record, and the scale of distances around it.

    `x` holds finite coordinates whose squares do not overflow, C-contiguous; n ≥ 2.
    """
    near = neighbours(x, count or 12 + 2 * k)
    points = padded(x)
    few = near[:, : max(min(k - 1, near.shape[1]), 1)]
    scale = np.zeros(len(x))
    for r in range(few.shape[1]):
        scale += ((x - x[few[:, r]]) ** 2).sum(axis=1)
    scale *= (k - 1) / (2 * k * few.shape[1])
    mean = scale.mean()
    if mean == 0.0:
        return Ground(points, near, scale, near[:0, 0])
    heat = np.maximum(scale / mean, _FAINTEST) ** _LOCALITY
    heat *= mean / heat.mean()
    far = np.argsort(-heat, kind="stable")[: min(len(x) // 20, _FARTHEST)].astype(np.int32)
    return Ground(points, near, heat, far)


@part
def uniform(random):
    """Draw from [0, 1): a counter, well mixed (SplitMix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)) * 2.0**-53


@part
def neighbour(near, i, random):
    """Draw a neighbour, a near one more often."""
    u = uniform(random)
    return near[i, int(u * u * near.shape[1])]


@kernel
def _anneal(a, where, k, moves, temperature, random):
    """Try so many moves at one temperature; return the change of SSE."""
    near, heat, far = where.near, where.heat, where.far
    n, total = a.x.shape[0], 0.0
    for _ in range(moves):
        kind = uniform(random)
        if kind > 1.0 - _OPEN and far.shape[0] > 0:
            i, j = far[int(uniform(random) * far.shape[0])], far[int(uniform(random) * far.shape[0])]
        else:
            i = np.int32(uniform(random) * n)
            j = neighbour(near, i, random)
        home, b = a.label[i], a.label[j]
        if b == home:
            continue
        limit = -temperature * heat[i] * np.log(1.0 - uniform(random)) - 1e-12 * heat[i]
        change = np.inf
        if kind < _COMPOUND:
            if a.size[home] <= k + 1:
                change = dissolve(a, near, home, limit)
        elif kind < 2 * _COMPOUND:
            change = create(a, near, i, k, limit)
        else:
            change = shift_or_swap(a, i, b, k, limit)
            if change == np.inf:
                y = a.member[b, int(uniform(random) * a.size[b])]
                c = a.label[neighbour(near, y, random)]
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
    quench: int = 100,
    go_on: Callable[[float], bool] = lambda share: True,
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
        From 0 to 2⁶⁴ − 1; same seed, same labels.
    moves : int
        Moves to try while it cools.
    hot : float
        Temperature to begin with. The hotter, the less is left of where it began.
    quench : int
        Moves per record at temperature 0, at the end.
    go_on : callable
        Told the share that is done, several times a second; False ends the annealing at once.

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
    random = np.array([seed], np.uint64)
    for share, temperature, some in schedule(moves, quench * len(labels), hot):
        _anneal(a, where, k, some, temperature, random)
        if not go_on(share):
            break
    return numbered(a.label if total_sse(a) < before else labels)


def schedule(moves: int, quench: int, hot: float) -> list[tuple[float, float, int]]:
    """Return the calls to make: the share done after each, its temperature, its moves."""
    stages = min(max(moves // _MOVES_PER_STAGE, 1), _STAGES) if moves else 0
    calls = [
        (hot * (COLD / hot) ** (stage / max(stages - 1, 1)), part)
        for stage in range(stages)
        for part in _parts(moves // stages)
    ]
    calls += [(0.0, part) for part in _parts(quench)]
    done = np.cumsum([some for _, some in calls])
    return [(float(share / done[-1]), t, some) for share, (t, some) in zip(done, calls, strict=True)]


def _parts(moves: int) -> list[int]:
    return [min(_MOVES_PER_CALL, moves - begin) for begin in range(0, moves, _MOVES_PER_CALL)]
