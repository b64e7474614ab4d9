"""Membership inference for outliers: whether unusual records are nearer to the release if they were in the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.risk.control.tables import Tables, nearest

_SHARE = 0.1  # of all records are outliers
_MOST = 500  # outliers of each table
_REFERENCE = 2_000  # records from which the distance of every record is measured
_RANK = 5


class Outliers(NamedTuple):
    """The most unusual records of the protected table and of the control, and how unusual they are."""

    original: NDArray[np.int64]
    control: NDArray[np.int64]
    distances: tuple[NDArray[np.float64], NDArray[np.float64]]


def outliers(tables: Tables, seed: int = 0) -> Outliers:
    """Return the records whose fifth nearest neighbour, in a sample of both tables, is farthest.

    They do not depend on the release: find them once. **Complexity.** O((n + c)·s·m) for a sample of s records.
    """
    one = tables.scaled
    rng = np.random.default_rng(seed)
    both = np.concatenate([one.original, one.control])
    sample = both[rng.permutation(len(both))[:_REFERENCE]]
    rank = min(_RANK + 1, len(sample))  # a record in the sample is its own nearest neighbour
    far = nearest(both, sample, one.numeric, rank)
    least = np.quantile(far, 1 - _SHARE)
    found = []
    for begin, end in ((0, len(one.original)), (len(one.original), len(both))):
        rows = np.flatnonzero(far[begin:end] >= least)
        found.append(np.sort(rng.permutation(rows)[:_MOST]))
    distances = (far[: len(one.original)][found[0]], far[len(one.original) :][found[1]])
    return Outliers(found[0], found[1], distances)


def membership(tables: Tables, some: Outliers) -> float:
    """Return how well an attacker tells outliers of the protected table from those of the control.

    The attacker knows the record and measures its distance to the nearest released one, as a multiple of how unusual it
    is. The figure is the probability (AUC, in percent) that a member is nearer than a record of the control: 50 is
    guessing. NaN if either table has no outlier.

    **Complexity.** O(o·r·m) for o outliers and r distinct released records.

    References: [GBM23], for the control.

    >>> x = np.array([[1.0], [2.0], [3.0], [40.0]])
    >>> all_of_them = Outliers(np.arange(4), np.arange(4), (np.ones(4), np.ones(4)))
    >>> membership(Tables(x, x + 0.3, x, (True,)), all_of_them)
    100.0
    """
    if not len(some.original) or not len(some.control):
        return float("nan")
    one = tables.scaled
    distinct = np.unique(one.released, axis=0)
    unusual = [np.maximum(far, np.finfo(float).tiny) for far in some.distances]
    inside = nearest(one.original[some.original], distinct, one.numeric) / unusual[0]
    outside = nearest(one.control[some.control], distinct, one.numeric) / unusual[1]
    return 100.0 * auc(-inside, -outside)


def auc(high: NDArray[np.float64], low: NDArray[np.float64]) -> float:
    """Return the probability that a value of `high` exceeds one of `low`; ties count half.

    >>> auc(np.array([2.0, 1.0]), np.array([0.0, 1.0]))
    0.875
    """
    ordered = np.sort(low)
    below, upto = np.searchsorted(ordered, high, "left"), np.searchsorted(ordered, high, "right")
    return float((below + upto).mean() / (2 * len(low)))
