"""Variance of the confidential values of a group of records that grows and shrinks.

Variance is half the mean squared distance between two records, for any kind of value: with T the sum of squared
distances over all pairs of m records, it is T / m². Numbers have their ordinary distance. Categories are leaves of a
tree, and the squared distance of two is the number of edges between them; without a taxonomy that is 2, and the
variance is Gini's, 1 − Σ share² ([LM71]). A missing number is left out.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.types import Confidential

_SIZE, _APART, _SUM, _SQUARES = range(4)  # `Spread.sums`
_EXACT = 4096  # up to this many records, the least sum of a variance is an exact integer
_DECIMALS = 9


class Scale(NamedTuple):
    """Distances between values."""

    value: np.ndarray  # (values,) integers if values have few decimals, NaN if missing; empty: see `parent`
    parent: np.ndarray  # (nodes,) of the tree of categories, -1 below the root


class Spread(NamedTuple):
    """Values of a group of records."""

    scale: Scale
    below: np.ndarray  # (nodes,) records at or below each node of the tree
    sums: np.ndarray  # (4,) m, T; for numbers their sum and that of their squares, for categories the sum of `below`


def scale_of(attribute: Confidential) -> Scale:
    """Return the scale of an attribute's values: numbers, ranks, or leaves of a tree."""
    codes = attribute.counts.shape[0]
    if attribute.values is not None:
        return Scale(_whole(attribute.values), np.empty(0, np.int64))
    if attribute.ordered:
        return Scale(np.arange(codes, dtype=np.float64), np.empty(0, np.int64))
    parent = np.full(codes, -1, np.int64) if attribute.parents is None else attribute.parents.astype(np.int64)
    return Scale(np.empty(0), parent)


def _whole(values: np.ndarray) -> np.ndarray:
    """Scale numbers by a power of ten to integers from 0; if that is impossible, scale them to [0, 1].

    >>> _whole(np.array([0.1, np.nan, 0.25])).tolist()
    [0.0, nan, 15.0]
    """
    finite = np.isfinite(values)
    known = values[finite]
    out = np.full(values.shape, np.nan)
    if known.size == 0:
        return out
    for decimals in range(_DECIMALS + 1):
        with np.errstate(over="ignore"):
            scaled = np.rint(known * 10.0**decimals)
        if np.abs(scaled).max() < 2.0**52 and np.array_equal(scaled / 10.0**decimals, known):
            out[finite] = scaled - scaled.min()
            return out
    exponent = math.frexp(float(np.abs(known).max()))[1] + 1
    known = np.ldexp(known, -exponent)
    out[finite] = known - known.min()
    return out


def spread_of(scale: Scale) -> Spread:
    """Return an empty group."""
    return Spread(scale, np.zeros(scale.parent.shape[0], np.int64), np.zeros(4))


def table_variance(scale: Scale, counts: np.ndarray) -> Fraction:
    """Return the variance of values with these counts, without rounding."""
    if scale.value.shape[0]:
        known = np.flatnonzero((counts > 0) & np.isfinite(scale.value))
        pairs = [(int(counts[code]), Fraction(float(scale.value[code]))) for code in known.tolist()]
        m = sum(count for count, _ in pairs)
        total = m * sum(count * x * x for count, x in pairs) - sum(count * x for count, x in pairs) ** 2
    else:
        below = np.zeros(scale.parent.shape[0], np.int64)
        below[: counts.shape[0]] = counts
        for node in range(below.shape[0]):  # parents come after their children
            if scale.parent[node] >= 0:
                below[scale.parent[node]] += below[node]
        m = int(counts.sum())
        total = Fraction(sum(here * (m - here) for here in below.tolist()))
    return Fraction(total) / m**2 if m else Fraction(0)


def least_sums(scale: Scale, least: Fraction) -> np.ndarray:
    """Return for each number of records the least T with a variance of at least `least`; the last entry is `least`.

    T is an integer if the values are, and then the result is exact. The variance of no records is 0.

    >>> least_sums(Scale(np.arange(9.0), np.empty(0, np.int64)), Fraction(1, 3))[[0, 1, 2, 3, 4]].tolist()
    [1.0, 1.0, 2.0, 3.0, 6.0]
    """
    known = scale.value[np.isfinite(scale.value)]
    if np.array_equal(np.rint(known), known):
        needed = np.array([-(-least.numerator * m * m // least.denominator) for m in range(_EXACT)], np.float64)
    else:
        needed = float(least) * np.arange(_EXACT, dtype=np.float64) ** 2
    needed[0] = float(least > 0)
    return np.append(needed, float(least))


@part
def apart(s, code):
    """Return the sum of squared distances of a value from those of the group; rounding never makes it negative."""
    if s.scale.value.shape[0] > 0:
        x = s.scale.value[code]
        return 0.0 if np.isnan(x) else max(0.0, s.sums[_SIZE] * x * x - 2.0 * x * s.sums[_SUM] + s.sums[_SQUARES])
    total, node = s.sums[_SUM], code
    while node >= 0:
        total += s.sums[_SIZE] - 2.0 * s.below[node]
        node = s.scale.parent[node]
    return total


@part
def _placed(s, code):
    """Return 1 if a value counts, 0 if it is a missing number."""
    return 0.0 if s.scale.value.shape[0] > 0 and np.isnan(s.scale.value[code]) else 1.0


@part
def _count(s, code, sign):
    s.sums[_SIZE] += sign
    if s.scale.value.shape[0] > 0:
        x = s.scale.value[code]
        s.sums[_SUM] += sign * x
        s.sums[_SQUARES] += sign * x * x
        return
    node = code
    while node >= 0:
        s.below[node] += np.int64(sign)
        s.sums[_SUM] += sign
        node = s.scale.parent[node]


@part
def put_in(s, code):
    """Add a record with this value to the group."""
    if _placed(s, code) > 0.0:
        s.sums[_APART] += apart(s, code)
        _count(s, code, 1.0)


@part
def take_out(s, code):
    """Remove a record with this value from the group."""
    if _placed(s, code) > 0.0:
        _count(s, code, -1.0)
        s.sums[_APART] = max(0.0, s.sums[_APART] - apart(s, code))


@kernel
def put_all_in(s, codes):
    """Add records with these values to the group."""
    for code in codes:
        put_in(s, code)


@part
def _reaches(m, total, needed):
    last = needed.shape[0] - 1
    return total >= (needed[np.int64(m)] if m < last else needed[last] * m * m)


@part
def varies(s, needed):
    """Tell whether the variance of the group is at least the one that `needed` was computed for."""
    return _reaches(s.sums[_SIZE], s.sums[_APART], needed)


@part
def would_vary(s, code, needed):
    """Tell whether it would be, with one more record of this value."""
    return _reaches(s.sums[_SIZE] + _placed(s, code), s.sums[_APART] + apart(s, code), needed)


@part
def would_increase(s, code):
    """Tell whether one more record of this value would increase the variance of the group."""
    if _placed(s, code) == 0.0:
        return False
    m = s.sums[_SIZE]
    return (s.sums[_APART] + apart(s, code)) * m * m > s.sums[_APART] * (m + 1.0) * (m + 1.0)


@kernel
def _variances(s, codes, bounds, out):
    for label in range(out.shape[0]):
        for i in range(bounds[label], bounds[label + 1]):
            put_in(s, codes[i])
        out[label] = s.sums[_APART] / (s.sums[_SIZE] * s.sums[_SIZE]) if s.sums[_SIZE] > 0.0 else 0.0
        for i in range(bounds[label], bounds[label + 1]):
            take_out(s, codes[i])
        s.sums[:] = 0.0


def class_variances(scale: Scale, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the variance of each class, in float64.

    >>> pay = Scale(np.array([0.0, 4.0, 5.0]), np.empty(0, np.int64))
    >>> class_variances(pay, np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1])).tolist()
    [4.0, 0.25]
    """
    sizes = np.bincount(labels)
    out = np.empty(sizes.shape[0])
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    _variances(spread_of(scale), np.asarray(codes, np.int64)[np.argsort(labels, kind="stable")], bounds, out)
    return out
