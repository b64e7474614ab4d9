"""Coded attributes of atoms and of their unions.

In a column of groups (:mod:`shoal.kernels.arithmetic.category_groups`), the sum S of the coordinates of a class counts
its records in each group, times √(weight / 2). So |S|² needs products of counts only: that of an atom and a class is
Σ weight/2 · Σ (records of the atom in a group) · (records of the class in it).

A class counts its records in the groups of columns with few groups; in the others, it keeps the groups of its records
in ascending order. Numbers come without these; `coded` is then None, and the compiler drops what depends on it.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import counts_in_groups, groups_of
from shoal.kernels.runtime.jit import kernel, part
from shoal.types.coded import Coded

_FEW = 64  # groups of a column up to which classes count their records in each


class CodedAtoms(NamedTuple):
    """Records of each atom in the groups that occur in it."""

    half: np.ndarray  #: (columns,) weight / 2
    counted: np.ndarray  #: (groups of columns with few,) the numbers of these groups: 0, 1, …
    edge: np.ndarray  #: (atoms · columns + 1,) first entry of each atom and column
    group: np.ndarray  #: (entries,) int64, numbered over all columns, ascending in each atom and column
    records: np.ndarray  #: (entries,) int64
    square: np.ndarray  #: (atoms,) product of each atom with itself


class CodedUnions(NamedTuple):
    """The same for classes of atoms."""

    tally: np.ndarray  #: (classes, groups) int32, records in each group of columns with few groups
    inside: np.ndarray  #: (classes, other columns, most records) int32, the groups of the records, ascending
    square: np.ndarray  #: (classes,) product of each class with itself


def coded_atoms(x: np.ndarray | Coded, labels: np.ndarray) -> CodedAtoms | None:
    """Lay out atoms, numbered without gaps."""
    if not isinstance(x, Coded):
        return None
    g = groups_of(x)
    found = counts_in_groups(g, labels)
    columns, half = len(g.weight), g.weight / 2.0
    atoms = (len(found.edge) - 1) // columns
    square = (found.square.reshape(atoms, columns) * half).sum(axis=1)
    counted = int(g.groups[g.groups <= _FEW].sum())
    return CodedAtoms(half, np.arange(counted), found.edge, found.group, found.records, square)


def some_coded(a: CodedAtoms | None, chosen: np.ndarray) -> CodedAtoms | None:
    """Return some of the atoms."""
    if a is None:
        return None
    columns = len(a.half)
    sizes = np.diff(a.edge).reshape(-1, columns)[chosen].ravel()
    edge = np.concatenate(([0], np.cumsum(sizes)))
    places = np.repeat(a.edge[:-1].reshape(-1, columns)[chosen].ravel() - edge[:-1], sizes) + np.arange(edge[-1])
    return CodedAtoms(a.half, a.counted, edge, a.group[places], a.records[places], a.square[chosen])


def coded_unions(a: CodedAtoms | None, classes: int, most: int) -> CodedUnions | None:
    """Allocate empty classes for up to `most` records."""
    if a is None:
        return None
    columns = len(a.half)
    first = a.group[a.edge[:columns]]  # a group of each column
    few = int((first < len(a.counted)).sum())
    return CodedUnions(
        np.zeros((classes, len(a.counted)), np.int32),
        np.zeros((classes, columns - few, most), np.int32),
        np.zeros(classes),
    )


@part
def _inside(u, j, c, size, group):
    """Count the records of a class in a group of a column that is not counted."""
    groups = u.inside[c, j]
    low, high = np.int64(0), np.int64(size)
    while low < high:
        middle = (low + high) // 2
        if groups[middle] < group:
            low = middle + 1
        else:
            high = middle
    end = low
    while end < size and groups[end] == group:
        end += 1
    return end - low


@part
def _with_class(a, u, i, c, size):
    """Return the product of an atom and a class of `size` records."""
    columns, total = a.half.shape[0], 0.0
    few = columns - u.inside.shape[1]
    for j in range(columns):
        both = np.int64(0)
        for at in range(a.edge[i * columns + j], a.edge[i * columns + j + 1]):
            if j < few:
                both += a.records[at] * u.tally[c, a.group[at]]
            else:
                both += a.records[at] * _inside(u, j - few, c, size, a.group[at])
        total += a.half[j] * both
    return total


@part
def _with_atom(a, i, y):
    """Return the product of two atoms."""
    columns, total = a.half.shape[0], 0.0
    for j in range(columns):
        p, p_end = a.edge[i * columns + j], a.edge[i * columns + j + 1]
        q, q_end = a.edge[y * columns + j], a.edge[y * columns + j + 1]
        both = np.int64(0)
        while p < p_end and q < q_end:
            if a.group[p] < a.group[q]:
                p += 1
            elif a.group[p] > a.group[q]:
                q += 1
            else:
                both += a.records[p] * a.records[q]
                p += 1
                q += 1
        total += a.half[j] * both
    return total


@part
def plus_square(a, u, total, c, size, out, into):
    """Add the coded part of |S|² of a class of `size` records, without atom `out` and with atom `into`."""
    if a is None:
        return total
    if size > 0:
        total += u.square[c]
    if out >= 0:
        total += a.square[out] - 2.0 * _with_class(a, u, out, c, size)
    if into >= 0:
        total += a.square[into]
        if size > 0:
            total += 2.0 * _with_class(a, u, into, c, size)
    if out >= 0 and into >= 0:
        total -= 2.0 * _with_atom(a, out, into)
    return total


@part
def plus_square_of_union(a, u, total, member, b, c, atoms, size):
    """Add the coded part of |S|² of the union of class b of `atoms` atoms and class c of `size` records."""
    if a is None:
        return total
    for q in range(atoms):
        total += 2.0 * _with_class(a, u, member[b, q], c, size)
    return total + u.square[b] + u.square[c]


@part
def plus_square_of_pair(a, total, i, y):
    """Add the coded part of |S|² of two atoms."""
    if a is None:
        return total
    return total + a.square[i] + a.square[y] + 2.0 * _with_atom(a, i, y)


@part
def plus_gap(a, total, i, y, m, other):
    """Add the squared distance between the means of two atoms of m and `other` records in coded attributes."""
    if a is None:
        return total
    squares = a.square[i] / (float(m) * m) + a.square[y] / (float(other) * other)
    return total + max(squares - 2.0 * _with_atom(a, i, y) / (float(m) * other), 0.0)


@part
def plus_refreshed(a, u, total, member, c, atoms, size):
    """Recompute the coded part of |S|² of a class, and add it."""
    if a is None:
        return total
    square = 0.0
    for q in range(atoms):
        square += _with_class(a, u, member[c, q], c, size)
    u.square[c] = square
    return total + square


@part
def codes_enter(a, u, i, c, size):
    """Add an atom to a class of `size` records."""
    if a is None:
        return
    columns = a.half.shape[0]
    few = columns - u.inside.shape[1]
    for at in range(a.edge[i * columns], a.edge[i * columns + few]):
        u.tally[c, a.group[at]] += a.records[at]
    for j in range(u.inside.shape[1]):
        begin, at = a.edge[i * columns + few + j], a.edge[i * columns + few + j + 1] - 1
        groups, more = u.inside[c, j], np.int64(0)
        for q in range(begin, at + 1):
            more += a.records[q]
        left, end = np.int64(size) - 1, np.int64(size) + more - 1
        while at >= begin:  # from the end, so that nothing is overwritten before it is moved
            while left >= 0 and groups[left] > a.group[at]:
                groups[end] = groups[left]
                end -= 1
                left -= 1
            for _ in range(a.records[at]):
                groups[end] = a.group[at]
                end -= 1
            at -= 1


@part
def codes_leave(a, u, i, c, size):
    """Remove an atom from a class of `size` records."""
    if a is None:
        return
    columns = a.half.shape[0]
    few = columns - u.inside.shape[1]
    for at in range(a.edge[i * columns], a.edge[i * columns + few]):
        u.tally[c, a.group[at]] -= a.records[at]
    for j in range(u.inside.shape[1]):
        at, end = a.edge[i * columns + few + j], a.edge[i * columns + few + j + 1]
        groups, to, drop = u.inside[c, j], 0, np.int64(0)
        if at < end:
            drop = a.records[at]
        for q in range(size):
            if at < end and groups[q] == a.group[at]:
                drop -= 1
                if drop == 0:
                    at += 1
                    if at < end:
                        drop = a.records[at]
                continue
            groups[to] = groups[q]
            to += 1


@kernel
def add_gaps(a, size, others, out):
    """Add the squared distance between each atom and another in coded attributes."""
    for i in range(others.shape[0]):
        out[i] = plus_gap(a, out[i], i, others[i], size[i], size[others[i]])
