"""Coded attributes of classes in motion.

Let D(x, C) be the sum of the distances between x and the members of a class C of m records, and P(C) the same sum over
all pairs of members. Then the squared distance between x and the mean of C in the exact embedding is
D(x, C) / m − P(C) / m², and that between two means the mean of all distances between the two classes, less P / m² of
each. So a class needs no mean, only P.

For D, a class counts the members of each group in columns with few groups; in the others it keeps the groups of its
members side by side, to compare with.

Numbers come without these; `coded` is then None, and the compiler drops what depends on it.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import Groups
from shoal.kernels.runtime.jit import part

_FEW = 4  # groups per record of a class up to which they are counted


class CodedClasses(NamedTuple):
    """Groups of the records, and of the members of each class."""

    number: np.ndarray  #: (n, columns) int32, the group of each record
    weight: np.ndarray  #: (columns,)
    first: np.ndarray  #: (counted,) int64, position in `tally` of the first group of each column that is counted
    tally: np.ndarray  #: (classes, groups) int32, members in each group
    inside: np.ndarray  #: (classes, other columns, most) int32, the groups of the members
    pairs: np.ndarray  #: (classes,) sum of the distances of all pairs of members


def coded_classes(g: Groups | None, k: int, classes: int, most: int) -> CodedClasses | None:
    """Allocate empty classes."""
    if g is None:
        return None
    counted = int(np.searchsorted(g.groups, _FEW * k, side="right"))
    ends = np.concatenate(([0], np.cumsum(g.groups[:counted]))).astype(np.int64)
    return CodedClasses(
        g.number,
        g.weight,
        ends[:-1],
        np.zeros((classes, int(ends[-1])), np.int32),
        np.zeros((classes, len(g.weight) - counted, most), np.int32),
        np.zeros(classes),
    )


@part
def codes_enter(coded, i, c, place):
    """Add a record to a class, at this place among its members."""
    if coded is None:
        return
    counted = coded.first.shape[0]
    for j in range(counted):
        coded.tally[c, coded.first[j] + coded.number[i, j]] += 1
    for j in range(coded.inside.shape[1]):
        coded.inside[c, j, place] = coded.number[i, counted + j]


@part
def codes_leave(coded, i, c, place, last):
    """Remove a record from a class; the last member takes its place."""
    if coded is None:
        return
    for j in range(coded.first.shape[0]):
        coded.tally[c, coded.first[j] + coded.number[i, j]] -= 1
    for j in range(coded.inside.shape[1]):
        coded.inside[c, j, place] = coded.inside[c, j, last]


@part
def _apart_from_all(coded, i, c, m):
    """Sum the distances between a record and the members of a class."""
    counted, total = coded.first.shape[0], 0.0
    for j in range(counted):
        total += coded.weight[j] * (m - coded.tally[c, coded.first[j] + coded.number[i, j]])
    for j in range(coded.inside.shape[1]):
        here, inside, same = coded.number[i, counted + j], coded.inside[c, j], 0
        for q in range(m):
            same += inside[q] == here
        total += coded.weight[counted + j] * (m - same)
    return total


@part
def plus_to_mean(coded, apart, i, c, m):
    """Add the squared distance between a record and the mean of a class of m."""
    if coded is None:
        return apart
    return apart + max(_apart_from_all(coded, i, c, m) / m - coded.pairs[c] / (float(m) * m), 0.0)


@part
def plus_apart(coded, apart, i, y):
    """Add the squared distance between two records."""
    if coded is None:
        return apart
    for j in range(coded.weight.shape[0]):
        if coded.number[i, j] != coded.number[y, j]:
            apart += coded.weight[j]
    return apart


@part
def plus_between(coded, apart, member, b, c, mb, mc):
    """Add the squared distance between the means of two classes."""
    if coded is None:
        return apart
    if mb > mc:
        b, c, mb, mc = c, b, mc, mb
    total = 0.0
    for q in range(mb):
        total += _apart_from_all(coded, member[b, q], c, mc)
    inside = coded.pairs[b] / (float(mb) * mb) + coded.pairs[c] / (float(mc) * mc)
    return apart + max(total / (float(mb) * mc) - inside, 0.0)


@part
def codes_refresh(coded, own, member, c, m):
    """Recompute P of a class, and add to `own` its members' squared distances from its mean."""
    if coded is None:
        return
    total = 0.0
    for q in range(m):
        total += _apart_from_all(coded, member[c, q], c, m)
    coded.pairs[c] = total / 2.0
    for q in range(m):
        i = member[c, q]
        own[i] = plus_to_mean(coded, own[i], i, c, m)


@part
def codes_with(coded, c, i, m):
    """Update P of a class of m that is about to gain a record."""
    if coded is None:
        return
    coded.pairs[c] = coded.pairs[c] + _apart_from_all(coded, i, c, m) if m > 0 else 0.0


@part
def codes_without(coded, c, i, m):
    """Update P of a class of m that is about to lose a record."""
    if coded is None:
        return
    coded.pairs[c] -= _apart_from_all(coded, i, c, m)
