"""A class of k-anonymity-first: whose members are exchanged for records that bring it closer to the table.

`s` is the state of the partition (:mod:`shoal.kernels.closeness.k_first`), `e` the confidential attributes of the class
(:mod:`shoal.kernels.closeness.swap_distance`). Symbols of [SC15] Algorithm 2: x the record a class is formed around, y
a candidate to join it, y' the member it would replace.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.closeness.swap_distance import (
    close_enough,
    count_in,
    farther,
    helpful,
    helps_on_line,
    settle,
    work_after,
)
from shoal.kernels.runtime.jit import part
from shoal.kernels.space.lazy_sort import following

LOOKED_AT = 3  #: of the counts of the state
_CHEAPER = 16  # times that a record costs less when sought by value than when put in order


@part
def _replaced(c, s, e, y):
    """Find the member y' whose exchange for y brings the class closest to the table; -1 if none brings it closer."""
    row, attributes, best_at = s.row[y], e.work.shape[0], 0
    for at in range(1, attributes):
        if farther(c, at, e.work[at], best_at, e.work[best_at]):
            best_at = at
    best, found = e.work[best_at], -1
    if attributes == 1 and c.line[0] and not helps_on_line(c, e, 0, np.int64(c.codes[0, row])):
        return found
    for i in range(e.code.shape[1]):
        most_at, most = 0, np.int64(-1)
        for at in range(attributes):
            here = work_after(c, e, at, i, np.int64(c.codes[at, row]))
            if not farther(c, best_at, best, at, here):
                most = np.int64(-1)
                break
            if most < 0 or farther(c, at, here, most_at, most):
                most_at, most = at, here
        if most >= 0:
            best_at, best, found = most_at, most, i
    return found


@part
def join(c, s, e, i, slot, gone):
    """Let a record take place i of the class; the codes of another that is `gone` are counted out."""
    s.member[i] = slot
    for at in range(e.work.shape[0]):
        code = np.int64(c.codes[at, s.row[slot]])
        if gone >= 0 and not c.line[at]:
            count_in(c, e, at, np.int64(c.codes[at, s.row[gone]]), -1)
        e.code[at, i] = code
        if not c.line[at]:
            count_in(c, e, at, code, 1)


@part
def exchange(c, s, e, i, y):
    """Let y join in the place of member i; those who joined after that member move up."""
    k, gone = s.member.shape[0], s.member[i]
    for p in range(i, k - 1):
        s.member[p] = s.member[p + 1]
        for at in range(e.work.shape[0]):
            e.code[at, p] = e.code[at, p + 1]
    join(c, s, e, k - 1, y, gone)
    for at in range(e.work.shape[0]):
        settle(c, e, at)


@part
def _after(s, y, other):
    """Tell whether a record is farther from x than another, or as far and in a higher row."""
    return s.distance[y] > s.distance[other] or (s.distance[y] == s.distance[other] and y > other)


@part
def _records_that_help(c, s, e):
    """Return how many records of the table, gone or not, have a value that would bring the class closer to it."""
    count = 0
    for side in range(2 * e.code.shape[1] + 2):
        begin, end = helpful(c, e, 0, side // 2, side % 2 == 1)
        count += s.first[end] - s.first[begin]
    return count


@part
def _next_that_helps(c, s, e, x, last):
    """Return the record nearest to x, of those after `last`, that would bring the class closer; -1 if none would."""
    found = -1
    for side in range(2 * e.code.shape[1] + 2):
        begin, end = helpful(c, e, 0, side // 2, side % 2 == 1)
        for place in range(s.first[begin], s.first[end]):
            row = s.by_value[place]
            y = s.slot[row]
            s.counts[LOOKED_AT] += 1
            if s.label[row] >= 0 or y == x or not _after(s, y, last):
                continue
            if found < 0 or _after(s, found, y):
                found = y
    return found


@part
def refine(c, s, e, x, look):
    """Exchange members for others, the nearest to x first, until the class is close enough or no other helps.

    When many in a row did not help, those that do are sought by their values, not by their distances from x: the next
    one is the same either way. It pays once as much was spent on looking in vain as the search by value will cost.
    """
    line, waited, last, by_value, enough = s.first.shape[0] > 0, 0, np.int64(-1), False, look
    while not close_enough(c, e) and e.work[0] != e.floor:
        if line and not by_value and waited >= enough and last >= 0:
            few = _records_that_help(c, s, e) // _CHEAPER
            by_value, enough = few <= waited, few
        y = _next_that_helps(c, s, e, x, last) if by_value else following(s.order)
        if y < 0:
            break
        waited, last = waited + 1, y
        s.counts[LOOKED_AT] += 1
        i = _replaced(c, s, e, y)
        if i >= 0:
            exchange(c, s, e, i, y)
            waited, enough = 0, look
