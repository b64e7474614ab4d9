"""Rules on the confidential values of every class, and the amount by which a class misses one.

The *excess* of a class is 0 if and only if the rule holds; otherwise it is about the number of records that would have
to change, so that the excesses of several rules can be added, and it is smaller the nearer the rule is to holding. Each
rule reads the codes of a class in ascending order.

Counts are compared exactly, as integers. Where floats decide (entropies, variances and gains), values within a tiny
tolerance of equality pass: exact ties must, and the exact audit decides in the end. Sums of weights are compensated,
and their tolerance is a tenth of that of the audit.

All rules except the one on spread hold in a union of classes if they hold in each of them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import extending, types

from shoal.kernels.runtime.jit import OPTIONS, part

DISTINCT, ENTROPY, RECURSIVE, SHARE, REACH, SPREAD, DOMINANCE, GAIN = range(8)  #: kinds of rules
NUMBERS, EQUAL, TREE = range(3)  #: how the distance of two values is measured, for spread
_overload: Any = extending.overload
_HAIR = 1e-11  # relative: more than any rounding error
_LEAST = 1e-9  # excess of a class that misses a range, or a share of weight, by next to nothing
_HAIR_OF_WEIGHT = 1e-13  # relative: more than the rounding error of a compensated sum


class Rules(NamedTuple):
    """Rules of all attributes, concatenated into few arrays, because kernels pass each of them on at every call."""

    begin: np.ndarray  #: (attributes + 1,) int64, index of the first rule of each attribute
    whole: np.ndarray  #: (rules, 6) int64: see below
    level: (
        np.ndarray
    )  #: (rules, 2) float64: log l of entropy; e of reach; r of spread, and the variance it refers to; bound
    #: float64: numeric value of each value, for reach and spread (NaN: none); weights of records; gain: the largest
    #: share of each value
    number: np.ndarray
    #: int32. Reach: the first value higher by at least e, −1: missing. Spread: twice the number under which a value is
    #: counted, plus 1 if it is rare. Dominance: the person of a record.
    mark: np.ndarray


KIND = 0  #: columns of `whole`: the kind of a rule
LEAST = 1  #: minimum number of values in a class; recursive: where the tail begins
TOP, BOTTOM = 2, 3  #: share: numerator and denominator of α; recursive: of c
METRIC = 4  #: spread: how the distance of two values is measured
TABLE = 5  #: where the entries of the values begin in `number` and `mark`


@part
def _distinct_values(codes, s):
    count = 0
    for p in range(s):
        count += p == 0 or codes[p] != codes[p - 1]
    return count


@part
def _counted_values(u, table, codes, s):
    """Return how many values a class has, counting neighbouring spellings of one value once."""
    count = 0
    for p in range(s):
        count += p == 0 or u.mark[table + codes[p]] >> 1 != u.mark[table + codes[p - 1]] >> 1
    return count


@part
def _entropy(level, codes, s):
    """Return the shortfall in entropy l-diversity: (log l − H)·s, where one record is about 1 + log s."""
    total, begin = 0.0, 0
    for p in range(1, s + 1):
        if p == s or codes[p] != codes[begin]:
            count = float(p - begin)
            total += count * np.log(count)
            begin = p
    lacking = level - (np.log(float(s)) - total / s)
    return lacking * s / (1.0 + np.log(float(s))) if lacking > _HAIR * level else 0.0


@part
def _recursive(u, q, codes, s, scratch):
    """Return the shortfall in r₁ < c·(r_l + … + r_m): a record that moves from r₁ to the tail counts 1 + c."""
    most, values, kept, begin = u.whole[q, LEAST] - 1, 0, 0, 0
    first = head = np.int64(0)
    for p in range(1, s + 1):
        if p < s and codes[p] == codes[begin]:
            continue
        count, begin, values = np.int64(p - begin), p, values + 1
        first = max(first, count)
        if kept < most:
            kept += 1
        elif most == 0 or count <= scratch[kept - 1]:
            continue
        else:
            head -= scratch[kept - 1]
        head += count
        i = kept - 1
        while i > 0 and scratch[i - 1] < count:
            scratch[i] = scratch[i - 1]
            i -= 1
        scratch[i] = count
    over = u.whole[q, BOTTOM] * first - u.whole[q, TOP] * (s - head)
    if over < 0:
        return 0.0
    return (over + 1.0) / (u.whole[q, BOTTOM] + u.whole[q, TOP]) + max(u.whole[q, LEAST] - values, 0)


@part
def _share(u, q, codes, s):
    """Return how many records exceed the share α that a value may have."""
    over, begin = np.int64(0), 0
    for p in range(1, s + 1):
        if p == s or codes[p] != codes[begin]:
            over += max(u.whole[q, BOTTOM] * (p - begin) - u.whole[q, TOP] * s, 0)
            begin = p
    return over / u.whole[q, BOTTOM]


@part
def _gain(u, q, codes, s):
    """Return how many records exceed the share that their own value may have."""
    table, over, begin = u.whole[q, TABLE], 0.0, 0
    for p in range(1, s + 1):
        if p == s or codes[p] != codes[begin]:
            more = (p - begin) - u.number[table + codes[begin]] * s
            if more > _HAIR * (p - begin):
                over += more
            begin = p
    return over


@part
def _reach(u, q, codes, s):
    """Return the share of e by which the range falls short; 2 if all values are missing."""
    table, low, high = u.whole[q, TABLE], 0, s - 1
    while low < s and u.mark[table + codes[low]] < 0:
        low += 1
    if low == s:
        return 2.0
    while u.mark[table + codes[high]] < 0:
        high -= 1
    if codes[high] >= u.mark[table + codes[low]]:
        return 0.0
    wide = u.number[table + codes[high]] - u.number[table + codes[low]]
    return max(1.0 - wide / u.level[q, 0], _LEAST)


@part
def _variance(c, u, q, at, codes, s):
    """Return half the mean squared distance between two records of a class."""
    total, table, size = 0.0, u.whole[q, TABLE], float(s)
    if u.whole[q, METRIC] == NUMBERS:
        mean, count = 0.0, 0
        for p in range(s):
            number = u.number[table + codes[p]]
            if not np.isnan(number):  # a missing value has no distance
                mean += number
                count += 1
        mean /= max(count, 1)
        for p in range(s):
            number = u.number[table + codes[p]]
            if not np.isnan(number):
                total += (number - mean) ** 2
        return total / max(count, 1)
    if u.whole[q, METRIC] == EQUAL:
        begin = 0
        for p in range(1, s + 1):
            if p == s or codes[p] != codes[begin]:
                total += float(p - begin) * (s - p + begin)
                begin = p
        return total / (size * size)
    first = c.first[at]
    for p in range(s):
        node = np.int64(codes[p])
        if p > 0 and codes[p] == codes[p - 1]:
            continue
        while node >= 0 and (p == 0 or c.low[first + node] > codes[p - 1]):  # otherwise it was visited before
            count = p + 1
            while count < s and codes[count] < c.high[first + node]:
                count += 1
            total += float(c.length[first + node]) * (count - p) * (s - count + p)
            node = c.parent[first + node]
    return total / (size * size)


@part
def _spread(c, u, q, at, codes, s):
    """Return the shortfall of a class with a rare value in values and variance, or its rare records if fewer."""
    rare, table = 0, u.whole[q, TABLE]
    for p in range(s):
        rare += u.mark[table + codes[p]] & 1
    if rare == 0:
        return 0.0
    lacking = float(max(u.whole[q, LEAST] - _counted_values(u, table, codes, s), 0))
    short = u.level[q, 0] * u.level[q, 1] - _variance(c, u, q, at, codes, s)
    if short > _HAIR * u.level[q, 0] * u.level[q, 1]:
        lacking += s * short / u.level[q, 1]
    return min(lacking, float(rare))


@part
def _dominance(u, q, codes, s):
    """Return the excess share of persons, in records of mean weight; weights that are all 0 count as 1 each.

    Codes ascend with persons.
    """
    table, total, rest = u.whole[q, TABLE], 0.0, 0.0
    for p in range(s):
        weight = u.number[table + codes[p]] - rest  # Kahan's sum
        bigger = total + weight
        rest, total = (bigger - total) - weight, bigger
    even = total == 0.0
    total = float(s) if even else total
    most, over, own, rest = u.level[q, 0] * total, 0.0, 0.0, 0.0
    for p in range(s):
        weight = (1.0 if even else u.number[table + codes[p]]) - rest
        bigger = own + weight
        rest, own = (bigger - own) - weight, bigger
        if p == s - 1 or u.mark[table + codes[p + 1]] != u.mark[table + codes[p]]:
            if own - most > _HAIR_OF_WEIGHT * most:
                over += max((own - most) / total * s, _LEAST)
            own, rest = 0.0, 0.0
    return over


@part
def rule_excess(c, u, q, at, codes, s, scratch):
    """Return by how much a class of s records with these codes, ascending, misses rule q of attribute `at`."""
    kind = u.whole[q, KIND]
    if kind == DISTINCT:
        return float(max(u.whole[q, LEAST] - _distinct_values(codes, s), 0))
    if kind == ENTROPY:
        return _entropy(u.level[q, 0], codes, s)
    if kind == RECURSIVE:
        return _recursive(u, q, codes, s, scratch)
    if kind == SHARE:
        return _share(u, q, codes, s)
    if kind == REACH:
        return _reach(u, q, codes, s)
    if kind == DOMINANCE:
        return _dominance(u, q, codes, s)
    if kind == GAIN:
        return _gain(u, q, codes, s)
    return _spread(c, u, q, at, codes, s)


def rules_excess(u, c, at, codes, s, scratch):
    """Return by how much a class misses the rules of an attribute; `u` may be None.

    For kernels only. The case is decided at compile time: without rules, no code for them remains.
    """
    raise NotImplementedError


@_overload(rules_excess, jit_options=OPTIONS)
def _rules_excess(u, c, at, codes, s, scratch):
    if isinstance(u, types.NoneType):
        return lambda u, c, at, codes, s, scratch: 0.0

    def excess(u, c, at, codes, s, scratch):
        total = 0.0
        for q in range(u.begin[at], u.begin[at + 1]):
            total += rule_excess(c, u, q, at, codes, s, scratch)
        return total

    return excess


def any_rules(u):
    """Tell whether there are rules; `u` may be None. For kernels only."""
    raise NotImplementedError


@_overload(any_rules, jit_options=OPTIONS)
def _any_rules(u):
    if isinstance(u, types.NoneType):
        return lambda u: False
    return lambda u: u.whole.shape[0] > 0
