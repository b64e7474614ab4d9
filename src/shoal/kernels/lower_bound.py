"""A lower bound on the SSE of any partition into classes of at least k records, by the best way the size allows."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from shoal.kernels.lower_bound_columns import column_bound
from shoal.kernels.lower_bound_neighbours import neighbour_bound
from shoal.kernels.optimal_cut import cut_labels, optimal_cut
from shoal.kernels.overlay import classes_of

_MOST_RECORDS = 5_000  # for column generation, which holds the distances of all pairs
_LARGEST_K = 6  # beyond, pricing has too many sets to grow
_MOST_WORK = 40_000  # n·(k−2)²: the linear programmes become slow
_STEPS = 150

ONE_CLASS, OPTIMAL_CUT = "one class", "optimal cut"
COLUMNS, COLUMNS_STOPPED, NEIGHBOURS = "column generation", "column generation, stopped", "nearest neighbours"


class Bound(NamedTuple):
    """A lower bound, and how it was obtained."""

    value: float
    how: str


def lower_bound(points: np.ndarray, k: int) -> Bound:
    """Return a lower bound on the SSE of any partition of the points into classes of at least k records.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, n ≥ k, d ≥ 1. Left as they are.
    k : int
        Least size of a class, at least 2.

    Returns
    -------
    Bound
        `value`, and `how`: "one class" (n < 2k) and "optimal cut" (one coordinate varies) are the optimum itself, but
        for rounding; "column generation" is the value of the linear relaxation; "column generation, stopped" is below
        it; "nearest neighbours" is the weakest, and works for any size.

    Guarantee: no partition whose classes all have at least k records has a lower SSE, in exact arithmetic on the
    points as they are given.

    Complexity: column generation takes O(n²) memory and some ten linear programmes, and is tried for n ≤ 5,000, k ≤ 6
    and n(k−2)² ≤ 40,000; else the search for neighbours, and O(n·k) for each of 150 steps.

    Examples
    --------
    >>> lower_bound(np.array([[0.0], [1.0], [5.0], [7.0]]), 2).how
    'optimal cut'
    """
    n = len(points)
    x, exponent = unit_range(np.ascontiguousarray(points[:, np.ptp(points, axis=0) > 0]))
    if n < 2 * k or x.shape[1] == 0:
        return Bound(rescaled(_partition_cost(x, np.zeros(n, np.int64)), exponent), ONE_CLASS)
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0], kind="stable")
        return Bound(rescaled(_partition_cost(x, cut_labels(order, optimal_cut(x[order], k))), exponent), OPTIMAL_CUT)
    value, how = -math.inf, COLUMNS
    if n <= _MOST_RECORDS and k <= _LARGEST_K and n * (k - 2) ** 2 <= _MOST_WORK:
        value, optimal = column_bound(x, k)
        how = COLUMNS if optimal else COLUMNS_STOPPED
    if how != COLUMNS or value == -math.inf:
        other = neighbour_bound(x, k, _STEPS)
        value, how = (other, NEIGHBOURS) if other > value else (value, how)
    return Bound(rescaled(value, exponent), how)


def unit_range(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Return x·2⁻ᵉ and e, which is 0 unless squares would overflow or vanish.

    >>> unit_range(np.array([[2.0**900]]))
    (array([[0.5]]), 901)
    """
    exponent = int(np.frexp(max(float(x.max()), -float(x.min())))[1]) if x.size else 0
    return (x, 0) if -200 < exponent < 400 else (np.ldexp(x, -exponent), exponent)


def rescaled(value: float, exponent: int) -> float:
    """Return a lower bound in the unit of x from one in the unit of x·2⁻ᵉ, rounded downwards."""
    try:
        value = math.ldexp(max(value, 0.0), 2 * exponent)
    except OverflowError:
        return sys.float_info.max
    return value if value > 1e-290 else math.nextafter(value, 0.0)


def _partition_cost(x: np.ndarray, labels: np.ndarray) -> float:
    """Return the SSE of a partition, lowered by more than rounding could have raised it or missed the optimum by."""
    if x.shape[1] == 0:
        return 0.0
    cost = math.fsum(classes_of(x, labels).costs.tolist())
    largest = int(np.bincount(labels).max())
    return cost * (1.0 - 64 * (largest + 1) ** 2 * 2.0**-53)
