"""Bucket attribute B(C) of [DS17] Algorithm 1: records with the same number lie in different buckets.

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

from shoal.kernels.arithmetic.sums import extent, place
from shoal.kernels.runtime.jit import announce, kernel, part


class Numbered(NamedTuple):
    """Bucket attribute of every record."""

    number: np.ndarray  #: (n,) int64, from 0; a spare record has the number of its partner
    partner: np.ndarray  #: (n,) int64, for a spare record the one whose class it joins; −1 for all others
    buckets: int  #: b: records of each number, without spare records
    steps: int  #: q − 1: from the first number to the last; times √m, the weight that must be exceeded

    @property
    def unit(self) -> np.ndarray:
        """Return the numbers, scaled to 0 … 1."""
        return np.asarray(self.number / max(self.steps, 1))


def least_size(n: int, k: int, t: float) -> int:
    """Return how many records of different buckets a class needs to be within t of n records: [DS17] eq. (2).

    Exact: t is taken as the decimal number it is written as.

    >>> least_size(1000, 2, 0.1), least_size(1000, 2, 0.05), least_size(1080, 2, 0.1), least_size(9, 2, 0.0)
    (5, 10, 5, 9)
    """
    return max(k, math.ceil(n / (2 * (n - 1) * Fraction(str(float(t))) + 1)))


def in_unit_ranges(points: np.ndarray) -> np.ndarray:
    """Scale every coordinate to 0 … 1 by its own range; a constant coordinate becomes 0."""
    return np.ascontiguousarray(np.column_stack([place(column, *extent(column)) for column in points.T]))


def bucket_numbers(x: np.ndarray, codes: np.ndarray, b: int) -> Numbered:
    """Number the records bucket by bucket; each takes the number of the nearest unmatched record of the bucket below.

    `codes` are (n,) int64 ranks of the confidential values. The minimum number of buckets, `b`, is raised to ⌊n/q⌋ with
    q = ⌊n/b⌋, so that fewer than q records are spare.

    Guarantee: each of the q numbers belongs to exactly one record of each of the b buckets of q records. A spare record
    has a partner in the middle bucket, and no two share one.

    Complexity: O(n² m / b) at worst; in each bucket only records near in the widest coordinate are scanned.

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
    axis = int(np.argmax(x.std(axis=0)))
    along = chain[np.lexsort((x[chain, axis], np.arange(b * q) // q))]  # each bucket in the order of that coordinate
    room = _Bucket(
        np.empty(q, np.int64), np.empty((q, x.shape[1])), np.empty(q + 1, np.int64), np.empty(q + 1, np.int64)
    )
    announce(_match)
    _match(x, axis, chain, along, spare, room, number, partner)
    return Numbered(number, partner, b, q - 1)


class _Bucket(NamedTuple):
    """Records of a bucket in the order of one coordinate, and which are free; reused for one bucket after another."""

    row: np.ndarray  #: (q,) int64
    where: np.ndarray  #: (q, m) coordinates
    left: np.ndarray  #: (q + 1,) int64: from s to slot + 1 of the last free one among slots 0 … s − 1; 0: none
    right: np.ndarray  #: (q + 1,) int64: from s to the first free one among slots s … q − 1; q: none


@part
def _fill(bucket, x, rows):
    """Load the records of another bucket, all of them free."""
    for slot in range(rows.shape[0] + 1):
        bucket.left[slot] = bucket.right[slot] = slot
    for slot in range(rows.shape[0]):
        bucket.row[slot] = rows[slot]
        for j in range(x.shape[1]):
            bucket.where[slot, j] = x[rows[slot], j]


@part
def _free(leads, at):
    """Follow the links to a free slot, and shorten the path."""
    while leads[at] != at:
        leads[at] = leads[leads[at]]
        at = leads[at]
    return at


@part
def _take_nearest(bucket, x, row, axis):
    """Return the free record nearest to a row, ties to the lowest row, and mark it as taken.

    The search goes outwards from the position of the row. The squared difference in the sorting coordinate never
    exceeds the squared distance, rounding included, so the search stops at the nearest so far.
    """
    q = bucket.row.shape[0]
    low, high = 0, q
    while low < high:
        middle = (low + high) // 2
        if bucket.where[middle, axis] < x[row, axis]:
            low = middle + 1
        else:
            high = middle
    i, j = _free(bucket.left, low) - 1, _free(bucket.right, low)
    best, least = -1, np.inf
    while i >= 0 or j < q:
        below = x[row, axis] - bucket.where[i, axis] if i >= 0 else np.inf
        above = bucket.where[j, axis] - x[row, axis] if j < q else np.inf
        if min(below, above) * min(below, above) > least:
            break
        if below <= above:
            slot, i = i, _free(bucket.left, i) - 1
        else:
            slot, j = j, _free(bucket.right, j + 1)
        apart = 0.0
        for c in range(x.shape[1]):
            difference = bucket.where[slot, c] - x[row, c]
            apart += difference * difference
        if apart < least or (apart == least and bucket.row[slot] < bucket.row[best]):
            best, least = slot, apart
    bucket.left[best + 1] = best
    bucket.right[best] = best + 1
    return bucket.row[best]


@kernel
def _match(x, axis, chain, along, spare, bucket, number, partner):
    q = bucket.row.shape[0]
    for i in range(q):  # [DS17] Alg. 1, step 5
        number[chain[i]] = i
    for begin in range(q, chain.shape[0], q):  # step 6
        _fill(bucket, x, along[begin - q : begin])
        for row in chain[begin : begin + q]:
            number[row] = number[_take_nearest(bucket, x, row, axis)]
    middle = (chain.shape[0] // q - 1) // 2 * q
    _fill(bucket, x, along[middle : middle + q])
    for row in spare:
        partner[row] = _take_nearest(bucket, x, row, axis)
        number[row] = number[partner[row]]
