"""The records not yet in a class: taking them out, one class at a time.

Everything a kernel must know of the table, whatever the way it searches. Groups are those of
:mod:`shoal.kernels.groups`; the sums are those of :mod:`shoal.kernels.exact_sum`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.exact_sum import exact_sums, mean, subtract
from shoal.kernels.groups import equal_records

NO_ROW = np.iinfo(np.int64).max


class Remaining(NamedTuple):
    """What remains of a table of n records in d coordinates, m of them distinct."""

    patterns: np.ndarray  # (n, d) the coordinates' bit patterns
    members: np.ndarray  # (n,) rows, group after group
    head: np.ndarray  # (m,) next member of each group; == end when the group is gone
    end: np.ndarray  # (m,)
    limbs: np.ndarray  # exact column sums of the remaining records
    base: np.ndarray
    labels: np.ndarray  # (n,) class of each row, -1 while it remains
    counts: np.ndarray  # records remaining, classes formed, groups remaining


def all_remaining(points: np.ndarray) -> Remaining:
    """Start with every record of `points` remaining."""
    patterns = points.view(np.int64)
    members, bounds = equal_records(points)
    limbs, base = exact_sums(patterns)
    n, groups = points.shape[0], bounds.shape[0] - 1
    labels = np.full(n, -1, dtype=np.int64)
    counts = np.array([n, 0, groups], dtype=np.int64)
    return Remaining(patterns, members, bounds[:-1].copy(), bounds[1:].copy(), limbs, base, labels, counts)


@njit(cache=True, nogil=True)
def first_row(remaining, group):  # type: ignore[no-untyped-def]
    """Lowest remaining row of a group."""
    return remaining.members[remaining.head[group]]


@njit(cache=True, nogil=True)
def take(remaining, group):  # type: ignore[no-untyped-def]
    """Move the first remaining record of a group into the class being formed; tell whether the group is gone."""
    row = remaining.members[remaining.head[group]]
    remaining.head[group] += 1
    remaining.labels[row] = remaining.counts[1]
    remaining.counts[0] -= 1
    subtract(remaining.limbs, remaining.base, remaining.patterns[row])
    gone = remaining.head[group] == remaining.end[group]
    if gone:
        remaining.counts[2] -= 1
    return gone


@njit(cache=True, nogil=True)
def close_class(remaining):  # type: ignore[no-untyped-def]
    """Number the next class."""
    remaining.counts[1] += 1


@njit(cache=True, nogil=True)
def centroid(remaining, digits, out):  # type: ignore[no-untyped-def]
    """Write the centroid of the remaining records."""
    mean(remaining.limbs, remaining.base, remaining.counts[0], digits, out)


def label_the_rest(remaining: Remaining) -> None:
    """Make one class of all records that remain, if any do."""
    rest = remaining.labels < 0
    if rest.any():
        remaining.labels[rest] = remaining.counts[1]
        remaining.counts[0] = 0
        remaining.counts[1] += 1
