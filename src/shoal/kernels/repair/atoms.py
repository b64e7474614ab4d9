"""Annealing of whole atoms: classes are unions of small classes that are never taken apart.

An *atom* is a class of at least k records, formed from quasi-identifiers alone. Everything here depends on the atoms'
means, their sizes, and their multisets of confidential values; which record of an atom has which value is never used.

Let class C hold W records whose coordinates sum to S. The SSE of a partition is a constant minus Σ |S|² / W, so a move
changes it by the values of |S|² / W before and after, in the classes involved. The part of |S|² in coded attributes is
that of :mod:`shoal.kernels.repair.coded_atoms`.

The *excess* of a class is the amount by which it misses its demands, as in :mod:`shoal.kernels.models.class_values`. A
move is made if its change of SSE plus `price` times excess is at most `limit`; otherwise everything stays as it was.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_statistics import class_means
from shoal.kernels.closeness.earth_mover import Closeness, most_work, work
from shoal.kernels.models.demands import Demands
from shoal.kernels.models.rules import Rules, rules_excess
from shoal.kernels.refine.annealing import neighbour, schedule, uniform
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.repair.coded_atoms import (
    CodedAtoms,
    CodedUnions,
    add_gaps,
    coded_atoms,
    coded_unions,
    codes_enter,
    codes_leave,
    plus_gap,
    plus_refreshed,
    plus_square,
    plus_square_of_pair,
    plus_square_of_union,
    some_coded,
)
from shoal.kernels.runtime.jit import announce, inlined, kernel, part
from shoal.kernels.space.neighbours import neighbours
from shoal.kernels.space.sparse_means import Centroids
from shoal.types.coded import Coded

HOT = 3.0  #: initial temperature, in units of the mean heat of an atom
_PRICE = 1000.0  # price of an excess of t of one record, in units of the mean heat
_RECORD = 3.0  # price of a record missing from a rule, in the same units
_CLOSEST = 1e-3  # t below which the price does not rise further
_FINALLY = 1e6  # factor on the price at the end
_JOIN, _SPLIT, _DISSOLVE, _EJECT, _PAIR = 0.01, 0.02, 0.03, 0.06, 0.10  # cumulative shares of compound moves
_SHIFT = 0.45  # cumulative share with moves of one atom; the rest exchange two
_NEAR = 40  # neighbours of an atom that it may move to
_FEW = 4  # neighbours that give the scale of distances
_HOMES = 12  # neighbours whose classes may take in an atom of a dissolved class


class Atoms(NamedTuple):
    """Atoms, in an order that does not depend on rows."""

    x: np.ndarray  #: (atoms, d) mean of the records, coded attributes apart
    size: np.ndarray  #: (atoms,) int64 records
    begin: np.ndarray  #: (atoms + 1,) int64: the first code of each atom
    code: np.ndarray  #: (attributes, n) int32: the codes, atom after atom, ascending
    codes: np.ndarray  #: (attributes, atoms) int64: sum of the codes
    near: np.ndarray  #: (atoms, some) int32 neighbours
    heat: np.ndarray  #: (atoms,) scale of the change of SSE when the atom moves
    coded: CodedAtoms | None = None


class Unions(NamedTuple):
    """Classes of atoms while atoms move."""

    label: np.ndarray  #: (atoms,) int32
    place: np.ndarray  #: (atoms,) int32: position of the atom within its class
    member: np.ndarray  #: (classes, most atoms) int32
    atoms: np.ndarray  #: (classes,) int64: how many
    size: np.ndarray  #: (classes,) int64 records
    total: np.ndarray  #: (classes, d) sum of the coordinates of the records
    value: np.ndarray  #: (classes,) |S|² / W
    code: np.ndarray  #: (attributes, classes, most records) int32, ascending
    codes: np.ndarray  #: (attributes, classes) int64: sum of the codes
    whole: np.ndarray  #: (attributes,) int64: sum of the codes of the table
    excess: np.ndarray  #: (classes,) float64
    free: np.ndarray  #: (classes,) int32: a stack of unused class numbers
    spare: np.ndarray  #: (1,) int64: how many of them
    moved: np.ndarray  #: (2, most atoms) int32: atoms of a compound move, and their classes before
    trial: np.ndarray  #: (most records + 1,) int32: codes of a trial class
    scratch: np.ndarray  #: scratch space of the rules
    c: Closeness
    close: np.ndarray  #: (attributes,) bool: whether t applies
    rules: Rules | None  #: None: only t applies
    each: float  #: excess per missing record of a rule
    coded: CodedUnions | None = None


def atoms_of(x: np.ndarray | Coded, labels: np.ndarray, d: Demands, count: int = _NEAR) -> Atoms:
    """Lay out the atoms of a partition, numbered from 0, with `count` neighbours each."""
    size = np.bincount(labels)
    code = np.empty(d.c.codes.shape, np.int32)
    for at in range(len(code)):
        code[at] = d.c.codes[at][np.lexsort((d.c.codes[at], labels))]
    begin = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    sums = np.add.reduceat(code.astype(np.int64), begin[:-1], axis=1)
    mean, coded = means_of_classes(x.numbers if isinstance(x, Coded) else x, labels), coded_atoms(x, labels)
    atoms = Atoms(mean, size.astype(np.int64), begin, code, sums, np.empty((0, 0), np.int32), np.empty(0), coded)
    return _with_neighbours(atoms, typical_of(x, labels), count)


def atoms_of_means(mean: np.ndarray, size: np.ndarray, code: np.ndarray, count: int = _NEAR) -> Atoms:
    """Lay out atoms of records without coded attributes: their means, sizes, and codes, atom after atom, ascending."""
    begin = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    sums = np.add.reduceat(code.astype(np.int64), begin[:-1], axis=1)
    code = np.ascontiguousarray(code, np.int32)
    atoms = Atoms(mean, size.astype(np.int64), begin, code, sums, np.empty((0, 0), np.int32), np.empty(0))
    return _with_neighbours(atoms, mean, count)


def typical_of(x: np.ndarray | Coded, labels: np.ndarray) -> np.ndarray | Coded:
    """Return a point near the mean of each atom: the mean itself, or with coded attributes a record."""
    return Centroids(x, labels).typical() if isinstance(x, Coded) else means_of_classes(x, labels)


def _with_neighbours(a: Atoms, typical: np.ndarray | Coded, count: int) -> Atoms:
    near = neighbours(typical, min(count, len(a.size) - 1))
    few = near[:, :_FEW]
    heat = np.zeros(len(a.size))
    for r in range(few.shape[1]):
        apart = ((a.x - a.x[few[:, r]]) ** 2).sum(axis=1)
        if a.coded is not None:
            add_gaps(a.coded, a.size, np.ascontiguousarray(few[:, r]), apart)
        heat += apart
    return a._replace(near=near, heat=heat * a.size / (2 * max(few.shape[1], 1)))


def some_atoms(a: Atoms, chosen: np.ndarray, typical: np.ndarray | Coded) -> Atoms:
    """Return some of the atoms, with neighbours among them; `typical` is a point near the mean of each of these."""
    size = a.size[chosen]
    begin = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    places = np.repeat(a.begin[chosen] - begin[:-1], size) + np.arange(begin[-1])
    code = np.ascontiguousarray(a.code[:, places])
    some = Atoms(
        a.x[chosen],
        size,
        begin,
        code,
        np.ascontiguousarray(a.codes[:, chosen]),
        a.near,
        a.heat,
        some_coded(a.coded, chosen),
    )
    return _with_neighbours(some, typical, a.near.shape[1])


def means_of_classes(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the mean of every class, exactly rounded, so that it does not depend on the order of records."""
    means = np.zeros((int(labels.max()) + 1, x.shape[1]))
    for j in range(x.shape[1]):
        means[:, j] = class_means(np.ascontiguousarray(x[:, j]), labels)
    return means


def _unions(a: Atoms, labels: np.ndarray, d: Demands, room: int, each: float) -> Unions:
    """Lay out classes of atoms; a class may grow to `room` records, or to the size of the largest."""
    classes, atoms = len(a.size), len(a.size)
    most = max(room, int(np.bincount(labels, weights=a.size).max()), int(2 * a.size.max()))
    member = min(atoms, most // int(a.size.min()) + 1)
    attributes = len(a.code)
    u = Unions(
        np.full(atoms, -1, np.int32),
        np.zeros(atoms, np.int32),
        np.zeros((classes, member), np.int32),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros((classes, a.x.shape[1])),
        np.zeros(classes),
        np.zeros((attributes, classes, most), np.int32),
        np.zeros((attributes, classes), np.int64),
        _sums_of_the_table(d.c),
        np.zeros(classes),
        np.zeros(classes, np.int32),
        np.zeros(1, np.int64),
        np.zeros((2, member), np.int32),
        np.zeros(most + 1, np.int32),
        np.zeros(d.scratch, np.int64),
        d.c,
        d.close,
        d.rules if len(d.rules.whole) else None,
        float(each),
        coded_unions(a.coded, classes, most),
    )
    _fill(a, u, labels.astype(np.int32))
    return u


def _sums_of_the_table(c: Closeness) -> np.ndarray:
    """Return the sum of the codes of all records of the table, for each ordered attribute."""
    found = np.zeros(len(c.line), np.int64)
    for at in np.flatnonzero(c.line):
        counts = np.diff(c.below[c.first[at] : c.first[at + 1]], prepend=0)
        found[at] = (counts * np.arange(len(counts))).sum()
    return found


@kernel
def _fill(a, u, labels):
    for i in range(labels.shape[0]):
        _enter(a, u, i, labels[i])
    for c in range(u.atoms.shape[0] - 1, -1, -1):
        if u.atoms[c] == 0:
            _release(u, c)
        else:
            _refresh(a, u, c)
            u.excess[c] = _excess(a, u, c, -1, -1)


@part
def _release(u, c):
    u.free[u.spare[0]] = c
    u.spare[0] += 1
    u.value[c] = 0.0
    u.excess[c] = 0.0


@part
def _refresh(a, u, c):
    """Recompute the sum of a class from its atoms, so that rounding errors do not accumulate."""
    d = a.x.shape[1]
    for j in range(d):
        u.total[c, j] = 0.0
    for q in range(u.atoms[c]):
        i = u.member[c, q]
        for j in range(d):
            u.total[c, j] += a.size[i] * a.x[i, j]
    value = 0.0
    for j in range(d):
        value += u.total[c, j] * u.total[c, j]
    value = plus_refreshed(a.coded, u.coded, value, u.member, c, u.atoms[c], u.size[c])
    u.value[c] = value / u.size[c] if u.size[c] > 0 else 0.0


@inlined
def _value(a, u, c, out, into):
    """Return |S|² / W of class c without atom `out` and with atom `into`; −1 means none."""
    size = u.size[c]
    if out >= 0:
        size -= a.size[out]
    if into >= 0:
        size += a.size[into]
    if size == 0:
        return 0.0
    total = 0.0
    for j in range(a.x.shape[1]):
        sum_ = u.total[c, j] if u.atoms[c] > 0 else 0.0
        if out >= 0:
            sum_ -= a.size[out] * a.x[out, j]
        if into >= 0:
            sum_ += a.size[into] * a.x[into, j]
        total += sum_ * sum_
    return plus_square(a.coded, u.coded, total, c, u.size[c], out, into) / size


@part
def _value_of_union(a, u, b, c):
    total = 0.0
    for j in range(a.x.shape[1]):
        sum_ = u.total[b, j] + u.total[c, j]
        total += sum_ * sum_
    total = plus_square_of_union(a.coded, u.coded, total, u.member, b, c, u.atoms[b], u.size[c])
    return total / (u.size[b] + u.size[c])


@inlined
def _excess_in(u, at, s):
    """Return the excess in one attribute of the trial class, which must be small enough for exact work."""
    total = 0.0
    if u.close[at]:
        more = work(u.c, at, u.trial, s) - most_work(u.c, at, s)
        if more > 0:
            total += more / (float(u.c.n) * u.c.scale[at])
    return total + u.each * rules_excess(u.rules, u.c, at, u.trial, s, u.scratch)


@inlined
def _least(a, u, c, out, into):
    """Return a lower bound on the excess of class c without atom `out` and with atom `into`, in O(1).

    On a line, the earth mover's distance is at least the distance of the means.
    """
    total, size = 0.0, u.size[c]
    if out >= 0:
        size -= a.size[out]
    if into >= 0:
        size += a.size[into]
    for at in range(u.code.shape[0]):
        if u.close[at] and u.c.line[at] and size > 0:
            sum_ = u.codes[at, c]
            if out >= 0:
                sum_ -= a.codes[at, out]
            if into >= 0:
                sum_ += a.codes[at, into]
            more = abs(u.c.n * sum_ - size * u.whole[at]) - most_work(u.c, at, size)
            if more > 0:
                total += more / (float(u.c.n) * u.c.scale[at])
    return total


@inlined
def _compose(a, u, at, c, out, into):
    """Write the codes of class c without atom `out` and with atom `into` to the trial class; return how many."""
    m = u.size[c]
    o, o_end = (a.begin[out], a.begin[out + 1]) if out >= 0 else (np.int64(0), np.int64(0))
    i, i_end = (a.begin[into], a.begin[into + 1]) if into >= 0 else (np.int64(0), np.int64(0))
    s = np.int64(0)
    for q in range(m):
        code = u.code[at, c, q]
        if o < o_end and a.code[at, o] == code:
            o += 1
            continue
        while i < i_end and a.code[at, i] <= code:
            u.trial[s] = a.code[at, i]
            s += 1
            i += 1
        u.trial[s] = code
        s += 1
    while i < i_end:
        u.trial[s] = a.code[at, i]
        s += 1
        i += 1
    return s


@inlined
def _excess(a, u, c, out, into):
    """Return the excess of class c without atom `out` and with atom `into`; 0 for an empty class."""
    total = 0.0
    for at in range(u.code.shape[0]):
        s = _compose(a, u, at, c, out, into)
        if s == 0:
            return 0.0
        total += _excess_in(u, at, s)
    return total


@part
def _excess_by_call(a, u, c, out, into):
    """Return the same as `_excess`, for rare moves: copied into each of them it would take long to compile."""
    return _excess(a, u, c, out, into)


@part
def _excess_of_union(a, u, b, c):
    total, m, other = 0.0, u.size[b], u.size[c]
    for at in range(u.code.shape[0]):
        i = j = 0
        for s in range(m + other):
            if j == other or (i < m and u.code[at, b, i] <= u.code[at, c, j]):
                u.trial[s] = u.code[at, b, i]
                i += 1
            else:
                u.trial[s] = u.code[at, c, j]
                j += 1
        total += _excess_in(u, at, m + other)
    return total


@part
def _leave(a, u, i):
    """Remove an atom from its class; sum and excess are not updated."""
    c, place = u.label[i], u.place[i]
    for at in range(u.code.shape[0]):
        s = _compose(a, u, at, c, i, -1)
        for q in range(s):
            u.code[at, c, q] = u.trial[q]
    codes_leave(a.coded, u.coded, i, c, u.size[c])
    last = u.member[c, u.atoms[c] - 1]
    u.member[c, place], u.place[last] = last, place
    u.atoms[c] -= 1
    u.size[c] -= a.size[i]
    for at in range(u.code.shape[0]):
        u.codes[at, c] -= a.codes[at, i]


@part
def _enter(a, u, i, c):
    """Add an atom to a class; sum and excess are not updated."""
    for at in range(u.code.shape[0]):
        s = _compose(a, u, at, c, -1, i)
        for q in range(s):
            u.code[at, c, q] = u.trial[q]
    codes_enter(a.coded, u.coded, i, c, u.size[c])
    u.member[c, u.atoms[c]], u.place[i], u.label[i] = i, u.atoms[c], c
    u.atoms[c] += 1
    u.size[c] += a.size[i]
    for at in range(u.code.shape[0]):
        u.codes[at, c] += a.codes[at, i]


@part
def _move(a, u, i, c):
    _leave(a, u, i)
    _enter(a, u, i, c)


@inlined
def _fits(a, u, c, out, into):
    """Tell whether class c has room for one atom in place of another."""
    size = u.size[c] + a.size[into] - (a.size[out] if out >= 0 else 0)
    return size <= u.code.shape[2] and (out >= 0 or u.atoms[c] < u.member.shape[1])


@inlined
def _shift(a, u, i, b, price, limit):
    """Move atom i to class b, which may be an unused one."""
    home, fresh = u.label[i], u.atoms[b] == 0
    if not _fits(a, u, b, -1, i) or (fresh and u.atoms[home] == 1):
        return np.inf
    change = u.value[home] + u.value[b] - _value(a, u, home, i, -1) - _value(a, u, b, -1, i)
    change -= price * (u.excess[home] + u.excess[b])
    if change > limit or change + price * (_least(a, u, b, -1, i) + _least(a, u, home, i, -1)) > limit:
        return np.inf
    having = _excess(a, u, b, -1, i)
    change += price * having
    if change > limit:
        return np.inf
    without = _excess(a, u, home, i, -1)
    change += price * without
    if change > limit:
        return np.inf
    if fresh:
        u.spare[0] -= 1
    _move(a, u, i, b)
    u.excess[home], u.excess[b] = without, having
    _refresh(a, u, b)
    _refresh(a, u, home)
    if u.atoms[home] == 0:
        _release(u, home)
    return change


@inlined
def _swap(a, u, i, y, price, limit):
    """Exchange atoms i and y of different classes."""
    home, b = u.label[i], u.label[y]
    if not _fits(a, u, b, y, i) or not _fits(a, u, home, i, y):
        return np.inf
    change = u.value[home] + u.value[b] - _value(a, u, home, i, y) - _value(a, u, b, y, i)
    change -= price * (u.excess[home] + u.excess[b])
    if change > limit or change + price * (_least(a, u, home, i, y) + _least(a, u, b, y, i)) > limit:
        return np.inf
    ours = _excess(a, u, home, i, y)
    change += price * ours
    if change > limit:
        return np.inf
    theirs = _excess(a, u, b, y, i)
    change += price * theirs
    if change > limit:
        return np.inf
    _leave(a, u, i)
    _leave(a, u, y)
    _enter(a, u, i, b)
    _enter(a, u, y, home)
    u.excess[home], u.excess[b] = ours, theirs
    _refresh(a, u, home)
    _refresh(a, u, b)
    return change


@part
def _join(a, u, c, b, price, limit):
    """Merge class c into class b."""
    if u.size[b] + u.size[c] > u.code.shape[2] or u.atoms[b] + u.atoms[c] > u.member.shape[1]:
        return np.inf
    before = u.excess[b] + u.excess[c]
    change = u.value[b] + u.value[c] - _value_of_union(a, u, b, c) - price * before
    if change > limit:
        return np.inf
    after = _excess_of_union(a, u, b, c)
    change += price * after
    if change > limit:
        return np.inf
    while u.atoms[c] > 0:
        _move(a, u, u.member[c, u.atoms[c] - 1], b)
    u.excess[b] = after
    _refresh(a, u, b)
    _release(u, c)
    return change


@part
def _pair(a, u, i, j, price, limit):
    """Form a class of two atoms of different classes; each of these classes keeps at least one."""
    home, b = u.label[i], u.label[j]
    if u.spare[0] == 0 or u.atoms[home] == 1 or u.atoms[b] == 1:
        return np.inf
    fresh, size, both = u.free[u.spare[0] - 1], a.size[i] + a.size[j], 0.0
    for q in range(a.x.shape[1]):
        both += (a.size[i] * a.x[i, q] + a.size[j] * a.x[j, q]) ** 2
    both = plus_square_of_pair(a.coded, both, i, j)
    change = u.value[home] + u.value[b] - both / size - _value(a, u, home, i, -1) - _value(a, u, b, j, -1)
    change -= price * (u.excess[home] + u.excess[b])
    if change > limit or change + price * (_least(a, u, home, i, -1) + _least(a, u, b, j, -1)) > limit:
        return np.inf
    ours, theirs = _excess_by_call(a, u, home, i, -1), _excess_by_call(a, u, b, j, -1)
    change += price * (ours + theirs)
    if change > limit:
        return np.inf
    _move(a, u, i, fresh)
    having = _excess_by_call(a, u, fresh, -1, j)
    change += price * having
    if change > limit:
        _move(a, u, i, home)
        return np.inf
    _move(a, u, j, fresh)
    u.spare[0] -= 1
    u.excess[home], u.excess[b], u.excess[fresh] = ours, theirs, having
    _refresh(a, u, home)
    _refresh(a, u, b)
    _refresh(a, u, fresh)
    return change


@part
def _split(a, u, c, i, price, limit):
    """Divide class c: atoms nearer to i than to the atom farthest from it form a class of their own."""
    if u.spare[0] == 0 or u.atoms[c] < 2:
        return np.inf
    far, most = -1, 0.0
    for q in range(u.atoms[c]):
        apart = _gap(a, u.member[c, q], i)
        if apart > most:
            far, most = u.member[c, q], apart
    if far < 0:
        return np.inf
    fresh, done = u.free[u.spare[0] - 1], 0
    for q in range(u.atoms[c]):
        x = u.member[c, q]
        if _gap(a, x, i) < _gap(a, x, far):
            u.moved[0, done] = x
            done += 1
    value, excess = u.value[c], u.excess[c]
    for q in range(done):
        _move(a, u, u.moved[0, q], fresh)
    _refresh(a, u, c)
    _refresh(a, u, fresh)
    u.excess[c], u.excess[fresh] = _excess_by_call(a, u, c, -1, -1), _excess_by_call(a, u, fresh, -1, -1)
    change = value - u.value[c] - u.value[fresh] + price * (u.excess[c] + u.excess[fresh] - excess)
    if change <= limit:
        u.spare[0] -= 1
        return change
    for q in range(done):
        _move(a, u, u.moved[0, q], c)
    _refresh(a, u, c)
    u.excess[c], u.excess[fresh], u.value[fresh] = excess, 0.0, 0.0
    return np.inf


@part
def _gap(a, i, y):
    total = 0.0
    for j in range(a.x.shape[1]):
        total += (a.x[i, j] - a.x[y, j]) ** 2
    return plus_gap(a.coded, total, i, y, a.size[i], a.size[y])


@part
def _dissolve(a, u, c, price, limit):
    """Distribute the atoms of class c among neighbouring classes, each to the one that takes it at the least cost."""
    m, done = u.atoms[c], 0
    change = u.value[c] - price * u.excess[c]
    for q in range(m):
        u.moved[0, q] = u.member[c, q]
    for q in range(m):
        i = u.moved[0, q]
        best, home = np.inf, -1
        for r in range(min(a.near.shape[1], _HOMES)):
            b = u.label[a.near[i, r]]
            if b != c and _fits(a, u, b, -1, i):
                cost = u.value[b] - _value(a, u, b, -1, i)
                if cost < best:
                    cost += price * (_excess_by_call(a, u, b, -1, i) - u.excess[b])
                if cost < best:
                    best, home = cost, b
        change += best
        if home < 0 or change > limit:
            change = np.inf
            break
        u.excess[home] = _excess_by_call(a, u, home, -1, i)
        _move(a, u, i, home)
        _refresh(a, u, home)
        u.moved[1, q] = home
        done += 1
    if done == m and change <= limit:
        _release(u, c)
        return change
    for q in range(done - 1, -1, -1):
        home = u.moved[1, q]
        _move(a, u, u.moved[0, q], c)
        _refresh(a, u, home)
        u.excess[home] = _excess_by_call(a, u, home, -1, -1)
    return np.inf


@inlined
def _partner(a, u, i, b, at, random):
    """Return the atom of class b with the value nearest to that of i in the middle, or a random one."""
    if uniform(random) < 0.5:
        return u.member[b, int(uniform(random) * u.atoms[b])]
    mine = a.code[at, a.begin[i] + a.size[i] // 2]
    best, least = -1, np.inf
    for q in range(u.atoms[b]):
        y = u.member[b, q]
        apart = abs(float(a.code[at, a.begin[y] + a.size[y] // 2]) - mine)
        if apart < least:
            best, least = y, apart
    return best


@kernel
def _anneal(a, u, moves, temperature, price, heat, random):
    """Try `moves` moves at one temperature."""
    atoms, attributes = a.x.shape[0], u.code.shape[0]
    for _ in range(moves):
        i = np.int32(uniform(random) * atoms)
        j = neighbour(a.near, i, random)
        home, b = u.label[i], u.label[j]
        limit = -temperature * heat * np.log(1.0 - uniform(random)) - 1e-12 * heat
        at = int(uniform(random) * attributes)
        kind, to = uniform(random), np.int32(-1)
        if kind < _JOIN:
            if b != home:
                _join(a, u, home, b, price, limit)
        elif kind < _SPLIT:
            _split(a, u, home, i, price, limit)
        elif kind < _DISSOLVE:
            _dissolve(a, u, home, price, limit)
        elif kind < _EJECT:
            if u.spare[0] > 0:
                to = u.free[u.spare[0] - 1]
        elif b == home:
            continue
        elif kind < _PAIR:
            _pair(a, u, i, j, price, limit)
        elif kind < _SHIFT:
            to = b
        else:
            _swap(a, u, i, _partner(a, u, i, b, at, random), price, limit)
        if to >= 0:
            _shift(a, u, i, to, price, limit)


def anneal_atoms(
    a: Atoms,
    labels: np.ndarray,
    d: Demands,
    seed: int,
    moves: int,
    *,
    hot: float = HOT,
    quench: int = 100,
    room: int = 0,
    go_on: Callable[[float], bool] = lambda share: True,
) -> np.ndarray:
    """Lower the SSE of classes of atoms, and make them meet all demands, whether they did before or not.

    Guarantee: the labels depend on the atoms' means, sizes and multisets of values only. Whether all classes meet the
    demands, and whether the SSE is lower, is not guaranteed; the caller must check.
    """
    announce(_anneal)
    if len(a.size) < 2:
        return numbered(labels)
    t, heat = max(d.c.t, _CLOSEST), float(a.heat.mean())
    price = _PRICE * heat / t if d.close.any() else _RECORD * heat
    u = _unions(a, labels, d, room, _RECORD / (_PRICE / t) if d.close.any() else 1.0)
    random = np.array([seed], np.uint64)
    for share, temperature, some in schedule(moves, quench * len(labels), hot):
        _anneal(a, u, some, temperature, price if temperature > 0 else price * _FINALLY, heat, random)
        if not go_on(share):
            break
    return numbered(u.label)
