"""p-sensitive classes around random records: records with new confidential values first, then the nearest."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.mdav.mdav import BLOCKS_PER_CALL
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.nearest_first import (
    LISTED,
    MEMBERS,
    Around,
    ByValue,
    around,
    begin,
    by_value,
    complete,
    few,
    join,
    join_nearest,
    join_row,
    labels_so_far,
    leave,
    more,
    nearest_of_value,
)
from shoal.kernels.space.remaining import NO_ROW, REMAINING
from shoal.kernels.space.tree import blocks_near
from shoal.progress import report
from shoal.types.coded import Coded

_LEFT, _INSIDE = range(2)  # rows of `_Values.distinct`


class _Values(NamedTuple):
    """Confidential values of the records by attribute: the fields of :class:`ByValue`, once for each attribute."""

    code: np.ndarray
    row: np.ndarray
    place: np.ndarray
    first: np.ndarray
    left: np.ndarray
    inside: np.ndarray  # (attributes, values) records in the class being formed
    distinct: np.ndarray  # (2, attributes) number of values left, and of values in the class


@part
def _attribute(values, at):
    return ByValue(values.code[at], values.row[at], values.place[at], values.first[at], values.left[at])


@part
def _brings(values, row, p):
    """Tell whether a record has a value that the class needs, in an attribute with fewer than p."""
    for at in range(values.code.shape[0]):
        if values.distinct[_INSIDE, at] < p and values.inside[at, values.code[at, row]] == 0:
            return True
    return False


@part
def _lacking(distinct, p):
    for at in range(distinct.shape[0]):
        if distinct[at] < p:
            return True
    return False


@part
def _count(values, row):
    """Add a record to the counts of the class, and subtract it from those of the rest."""
    for at in range(values.code.shape[0]):
        code = values.code[at, row]
        values.distinct[_INSIDE, at] += values.inside[at, code] == 0
        values.inside[at, code] += 1
        leave(_attribute(values, at), row)
        values.distinct[_LEFT, at] -= values.left[at, code] == 0


@part
def _bringing(values, p):
    """Return how many records have a value that the class needs; records with several such values count repeatedly."""
    count = 0
    for at in range(values.code.shape[0]):
        if values.distinct[_INSIDE, at] < p:
            for code in range(values.left.shape[1]):
                count += values.left[at, code] if values.inside[at, code] == 0 else 0
    return count


@part
def _nearest_by_value(a, values, p):
    """Return the nearest of all records with a value that the class needs."""
    best, row = np.inf, NO_ROW
    for at in range(values.code.shape[0]):
        if values.distinct[_INSIDE, at] < p:
            for code in range(values.left.shape[1]):
                if values.inside[at, code] == 0:
                    best, row = nearest_of_value(a, _attribute(values, at), code, best, row)
    return row


@part
def _fill(a, values, k, p):
    """Add members: the nearest with a new value, until there are p values; then the nearest, until there are k."""
    i = 0
    while _lacking(values.distinct[_INSIDE], p):  # a record that brings no new value now never will: no need to go back
        while i < a.counts[LISTED] and (a.used[i] or not _brings(values, a.row[i], p)):
            i += 1
        if i < a.counts[LISTED]:
            join(a, i)
            _count(values, a.row[i])
        elif few(a, _bringing(values, p)):
            row = _nearest_by_value(a, values, p)
            join_row(a, row)
            _count(values, row)
        else:
            more(a)
    i = 0
    while a.counts[MEMBERS] < k:
        while i < a.counts[LISTED] and a.used[i]:
            i += 1
        if i < a.counts[LISTED]:
            join(a, i)
            _count(values, a.row[i])
        else:
            more(a)


@kernel
def _steps(a, values, order, at, k, p, budget):
    """Form classes until no more can be formed or `budget` blocks were visited; tell whether all are formed."""
    work = a.work
    stop = blocks_near(work) + budget
    while blocks_near(work) < stop:
        if a.remaining.counts[REMAINING] < k or _lacking(values.distinct[_LEFT], p):
            return True
        while a.gone[order[at[0]]]:
            at[0] += 1
        begin(a, order[at[0]], 2 * k + 16)
        _count(values, order[at[0]])
        _fill(a, values, k, p)
        for i in range(a.counts[MEMBERS]):
            for attribute in range(values.code.shape[0]):
                values.inside[attribute, values.code[attribute, a.member[i]]] = 0
        values.distinct[_INSIDE, :] = 0
        complete(a)
    return False


def _values(codes: Sequence[np.ndarray]) -> _Values:
    most = max(int(code.max()) + 1 for code in codes)
    code, row, place, first, left = (
        np.array(arrays) for arrays in zip(*(by_value(np.asarray(code, np.int64), most) for code in codes), strict=True)
    )
    distinct = np.array([(left > 0).sum(axis=1), np.zeros(len(codes), np.int64)])
    return _Values(code, row, place, first, left, np.zeros_like(left), distinct)


def p_sensitive(
    points: np.ndarray | Coded, codes: Sequence[np.ndarray], k: int, p: int, order: np.ndarray
) -> tuple[np.ndarray, Around]:
    """Partition points into classes of at least k records with at least p ≤ k values of each confidential attribute.

    `codes` are (n,) int64 for each attribute, the number of each record's value from 0. `order`, a permutation of the
    rows, gives the order in which records without a class start one. Classes are numbered in the order they are formed.
    Also returns a trace: how many lists were made, and how much work it took.

    The labels are those of a plain transcription, record for record.

    >>> labels, _ = p_sensitive(np.array([[0.0], [1.0], [2.0], [9.0]]), [np.array([0, 0, 1, 1])], 2, 2, np.arange(4))
    >>> labels
    array([0, 1, 0, 1])
    """
    announce(_steps)
    points, n = in_range(points), points.shape[0]
    a, values, at = around(points), _values(codes), np.zeros(1, np.int64)
    while not _steps(a, values, order, at, k, p, BLOCKS_PER_CALL):
        report(n - int(a.remaining.counts[REMAINING]), n)
    report(n, n)
    return join_nearest(points, labels_so_far(a)), a
