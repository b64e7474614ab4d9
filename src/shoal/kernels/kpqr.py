"""The heuristic of [DSS08] Section 4 for (k,p,q,r)-anonymity.

X are the records without a class, Y those of them whose value is rare, C is the class being formed around x_s, MinVar
the least variance of a class, all as in the paper.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal.kernels.around import Around, around, labels_so_far
from shoal.kernels.by_value import by_value
from shoal.kernels.in_range import in_range
from shoal.kernels.jit import announce
from shoal.kernels.joining import join_nearest
from shoal.kernels.kpqr_class import Heuristic, kpqr_steps
from shoal.kernels.mdav import BLOCKS_PER_CALL, mdav
from shoal.kernels.spread import least_sums, put_all_in, scale_of, spread_of, table_variance
from shoal.progress import report
from shoal.types import Confidential


def rare_values(counts: np.ndarray, q: float) -> np.ndarray:
    """Tell which values are rare: of fewer than q·n records of the whole table, q as it is written.

    >>> rare_values(np.array([2, 3, 5]), 0.3).tolist()
    [True, False, False]
    """
    share = Fraction(str(q))
    return np.asarray(counts * share.denominator < share.numerator * int(counts.sum()), np.bool_)


def kpqr(
    points: np.ndarray,
    attribute: Confidential,
    k: int,
    p: int,
    q: float,
    r: float,
    order: np.ndarray,
    *,
    prefer_variance: bool = False,
) -> tuple[np.ndarray, Around | None]:
    """Partition points by the heuristic for (k,p,q,r)-anonymity.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, k ≤ n < 2³⁰, d ≥ 1. Left as they are.
    attribute : Confidential
        The confidential attribute; its counts, which say what is rare, are those of the whole table.
    k, p, q, r : int, int, float, float
        Levels of the model.
    order : (n,) int64
        A permutation of the rows: who starts a class next, if rare and still without one.
    prefer_variance : bool
        Whether, of the records that bring a new value, those that increase the variance go first.

    Returns
    -------
    labels : (n,) int64
        Class of each record; classes are numbered in the order they are formed.
    around : Around or None
        What ran for the classes with rare values; None if there are none.

    Guarantee: every class has at least k records. The labels are those of the plain transcription, record for record,
    while variances are computed exactly: values of at most nine decimals, and m²·T below 2⁵³ for a class of m records.

    Complexity: as :func:`shoal.kernels.p_sensitive.p_sensitive` for the classes with rare values, as MDAV for the
    others.
    """
    points, n = in_range(points), points.shape[0]
    rare, code = rare_values(attribute.counts, q), np.asarray(attribute.codes, np.int64)
    labels, a = np.full(n, -1, np.int64), None
    if rare[code].any():
        announce(kpqr_steps)
        a, h = around(points), _heuristic(attribute, code, rare, r, order, prefer_variance)
        while not kpqr_steps(a, h, k, p, BLOCKS_PER_CALL):
            report(n - int(a.remaining.counts[0]), n)
        labels = labels_so_far(a)
    return _with_the_rest(points, labels, k), a


def _heuristic(
    attribute: Confidential, code: np.ndarray, rare: np.ndarray, r: float, order: np.ndarray, prefer: bool
) -> Heuristic:
    scale = scale_of(attribute)
    least = Fraction(str(r)) * table_variance(scale, np.where(rare, attribute.counts, 0))  # steps 2, 3: MinVar
    y = spread_of(scale)
    put_all_in(y, code[rare[code]])
    x = by_value(code, rare.shape[0])
    counted = np.arange(rare.shape[0]) if attribute.alike is None else np.asarray(attribute.alike, np.int64)
    waiting = np.bincount(counted, weights=np.where(rare, x.left, 0)).astype(np.int64)
    return Heuristic(
        x,
        rare,
        np.zeros_like(x.left),
        counted,
        np.zeros_like(waiting),
        waiting,
        spread_of(scale),
        y,
        least_sums(scale, least),
        order.astype(np.int64),
        np.array([0, 0, (waiting > 0).sum(), prefer], np.int64),
    )


def _with_the_rest(points: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Give the records in X a class: by MDAV if they are at least k, else the nearest."""
    formed = int(labels.max()) + 1
    if formed > 0 and (labels == formed - 1).sum() < k:  # X ran empty in 4(f)
        labels[labels == formed - 1] = -1
        formed -= 1
    rest = np.flatnonzero(labels < 0)
    if rest.shape[0] >= k:  # step 5
        labels[rest] = formed + mdav(np.ascontiguousarray(points[rest]), k)[0]
    return join_nearest(points, labels)
