"""Simulated annealing of a partition: moves between neighbouring classes, with ever fewer uphill moves.

A move that raises the SSE by Δ is accepted with probability exp(−Δ / (T·h)), where the temperature T falls
geometrically and h, the *heat* of a record, is the local scale of distances. Records in sparse and in dense regions
thus freeze at the same time, which matters where a few remote records carry most of the loss.

Let a class have m records, mean μ and g(x) = |x − μ|². Adding x raises its SSE by m/(m+1)·g(x); removing x lowers it by
m/(m−1)·g(x); replacing x by y changes it by g(y) − g(x) − |x − y|²/m.

A move is made if it changes the SSE by no more than `limit`; otherwise everything stays as it was. Each function
returns the change, or infinity if the move was not made. A class keeps at least k records, and at most as many as its
storage holds.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import Groups
from shoal.kernels.refine.class_state import (
    Padded,
    apart,
    arrange,
    enter,
    laid_out,
    leave,
    mean_with,
    mean_without,
    move,
    numbered,
    refresh,
    release,
    to_mean,
    total_sse,
)
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.kd_order import equal_records
from shoal.kernels.space.neighbours import neighbours
from shoal.types.coded import Coded

_HOMES = 12  # neighbours whose classes may take in a record of a dissolved class


@part
def best_swap(a, i, b, to_b):
    """Return the record of class b that i can be exchanged with at the least change, and the change.

    `to_b` is the squared distance from i to the mean of b.
    """
    home, best, partner = a.label[i], np.inf, -1
    w = 1.0 / a.size[home] + 1.0 / a.size[b]
    for q in range(a.size[b]):
        y = a.member[b, q]
        change = to_mean(a, y, home) - a.own[i] + to_b - a.own[y] - apart(a, i, y) * w
        if change < best:
            best, partner = change, y
    return partner, best


@part
def shift_or_swap(a, i, b, k, limit):
    """Move i to class b, or else exchange it for the best-fitting record of b."""
    home = a.label[i]
    ma, mb, to_b = a.size[home], a.size[b], to_mean(a, i, b)
    if ma > k and mb < a.member.shape[1]:
        change = to_b * mb / (mb + 1.0) - a.own[i] * ma / (ma - 1.0)
        if change <= limit:
            move(a, i, b)
            refresh(a, home)
            refresh(a, b)
            return change
    partner, change = best_swap(a, i, b, to_b)
    if change > limit:
        return np.inf
    leave(a, partner)
    move(a, i, b)
    enter(a, partner, home)
    refresh(a, home)
    refresh(a, b)
    return change


@part
def rotate(a, i, y, c, k, limit):
    """Put i in the place of y, move y to class c, and put a record of c in the place of i if sizes require it."""
    home, b = a.label[i], a.label[y]
    ma, mb, mc = a.size[home], a.size[b], a.size[c]
    to_c = to_mean(a, y, c)
    change_b = to_mean(a, i, b) - a.own[y] - apart(a, i, y) / mb
    best, third = np.inf, -1
    if ma > k and mc < a.member.shape[1]:  # a chain: c grows, the class of i shrinks
        best = change_b - a.own[i] * ma / (ma - 1.0) + to_c * mc / (mc + 1.0)
    for q in range(mc):
        z = a.member[c, q]
        change_c = to_c - a.own[z] - apart(a, y, z) / mc
        change_a = to_mean(a, z, home) - a.own[i] - apart(a, i, z) / ma
        if change_a + change_b + change_c < best:
            best, third = change_a + change_b + change_c, z
    if best > limit:
        return np.inf
    leave(a, y)
    move(a, i, b)
    if third >= 0:
        move(a, third, home)
    enter(a, y, c)
    refresh(a, home)
    refresh(a, b)
    refresh(a, c)
    return best


@part
def _home_for(a, near, i):
    """Return the neighbouring class that takes in record i at the least cost, and the cost; -1 if no class can."""
    best, home = np.inf, -1
    for r in range(min(near.shape[1], _HOMES)):
        c = a.label[near[i, r]]
        m = a.size[c]
        if c != a.label[i] and m < a.member.shape[1]:
            cost = to_mean(a, i, c) * m / (m + 1.0)
            if cost < best:
                best, home = cost, c
    return home, best


@part
def dissolve(a, near, c, limit):
    """Distribute all records of class c among neighbouring classes."""
    m, change, done = a.size[c], 0.0, 0
    for q in range(m):
        a.moved[0, q] = a.member[c, q]
        change -= a.own[a.member[c, q]]
    for q in range(m):
        i = a.moved[0, q]
        home, cost = _home_for(a, near, i)
        change += cost
        if home < 0 or change > limit:
            change = np.inf
            break
        mean_with(a, home, i)
        move(a, i, home)
        a.moved[1, q] = home
        done += 1
    made = done == m and change <= limit
    if not made:
        for q in range(done):
            move(a, a.moved[0, q], c)
    for q in range(done):
        refresh(a, a.moved[1, q])
    if made:
        release(a, c)
        return change
    if done > 0:
        refresh(a, c)
    return np.inf


@part
def create(a, near, i, k, limit):
    """Form a class of i and its k−1 nearest records whose classes can spare one."""
    if a.spare[0] == 0 or a.size[a.label[i]] <= k:
        return np.inf
    fresh, change, done, x = a.free[a.spare[0] - 1], 0.0, 0, i
    for r in range(near.shape[1] + 1):
        x = near[i, r - 1] if r > 0 else i
        c = a.label[x]
        if c != fresh and a.size[c] > k:
            m = a.size[c]
            change -= to_mean(a, x, c) * m / (m - 1.0)
            if done > 0:
                change += to_mean(a, x, fresh) * done / (done + 1.0)
            mean_without(a, c, x)
            mean_with(a, fresh, x)
            move(a, x, fresh)
            a.moved[0, done], a.moved[1, done] = x, c
            done += 1
            if done == k:
                break
    made = done == k and change <= limit
    if not made:
        for q in range(done):
            move(a, a.moved[0, q], a.moved[1, q])
    for q in range(done):
        refresh(a, a.moved[1, q])
    if not made:
        return np.inf
    refresh(a, fresh)
    a.spare[0] -= 1
    return change


HOT, COLD = 2.0, 0.05  # temperatures, in units of a record's heat
_LOCALITY = 0.4  # power of the local scale in the heat: 0 is one heat for all, 1 the local scale itself
_FAINTEST = 1e-3  # least heat, relative to the mean: equal records have a scale of 0
_COMPOUND = 0.05  # share of moves that dissolve a class, and of those that create one
_FARTHEST = 64  # remote records, which count as each other's neighbours wherever they lie
_OPEN = 0.03  # share of moves between them
_STAGES = 200  # most temperatures from hot to cold
_MOVES_PER_STAGE = 2_000  # at least this many: each call has a fixed cost
_MOVES_PER_CALL = 1 << 19  # about a tenth of a second


class Ground(NamedTuple):
    """Points of an annealing, with their neighbours and local scales."""

    points: Padded
    near: np.ndarray  #: neighbours of each point
    heat: np.ndarray  #: scale of distances around each point
    far: np.ndarray  #: the most remote records


def ground(x: np.ndarray | Coded, k: int, count: int | None = None) -> Ground:
    """Find `count` neighbours of each record, and the scale of distances around it.

    Coordinates are finite, and their squares do not overflow; C-contiguous; n ≥ 2.
    """
    near = _different(x, count or 12 + 2 * k)
    points = laid_out(x)
    few = near[:, : max(min(k - 1, near.shape[1]), 1)]
    scale = np.zeros(len(x))
    for r in range(few.shape[1]):
        scale += _apart_from(x, points.groups, few[:, r])
    scale *= (k - 1) / (2 * k * few.shape[1])
    mean = scale.mean()
    if mean == 0.0:
        return Ground(points, near, scale, near[:0, 0])
    heat = np.maximum(scale / mean, _FAINTEST) ** _LOCALITY
    heat *= mean / heat.mean()
    far = np.argsort(-heat, kind="stable")[: min(len(x) // 20, _FARTHEST)].astype(np.int32)
    return Ground(points, near, heat, far)


_COPIES = 3  # equal records among the neighbours of a record, at most


def _different(x: np.ndarray | Coded, count: int) -> np.ndarray:
    """Return neighbours of each record, few of them equal to it: moves to the classes of all copies would find little.

    Of equal neighbours, each record gets one, in turn.
    """
    members, bounds = equal_records(x)
    copies = np.diff(bounds)
    if len(copies) == len(x) or len(copies) < 2:
        return neighbours(x, count)
    unit, turn = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    unit[members] = np.repeat(np.arange(len(copies)), copies)
    turn[members] = np.arange(len(x)) - np.repeat(bounds[:-1], copies)
    others = neighbours(x[members[bounds[:-1]]], count)[unit]
    others = members[bounds[others] + turn[:, None] % copies[others]]
    few = min(_COPIES, int(copies.max()) - 1)
    own = (turn[:, None] + 1 + np.arange(few)) % copies[unit][:, None]
    same = members[bounds[unit][:, None] + own]
    fresh = np.arange(few) + 1 < copies[unit][:, None]
    ranked = np.concatenate((np.where(fresh, same, -1), others), axis=1)
    ranked = np.take_along_axis(ranked, np.argsort(ranked < 0, axis=1, kind="stable"), axis=1)
    return np.ascontiguousarray(ranked[:, : others.shape[1]], dtype=np.int32)


def _apart_from(x: np.ndarray | Coded, groups: Groups | None, others: np.ndarray) -> np.ndarray:
    """Return the squared distance of each record from another."""
    numbers = x.numbers if isinstance(x, Coded) else x
    found = ((numbers - numbers[others]) ** 2).sum(axis=1)
    if groups is not None:
        for column, weight in zip(groups.number.T, groups.weight.tolist(), strict=True):
            found += weight * (column != column[others])
    return np.asarray(found)


@part
def uniform(random):
    """Draw from [0, 1) by hashing a counter (SplitMix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)) * 2.0**-53


@part
def neighbour(near, i, random):
    """Draw a neighbour; nearer ones are more likely."""
    u = uniform(random)
    return near[i, int(u * u * near.shape[1])]


@kernel
def _anneal(a, where, k, moves, temperature, random):
    """Try `moves` moves at one temperature; return the change of SSE."""
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

    `moves` moves are tried while the temperature falls from `hot`: the hotter, the less remains of the initial
    partition. Then follow `quench` moves per record at temperature 0. `go_on` receives the share done, several times a
    second; if it returns False, annealing ends at once.

    Guarantee: every class has at least k records, and at most 2k−1 or the size of the largest class before. The SSE is
    at most that of the given partition. Complexity: O(k·d) per move, about 0.15 µs where classes are small.
    """
    announce(_anneal)
    if len(np.unique(labels)) < 2 or where.near.shape[1] == 0:
        return numbered(labels)
    a = arrange(where.points, labels, k)
    before = total_sse(a)
    random = np.array([seed], np.uint64)
    for share, temperature, some in schedule(moves, quench * len(labels), hot):
        _anneal(a, where, k, some, temperature, random)
        if not go_on(share):
            break
    return numbered(a.label if total_sse(a) < before else labels)


def schedule(moves: int, quench: int, hot: float) -> list[tuple[float, float, int]]:
    """Return the calls to make: share done after each, its temperature, its moves."""
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
