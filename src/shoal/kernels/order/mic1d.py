"""Mic1D: all values of a table sorted in one vector and cut into runs; each run is released as its mean.

| [N14] | here |
|---|---|
| V, V_s | `vector`, and its `order` |
| P_m, r | runs between `bounds`; the size of the last |
| min_m, max_m | `low`, `high` |
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_means import class_means
from shoal.kernels.order.projection import cut_labels, optimal_cut

Cut = Callable[[np.ndarray], np.ndarray]


class Round(NamedTuple):
    """One round of sorting, partitioning and normalising, with the values needed to undo it."""

    run: np.ndarray  # of each value
    low: np.ndarray  # of each value's run
    high: np.ndarray


def fixed_runs(k: int, *, small_last: bool) -> Cut:
    """Return the cut into runs of k; the remainder is a run of its own if `small_last`, else joins the last one."""

    def bounds(ordered: np.ndarray) -> np.ndarray:
        n = ordered.shape[0]
        inner = np.arange(0, n if small_last else n - k + 1, k)
        return np.append(inner, n)

    return bounds


def optimal_runs(k: int) -> Cut:
    """Return the cut into runs of k … 2k−1 with the least SSE."""
    return lambda ordered: optimal_cut(np.ascontiguousarray(ordered[:, None]), k)


def mic1d(points: np.ndarray, cut: Cut) -> np.ndarray:
    """Return the points as Mic1D releases them; `cut` gives the bounds of the runs of a sorted vector.

    Guarantee: in the last sorted vector, every run is released as one value, mapped back into the range of the run that
    each value had in the first. No released value lies outside that range. Equal values are sorted by attribute, then
    by row; values that normalising made equal keep their order.

    >>> mic1d(np.array([[0.0, 10.0], [2.0, 12.0]]), fixed_runs(2, small_last=False)).tolist()
    [[0.0, 10.0], [2.0, 12.0]]
    >>> mic1d(np.array([[0.0, 10.0], [2.0, 12.0]]), fixed_runs(4, small_last=False)).tolist()
    [[6.0, 6.0], [6.0, 6.0]]
    """
    exponent = max(int(np.frexp(np.max(np.abs(points)))[1]) - 1000, 0)  # differences must not overflow
    vector = np.ldexp(points.T.ravel(), -exponent)  # vectorization: attribute by attribute
    order = np.arange(vector.shape[0])
    rounds = []
    for _ in range(2):  # sorting, partitioning, normalization; re-sorting and re-normalization
        order = order[np.argsort(vector[order], kind="stable")]
        this = _round(vector, cut_labels(order, cut(vector[order])))
        rounds.append(this)
        vector = _normalised(vector, this)
    last = rounds[-1].run
    protected = class_means(vector, last)[last]  # mean value computation
    for this in reversed(rounds):
        inside = np.minimum(this.low + protected * (this.high - this.low), this.high)
        protected = np.where(protected < 1.0, inside, this.high)  # rounding must not miss the end of the range
    return np.ascontiguousarray(np.ldexp(protected, exponent).reshape(points.shape[::-1]).T)


def _round(vector: np.ndarray, run: np.ndarray) -> Round:
    runs = int(run.max()) + 1
    low, high = np.full(runs, np.inf), np.full(runs, -np.inf)
    np.minimum.at(low, run, vector)
    np.maximum.at(high, run, vector)
    return Round(run, low[run], high[run])


def _normalised(vector: np.ndarray, this: Round) -> np.ndarray:
    """Return each value's position in its run's range, from 0 to 1; ½ where the run has no range."""
    width = this.high - this.low
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(width > 0, (vector - this.low) / width, 0.5)
