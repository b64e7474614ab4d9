"""Moves between neighbouring classes, each with the change of SSE it brings.

With m records, mean μ and g(x) = |x − μ|², a class that gains x gains m/(m+1)·g(x); one that loses x loses
m/(m−1)·g(x); one that has y in place of x gains g(y) − g(x) − |x − y|²/m.

Every move is made if it changes the SSE by no more than `limit`, else all is left as it was. Each returns the change,
or infinity if it was not made.
A class keeps at least k records and at most as many as there is room for.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.arrangement import enter, leave, mean_with, mean_without, move, refresh, release
from shoal.kernels.gap import gap
from shoal.kernels.jit import part

_HOMES = 12  # neighbours whose classes may take in a record of a dissolved class


@part
def best_swap(a, i, b, to_b):
    """Return the record of class b with which to exchange i at the least change, and the change.

    `to_b` is the squared distance from i to the mean of b.
    """
    home, best, partner = a.label[i], np.inf, -1
    w = 1.0 / a.size[home] + 1.0 / a.size[b]
    for q in range(a.size[b]):
        y = a.member[b, q]
        change = gap(a.x, y, a.mean, home) - a.own[i] + to_b - a.own[y] - gap(a.x, i, a.x, y) * w
        if change < best:
            best, partner = change, y
    return partner, best


@part
def shift_or_swap(a, i, b, k, limit):
    """Move i to class b, or else exchange it for the record of b that fits best."""
    home = a.label[i]
    ma, mb, to_b = a.size[home], a.size[b], gap(a.x, i, a.mean, b)
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
    """Let i take the place of y in its class, y go to class c, and a record of c take the place of i if need be."""
    home, b = a.label[i], a.label[y]
    ma, mb, mc = a.size[home], a.size[b], a.size[c]
    to_c = gap(a.x, y, a.mean, c)
    change_b = gap(a.x, i, a.mean, b) - a.own[y] - gap(a.x, i, a.x, y) / mb
    best, third = np.inf, -1
    if ma > k and mc < a.member.shape[1]:  # a chain: c grows, the class of i shrinks
        best = change_b - a.own[i] * ma / (ma - 1.0) + to_c * mc / (mc + 1.0)
    for q in range(mc):
        z = a.member[c, q]
        change_c = to_c - a.own[z] - gap(a.x, y, a.x, z) / mc
        change_a = gap(a.x, z, a.mean, home) - a.own[i] - gap(a.x, i, a.x, z) / ma
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
    """Return the neighbouring class that takes in record i at the least cost, and the cost; none is -1."""
    best, home = np.inf, -1
    for r in range(min(near.shape[1], _HOMES)):
        c = a.label[near[i, r]]
        m = a.size[c]
        if c != a.label[i] and m < a.member.shape[1]:
            cost = gap(a.x, i, a.mean, c) * m / (m + 1.0)
            if cost < best:
                best, home = cost, c
    return home, best


@part
def dissolve(a, near, c, limit):
    """Give all records of class c to neighbouring classes."""
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
    """Form a class of i and its k−1 nearest of those whose classes can spare a record."""
    if a.spare[0] == 0 or a.size[a.label[i]] <= k:
        return np.inf
    fresh, change, done, x = a.free[a.spare[0] - 1], 0.0, 0, i
    for r in range(near.shape[1] + 1):
        x = near[i, r - 1] if r > 0 else i
        c = a.label[x]
        if c != fresh and a.size[c] > k:
            m = a.size[c]
            change -= gap(a.x, x, a.mean, c) * m / (m - 1.0)
            if done > 0:
                change += gap(a.x, x, a.mean, fresh) * done / (done + 1.0)
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
