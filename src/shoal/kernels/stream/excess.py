"""Amount by which a class of a stream misses its demands: 0 if and only if all of them hold.

Counts and distances are compared as integers, levels as written (0.4 is two fifths). Where floats must decide (for
entropies, and for distances from more tuples than integers can hold), values within a tiny tolerance of equality fail,
so the exact witness never sees a class that fails. The excess is not multiplied by the class size: otherwise a class
that grows towards meeting a demand would seem to miss it by more and more.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.runtime.jit import part
from shoal.types.stream import Demand

DISTINCT, ENTROPY, RECURSIVE, CLOSE = range(4)  #: kinds of demands
_FINEST = 10**6  # largest denominator of a level; finer levels are rounded to the strict side
_LARGEST = 2**31  # no class has this many tuples: a level beyond it demands nothing more
_HAIR = 1e-11
_EXACT = 2.0**62


class Demanded(NamedTuple):
    """Demands laid out for kernels; `base` and `total` grow as tuples arrive."""

    kind: np.ndarray  #: (c,) int64
    least: np.ndarray  #: (c,) int64: minimum number of values in a class; recursive: where the tail begins
    top: np.ndarray  #: (c,) int64: numerator of l, c or t
    bottom: np.ndarray  #: (c,) int64: its denominator
    scale: np.ndarray  #: (c,) int64: closeness: steps from the first code to the last; 2 if all are equally far
    ordered: np.ndarray  #: (c,) bool
    grows: np.ndarray  #: (c,) bool
    bins: np.ndarray  #: (c,) int64: number of codes known to closeness
    base: np.ndarray  #: (c, most bins) int64: count of each code in the reference distribution
    total: np.ndarray  #: (c,) int64: their sum
    logs: np.ndarray  #: float64: n log n for every possible class size
    codes: np.ndarray  #: int64: scratch for the codes of one class
    counts: np.ndarray  #: int64: scratch for their counts


def laid_out(demands: Sequence[Demand]) -> Demanded:
    """Lay out demands for kernels; refuse a model that streams do not support."""
    rows = [_row(one) for one in demands]
    columns = np.array(rows, np.int64).reshape(len(rows), 8).T.copy()
    widest = max((len(one.base) for one in demands), default=1) or 1
    base = np.zeros((len(demands), widest), np.int64)
    for row, one in zip(base, demands, strict=True):
        row[: len(one.base)] = one.base
    none = np.empty(0, np.int64)
    kind, least, top, bottom, scale, ordered, grows, bins = columns
    return Demanded(
        kind, least, top, bottom, scale, ordered == 1, grows == 1, bins, base, base.sum(axis=1), np.empty(0), none, none
    )


def with_room(d: Demanded, size: int) -> Demanded:
    """Return the same with scratch space for classes of `size` tuples."""
    if len(d.codes) > size:
        return d
    n = np.arange(size + 1)
    logs = n * np.array([math.log(x) if x else 0.0 for x in n.tolist()])
    return d._replace(logs=logs, codes=np.empty(size + 1, np.int64), counts=np.empty(size + 1, np.int64))


def _row(one: Demand) -> tuple[int, ...]:
    if one.model in ("p_sensitivity", "distinct_l_diversity"):
        least = math.ceil(_written(one.levels[0][1]))
        return (DISTINCT, least, 0, 1, 0, 0, 0, 0)
    if one.model == "entropy_l_diversity":
        level = _fine(_written(one.level("l")), up=True)
        return (ENTROPY, 0, level.numerator, level.denominator, 0, 0, 0, 0)
    if one.model == "recursive_l_diversity":
        c = _fine(_written(one.level("c")), up=False)
        return (RECURSIVE, math.ceil(_written(one.level("l"))), c.numerator, c.denominator, 0, 0, 0, 0)
    if one.model == "t_closeness":
        t = _fine(_written(one.level("t")), up=False)
        scale = len(one.base) - 1 if one.ordered else 2
        return (CLOSE, 0, t.numerator, t.denominator, scale, int(one.ordered), int(one.grows), len(one.base))
    raise ParameterError(
        f"{one.model}: classes of a stream cannot be made to hold this model. Take p_sensitivity, "
        "distinct_l_diversity, entropy_l_diversity, recursive_l_diversity or t_closeness."
    )


def _written(level: float) -> Fraction:
    return min(Fraction(str(level)), Fraction(_LARGEST))


def _fine(level: Fraction, *, up: bool) -> Fraction:
    """Return a level that counts may be multiplied by, rounded up if `up`, else down."""
    finest = _FINEST if level <= _FINEST else 1
    if level.denominator <= finest:
        return level
    return Fraction((math.ceil if up else math.floor)(level * finest), finest)


@part
def counted(d, values, i):
    """Count an arriving tuple."""
    for j in range(len(d.kind)):
        if d.grows[j]:
            d.base[j, values[i, j]] += 1
            d.total[j] += 1


@part
def excess(d, values, waits, members, s):
    """Return by how much a class misses all demands; members are positions in `waits`, which holds rows of `values`."""
    total = 0.0
    for j in range(len(d.kind)):
        _sort_codes(d.codes, values, j, waits, members, s)
        if d.kind[j] == CLOSE:
            total += _too_far(d, j, s)
        else:
            total += _too_few(d, j, s)
    return total


@part
def _sort_codes(codes, values, j, waits, members, s):
    for a in range(s):
        code, at = values[waits[members[a]], j], a
        while at > 0 and codes[at - 1] > code:
            codes[at] = codes[at - 1]
            at -= 1
        codes[at] = code


@part
def _too_few(d, j, s):
    """Return the shortfall in diversity: values, entropy, or tuples of the most common value."""
    codes, counts = d.codes, d.counts
    m, begin = 0, 0
    for a in range(1, s + 1):
        if a == s or codes[a] != codes[begin]:
            count, at = a - begin, m
            while at > 0 and counts[at - 1] < count:  # descending
                counts[at] = counts[at - 1]
                at -= 1
            counts[at] = count
            m, begin = m + 1, a
    if d.kind[j] == DISTINCT:
        return float(max(d.least[j] - m, 0))
    if d.kind[j] == RECURSIVE:
        tail = 0
        for a in range(max(d.least[j] - 1, 0), m):
            tail += counts[a]
        return max(d.bottom[j] * counts[0] - d.top[j] * tail + 1, 0) / d.bottom[j]
    if counts[0] == counts[m - 1] and m * d.bottom[j] >= d.top[j]:  # all equally frequent: no logarithm needed
        return 0.0
    held = d.logs[s]
    for a in range(m):
        held -= d.logs[counts[a]]
    asked = s * np.log(d.top[j] / d.bottom[j])
    return max(asked + _HAIR * asked + _HAIR - held, 0.0) / s


@part
def _too_far(d, j, s):
    """Return the shortfall in closeness: the earth mover's distance minus t."""
    n, m, scale = d.total[j], d.bins[j], d.scale[j]
    if n == 0 or scale == 0:
        return 0.0
    most = float(n) * s * scale * max(d.bottom[j], d.top[j])
    if 2.0 * most >= _EXACT:
        return _roughly(d, j, s)
    work, mine, theirs, at = 0, 0, 0, 0
    for u in range(m):
        if not d.ordered[j]:
            mine, theirs = 0, 0
        while at < s and d.codes[at] == u:
            mine, at = mine + 1, at + 1
        theirs += d.base[j, u]
        work += abs(n * mine - s * theirs)
    return max(d.bottom[j] * work - d.top[j] * n * s * scale, 0) / (float(d.bottom[j]) * n * scale * s)


@part
def _roughly(d, j, s):
    """Return the same for more tuples than integers can hold; distances close to the limit fail."""
    n, m = float(d.total[j]), d.bins[j]
    work, mine, theirs, at = 0.0, 0.0, 0.0, 0
    for u in range(m):
        if not d.ordered[j]:
            mine, theirs = 0.0, 0.0
        while at < s and d.codes[at] == u:
            mine, at = mine + 1.0, at + 1
        theirs += d.base[j, u]
        work += abs(mine - s * (theirs / n))
    return max(work / (d.scale[j] * s) - float(d.top[j]) / d.bottom[j] + _HAIR, 0.0)
