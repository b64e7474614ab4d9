"""The bucket attribute B(C) of [DS17] Algorithm 1: records numbered so that those of a number lie in different buckets.

Symbols: C the confidential attribute; B₁ … B_b the buckets, runs of records in the order of C; q = |B₁|, so that
numbers are 0 … q − 1; m coordinates. Spare records are those in the middle of the order of C that are left over when
all buckets have q records.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import announce, kernel, part
from shoal.kernels.standardise import extent, place


class Numbered(NamedTuple):
    """The bucket attribute of every record."""

    number: np.ndarray  #: (n,) int64, from 0; a spare record has the number of its partner
    partner: np.ndarray  #: (n,) int64, of a spare record the one whose class it joins; −1 of all others
    buckets: int  #: b: records of a number, spare ones left out
    steps: int  #: q − 1: between the first number and the last; times √m, the weight that must be exceeded

    @property
    def unit(self) -> np.ndarray:
        """The numbers, scaled to 0 … 1."""
        return np.asarray(self.number / max(self.steps, 1))


def least_size(n: int, k: int, t: float) -> int:
    """Return how many records of different buckets a class must have to be within t of n records: [DS17] eq. (2).

    Exact: t is the decimal number that it is written as.

    >>> least_size(1000, 2, 0.1), least_size(1000, 2, 0.05), least_size(1080, 2, 0.1), least_size(9, 2, 0.0)
    (5, 10, 5, 9)
    """
    return max(k, math.ceil(n / (2 * (n - 1) * Fraction(str(float(t))) + 1)))


def in_unit_ranges(points: np.ndarray) -> np.ndarray:
    """Scale every coordinate to 0 … 1 by its own range; one that is constant becomes 0."""
    return np.ascontiguousarray(np.column_stack([place(column, *extent(column)) for column in points.T]))


def bucket_numbers(x: np.ndarray, codes: np.ndarray, b: int) -> Numbered:
    """Number the records bucket by bucket, each like the nearest record of the bucket below that has no successor yet.

    Parameters
    ----------
    x : (n, m) float64
        Coordinates in which the nearest is sought.
    codes : (n,) int64
        Ranks of the confidential values.
    b : int
        Least number of buckets, 1 … n. It is raised to ⌊n/q⌋, q = ⌊n/b⌋, so that fewer than q records are spare.

    Guarantee: each of the q numbers is that of exactly one record of each of the b buckets of q records. A spare record
    has a partner in the middle bucket, and no two have the same. Ties: lowest row.

    Complexity: O(n² m / b).

    >>> numbered = bucket_numbers(np.array([[0.0], [0.1], [0.5], [0.9], [1.0]]), np.arange(5), 2)
    >>> numbered.number.tolist(), numbered.partner.tolist()
    ([0, 1, 1, 1, 0], [-1, -1, 1, -1, -1])
    """
    n = len(codes)
    q = n // b
    b = n // q
    order = np.argsort(codes, kind="stable")  # ties to the lowest row
    below, above = b * q // 2, n - (b * q - b * q // 2)
    spare, chain = order[below:above], np.concatenate((order[:below], order[above:]))
    number, partner = np.empty(n, np.int64), np.full(n, -1, np.int64)
    announce(_match)
    _match(x, chain, spare, q, number, partner, np.empty(q, np.int64), np.empty((q, x.shape[1])))
    return Numbered(number, partner, b, q - 1)


@part
def _lay_out(x, rows, free, where):
    """Make all these rows free, their coordinates side by side."""
    for slot in range(rows.shape[0]):
        free[slot] = rows[slot]
        for j in range(x.shape[1]):
            where[slot, j] = x[rows[slot], j]


@part
def _take_nearest(x, row, free, where, left):
    """Return the row nearest to a row among those that are free, which it is no longer; of several, the lowest."""
    best, least = 0, np.inf
    for slot in range(left):
        apart = 0.0
        for j in range(x.shape[1]):
            difference = where[slot, j] - x[row, j]
            apart += difference * difference
        if apart < least or (apart == least and free[slot] < free[best]):
            best, least = slot, apart
    taken, last = free[best], left - 1
    free[best] = free[last]
    for j in range(x.shape[1]):
        where[best, j] = where[last, j]
    return taken


@kernel
def _match(x, chain, spare, q, number, partner, free, where):
    for i in range(q):  # [DS17] Alg. 1, step 5
        number[chain[i]] = i
    for begin in range(q, chain.shape[0], q):  # step 6
        _lay_out(x, chain[begin - q : begin], free, where)
        for i in range(q):
            row = chain[begin + i]
            number[row] = number[_take_nearest(x, row, free, where, q - i)]
    middle = (chain.shape[0] // q - 1) // 2 * q
    _lay_out(x, chain[middle : middle + q], free, where)
    for i in range(spare.shape[0]):
        row = spare[i]
        partner[row] = _take_nearest(x, row, free, where, q - i)
        number[row] = number[partner[row]]
