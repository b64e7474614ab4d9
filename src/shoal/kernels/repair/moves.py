"""Moves between classes that must meet demands: the changes in SSE and in excess.

As in :mod:`shoal.kernels.refine.annealing`, but a class also has an excess, see
:mod:`shoal.kernels.models.class_values`. A move is made if its change of SSE plus `price` times excess is at most
`limit`; otherwise everything stays as it was. Each function returns the change, or infinity if the move was not made. A
class keeps at least k records, and at most as many as its storage holds.

Missing a demand costs SSE at the rate `price`. During cooling a class may miss one for a while; at the end the price is
so high that no class does if it can be avoided.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.kernels.models.class_values import (
    arrive,
    depart,
    excess_of,
    excess_of_union,
    nearest_value,
    roster_of,
    transfer,
)
from shoal.kernels.models.demands import Demands
from shoal.kernels.models.rules import any_rules
from shoal.kernels.refine.annealing import Ground, best_swap, neighbour, schedule, uniform
from shoal.kernels.refine.class_state import apart, arrange, between, numbered, refresh, release, to_mean
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.types.coded import Coded


def halved(x: np.ndarray | Coded, labels: np.ndarray, d: Demands, most: int) -> np.ndarray:
    """Halve classes of more than `most` records until all are small enough.

    Of two records with consecutive values, one goes to each half, so that both halves have nearly the values of the
    whole; the axis on which the class is widest decides which goes where. Records are sorted by the first attribute,
    those of equal value by the second, and so on.
    """
    out, fresh = labels.copy(), int(labels.max()) + 1
    rank = np.empty(len(x), np.int64)
    rank[np.lexsort(d.c.codes[::-1])] = np.arange(len(x))
    waiting = [int(number) for number in np.flatnonzero(np.bincount(labels) > most)]
    while waiting:
        number = waiting.pop()
        inside = np.flatnonzero(out == number)
        inside = inside[np.argsort(rank[inside])]
        values = _widest(x, inside)
        pairs = inside[: len(inside) // 2 * 2].reshape(-1, 2)
        side = np.argmin(values[: pairs.size].reshape(-1, 2), axis=1)
        out[pairs[np.arange(len(pairs)), side]] = fresh
        waiting += [one for one, size in ((number, len(inside) - len(pairs)), (fresh, len(pairs))) if size > most]
        fresh += 1
    return out


def _widest(x: np.ndarray | Coded, rows: np.ndarray) -> np.ndarray:
    """Return the values of some records on the axis, or the codes in the attribute, in which they vary most."""
    if not isinstance(x, Coded):
        return np.asarray(x[rows, int(np.argmax(x[rows].std(axis=0)))])
    most, widest = -1.0, x.codes[:0, 0].astype(np.float64)
    for at in x.layout.order.tolist():
        if at >= 0:
            values = x.numbers[rows, at]
            varied = float(values.var())
        else:
            one, share = x.column(~at), x.layout.weight[~at] / x.layout.height[~at] / 2.0
            values = one.codes[rows].astype(np.float64)
            varied = 0.0
            for low, times in zip(one.low, one.times.tolist(), strict=True):
                counts = np.unique(low[one.codes[rows]], return_counts=True)[1]
                varied += share * times * (1.0 - float((counts / len(rows)) @ (counts / len(rows))))
        if varied > most:
            most, widest = varied, values
    return widest


@part
def close_shift(a, r, i, b, k, price, limit):
    """Move record i to class b."""
    home = a.label[i]
    ma, mb = a.size[home], a.size[b]
    if ma <= k or mb >= a.member.shape[1]:
        return np.inf
    change = to_mean(a, i, b) * mb / (mb + 1.0) - a.own[i] * ma / (ma - 1.0)
    change -= price * (r.excess[home] + r.excess[b])
    if change > limit:
        return np.inf
    without = excess_of(a, r, home, i, -1)
    change += price * without
    if change > limit:
        return np.inf
    having = excess_of(a, r, b, -1, i)
    change += price * having
    if change > limit:
        return np.inf
    transfer(a, r, i, b)
    r.excess[home], r.excess[b] = without, having
    refresh(a, home)
    refresh(a, b)
    return change


@part
def close_swap(a, r, i, y, price, limit):
    """Exchange records i and y."""
    home, b = a.label[i], a.label[y]
    w = 1.0 / a.size[home] + 1.0 / a.size[b]
    change = to_mean(a, y, home) - a.own[i] + to_mean(a, i, b) - a.own[y] - apart(a, i, y) * w
    change -= price * (r.excess[home] + r.excess[b])
    if change > limit:
        return np.inf
    ours = excess_of(a, r, home, i, y)
    change += price * ours
    if change > limit:
        return np.inf
    theirs = excess_of(a, r, b, y, i)
    change += price * theirs
    if change > limit:
        return np.inf
    depart(a, r, i)
    depart(a, r, y)
    arrive(a, r, i, b)
    arrive(a, r, y, home)
    r.excess[home], r.excess[b] = ours, theirs
    refresh(a, home)
    refresh(a, b)
    return change


@part
def close_rotate(a, r, i, y, z, price, limit):
    """Put i in the place of y, y in that of z, and z in that of i, in three different classes."""
    home, b, c = a.label[i], a.label[y], a.label[z]
    change = to_mean(a, i, b) - a.own[y] - apart(a, i, y) / a.size[b]
    change += to_mean(a, y, c) - a.own[z] - apart(a, y, z) / a.size[c]
    change += to_mean(a, z, home) - a.own[i] - apart(a, z, i) / a.size[home]
    change -= price * (r.excess[home] + r.excess[b] + r.excess[c])
    if change > limit:
        return np.inf
    first = excess_of(a, r, home, i, z)
    second = excess_of(a, r, b, y, i)
    third = excess_of(a, r, c, z, y)
    change += price * (first + second + third)
    if change > limit:
        return np.inf
    depart(a, r, i)
    depart(a, r, y)
    depart(a, r, z)
    arrive(a, r, i, b)
    arrive(a, r, y, c)
    arrive(a, r, z, home)
    r.excess[home], r.excess[b], r.excess[c] = first, second, third
    refresh(a, home)
    refresh(a, b)
    refresh(a, c)
    return change


@part
def close_join(a, r, c, b, price, limit):
    """Merge class c into class b.

    The excess does not rise, because a union of close classes is close, unless a demand is not monotone. Its fall
    counts in favour of the move only if there are rules: where only t applies, two classes that miss it seldom make a
    good one.
    """
    m, other = a.size[c], a.size[b]
    before, rules = r.excess[b] + r.excess[c], any_rules(r.rules)
    change = between(a, c, b) * m * other / (m + other)
    if m + other > a.member.shape[1] or change - (price * before if rules else 0.0) > limit:
        return np.inf
    after = excess_of_union(a, r, b, c)
    if rules and change + price * (after - before) > limit:
        return np.inf
    for _ in range(m):
        transfer(a, r, a.member[c, 0], b)
    r.excess[b], r.excess[c] = after, 0.0
    refresh(a, b)
    release(a, c)
    return change + price * (after - before)


@part
def close_split(a, r, at, c, i, k, price, limit):
    """Halve class c: of two members with consecutive values, the one nearer to i goes with it.

    Both halves then have nearly the same values as the whole.
    """
    m = a.size[c]
    if a.spare[0] == 0 or m < 2 * k:
        return np.inf
    far, most = -1, 0.0
    for q in range(m):
        here = apart(a, a.member[c, q], i)
        if here > most:
            far, most = a.member[c, q], here
    if far < 0:
        return np.inf
    fresh, half, before = a.free[a.spare[0] - 1], 0, 0.0
    for q in range(0, m - 1, 2):
        x, y = r.record[at, c, q], r.record[at, c, q + 1]
        lean_x = apart(a, x, i) - apart(a, x, far)
        lean_y = apart(a, y, i) - apart(a, y, far)
        r.side[half] = x if lean_x <= lean_y else y
        half += 1
    for q in range(m):
        before += a.own[a.member[c, q]]
    excess = r.excess[c]
    for q in range(half):
        transfer(a, r, r.side[q], fresh)
    refresh(a, c)
    refresh(a, fresh)
    r.excess[c], r.excess[fresh] = excess_of(a, r, c, -1, -1), excess_of(a, r, fresh, -1, -1)
    change = price * (r.excess[c] + r.excess[fresh] - excess) - before
    for q in range(a.size[c]):
        change += a.own[a.member[c, q]]
    for q in range(a.size[fresh]):
        change += a.own[a.member[fresh, q]]
    if change <= limit:
        a.spare[0] -= 1
        return change
    for q in range(half):
        transfer(a, r, r.side[q], c)
    r.excess[c], r.excess[fresh] = excess, 0.0
    refresh(a, c)
    return np.inf


_JOIN = 0.01  # share of moves that merge two classes, and of those that split one
_SHIFT = 0.2  # share of moves that shift a record
_BEST = 0.4  # share of moves that exchange a record for the best-fitting one; the rest, for the nearest in value
HOT = 10.0  #: initial temperature, in units of a record's heat: higher than without closeness, which hinders moves
_PRICE = 500.0  # price of an excess of t, in units of the mean heat
_RECORD = 20.0  # price of a record missing from a rule, in the same units
_CLOSEST = 1e-3  # t below which the price does not rise further
_FINALLY = 1e6  # factor on the price at the end


@kernel
def _anneal(a, r, where, k, moves, temperature, price, random):
    """Try `moves` moves at one temperature."""
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
            y = nearest_value(a, r, at, b, i)
            if kind > 1.0 - _BEST:
                y = best_swap(a, i, b, to_mean(a, i, b))[0]
            change = close_swap(a, r, i, y, price, limit)
            if change == np.inf:
                z = near[y, int(uniform(random) * near.shape[1])]
                if a.label[z] not in (home, b):
                    z = nearest_value(a, r, at, a.label[z], y)
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
    """Lower the SSE of a partition, and make its classes meet all demands, whether they did before or not.

    As :func:`shoal.kernels.refine.annealing.annealed`; in the moves at temperature 0, nothing costs more than missing a
    demand. A class may grow to at least `room` records.

    Guarantee: every class has at least k records. Whether all meet the demands, and whether the SSE is lower, is not
    guaranteed; the caller must check. Complexity: O(s · d) for each move, with s the size of the classes involved.
    """
    announce(_anneal)
    if len(np.unique(labels)) < 2 and len(labels) < 2 * k:
        return numbered(labels)
    a = arrange(where.points, labels, k, room)
    t, heat = max(d.c.t, _CLOSEST), float(where.heat.mean())
    r = roster_of(a, d, _RECORD / (_PRICE / t) if d.close.any() else 1.0)
    random = np.array([seed], np.uint64)
    price = _PRICE * heat / t if d.close.any() else _RECORD * heat
    for share, temperature, some in schedule(moves, quench * len(labels), hot):
        _anneal(a, r, where, k, some, temperature, price if temperature > 0 else price * _FINALLY, random)
        if not go_on(share):
            break
    return numbered(a.label)
