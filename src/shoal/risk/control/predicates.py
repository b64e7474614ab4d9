"""Singling-out by guessed predicates: an attacker describes one person with attributes drawn at random."""

from __future__ import annotations

from math import exp, lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.risk.control.tables import Tables

_TRIES = 20  # drawn predicates for each one that is kept, at most


class SingledOut(NamedTuple):
    """Percentage of guesses that describe exactly one record; NaN if no predicate could be guessed."""

    originals: float  #: of the protected table
    control: float  #: of the control, about which the release says nothing
    guesses: int


def singled_out(tables: Tables, guesses: int = 500, seed: int = 0) -> SingledOut:
    """Return how often a predicate taken from the release singles out an original record.

    The attacker draws a released record and two or more of its attributes at random. The predicate demands the same
    category, and a number at least as far from the median. A guess is made if the predicate describes a single
    combination of the release; no predicate is tried twice, because a repeated guess is no further evidence. It
    succeeds if exactly one original record fulfils it. The same guesses about the control succeed by chance. In the
    larger of the two tables a guess counts as its probability to succeed in a random sample of as many records as the
    smaller one has.

    **Complexity.** O(g·(n + c + r)·m) for g guesses.

    **Departures.** anonymeter, the program of [GBM23], uses three attributes unless told otherwise, and drops duplicate
    rows of all three tables; here those of the release only, so that two people with equal values are not singled out.
    It divides by the number of guesses that was asked for; here by that of guesses made. Where the tables differ in
    size, it fits a curve.

    References: [GBM23], the multivariate attack.

    >>> x = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> singled_out(Tables(x, x + 9, x, (True, False))).originals
    100.0
    """
    distinct = np.unique(tables.released, axis=0)
    m, middle, rng = distinct.shape[1], np.median(tables.released, axis=0), np.random.default_rng(seed)
    hits = np.zeros(2)
    made, size = 0, min(filter(None, (len(tables.original), len(tables.control))))
    tried: set[tuple[tuple[int, ...], bytes]] = set()
    for _ in range(_TRIES * guesses):
        if made == guesses:
            break
        record = tables.released[rng.integers(len(tables.released))]
        some = np.sort(rng.choice(m, int(rng.integers(min(2, m), m + 1)), replace=False))
        predicate = (tuple(some.tolist()), (record[some] + 0.0).tobytes())  # −0 is 0
        if predicate in tried:
            continue
        tried.add(predicate)
        if _count(distinct, record, some, middle, tables) != 1:
            continue
        made += 1
        for at, x in enumerate((tables.original, tables.control)):
            hits[at] += once(_count(x, record, some, middle, tables), len(x), size)
    if not made:
        return SingledOut(float("nan"), float("nan"), 0)
    return SingledOut(float(100 * hits[0] / made), float(100 * hits[1] / made), made)


def _count(
    x: NDArray[np.float64],
    record: NDArray[np.float64],
    some: NDArray[np.int64],
    middle: NDArray[np.float64],
    tables: Tables,
) -> int:
    """Return how many rows fulfil the predicate that a record gives with some of its attributes."""
    fulfil = np.ones(len(x), np.bool_)
    for j in some:
        if not tables.numeric[j]:
            fulfil &= x[:, j] == record[j]
        else:
            fulfil &= x[:, j] >= record[j] if record[j] > middle[j] else x[:, j] <= record[j]
    return int(np.count_nonzero(fulfil))


def once(count: int, n: int, size: int) -> float:
    """Return the probability that a random sample of n records holds exactly one of `count` of them.

    >>> once(1, 4, 4), once(2, 4, 4), round(once(2, 4, 2), 6), once(1, 4, 1)
    (1.0, 0.0, 0.666667, 0.25)
    """
    if not count or n - count < size - 1:
        return 0.0
    if count == 1:
        return size / n
    return count * exp(_ways(n - count, size - 1) - _ways(n, size))


def _ways(n: int, k: int) -> float:
    """Return the logarithm of the number of ways to choose k of n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
