"""t-closeness first ([SC15] Algorithm 3): the exact partition, by brute force or through a spatial index.

S_i are the subsets of the paper, x₀ and x₁ its records, k′ the size of its classes after eqs. (3) and (4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.brute import pass_space
from shoal.kernels.in_range import in_range
from shoal.kernels.jit import announce
from shoal.kernels.mdav import BLOCKS_PER_CALL, COORDINATES_PER_CALL, frame_for_index
from shoal.kernels.nearest_each import nearest_each
from shoal.kernels.remaining import Remaining, all_remaining, final_labels, scatter
from shoal.kernels.subsets import class_size, equal_in_subset, subset_of_rows, subsets_of
from shoal.progress import report

if TYPE_CHECKING:
    from shoal.kernels.frame import Frame

_SAMPLE = 4096
_TELLING = 0.03  # share of the variance of the subsets that coordinates explain, from which on subsets lie apart …
_APART = 2.0  # … by so much from the first to the last: it helps to find the nearest, and harms to find the farthest


@dataclass(frozen=True)
class TFirstTrace:
    """What ran: the proof of the path, and how much work it did."""

    path: str
    size: int  # k′
    distinct: int = 0  # records that differ in a coordinate or in their subset
    index_steps: int = 0
    brute_steps: int = 0
    leaves_visited: int = 0
    boxes_visited: int = 0
    rebuilds: int = 0


def t_first(
    points: np.ndarray, values: np.ndarray, k: int, t: float, *, path: str | None = None
) -> tuple[np.ndarray, TFirstTrace]:
    """Partition points by t-closeness first, without looking at how close classes come out.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, k ≤ n < 2³⁰, d ≥ 1. Left as they are.
    values : (n,)
        What records are ranked by: confidential values, or their ranks.
    k : int
        Least size of a class, at least 2.
    t : float
        How far a class may be from the table, between 0 and 1.
    path : {None, "brute", "index"}
        None takes whichever costs less, and may change from the index to brute force on the way. The others force one
        to the end.

    Returns
    -------
    labels : (n,) int64
        Class of each record; classes are numbered in the order they are formed.
    trace : TFirstTrace

    Guarantee: there are ⌊n / k′⌋ classes of k′ or k′ + 1 records, k′ ≥ k, with one record of every subset; the labels
    are those of the definition, record for record, on either path. Where k′ divides n and no two values are equal,
    every class is within t. Squared distances are sums of (xⱼ - qⱼ)² in float64 in coordinate order; the average is
    the correctly rounded sum of the remaining records, divided by their number; ties go to the lowest row.

    Complexity: brute force O(n²·d / k′); the index O(n log n) to build and, on points of low intrinsic dimension, a few
    hundred blocks of 16 records for each pair of classes. O(n·d) memory either way.

    Departures: eq. (4) with the floor; a second record is taken from a central subset while it has more records left
    than there are classes left; of an odd number of records left over the lower of two central subsets takes one more;
    points out of range are scaled as in MDAV.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.2]])
    >>> labels, trace = t_first(points, np.array([1, 2, 1, 2, 1, 2]), 2, 0.5)
    >>> labels
    array([0, 0, 2, 2, 1, 1])
    """
    points = in_range(points)
    n = points.shape[0]
    trace = TFirstTrace("one class", class_size(n, k, t))
    if n < 2 * trace.size:
        return np.zeros(n, np.int64), trace
    subset = subset_of_rows(values, trace.size)
    members, bounds = equal_in_subset(points, subset)
    trace = replace(trace, path="brute", distinct=bounds.shape[0] - 1)
    frame = None if path == "brute" else frame_for_index(points, trace.distinct, trace.size, wanted=path == "index")
    if frame is not None:
        remaining, trace = _through_index(points, subset, members, bounds, frame, trace, to_the_end=path == "index")
    else:
        remaining = all_remaining(points, members, bounds)
    trace = _by_brute_force(subset, remaining, trace)
    report(n, n)
    return final_labels(remaining), trace


def _through_index(
    points: np.ndarray,
    subset: np.ndarray,
    members: np.ndarray,
    bounds: np.ndarray,
    frame: Frame,
    trace: TFirstTrace,
    *,
    to_the_end: bool,
) -> tuple[Remaining, TFirstTrace]:
    """Form classes through the index: all but the last, or as long as brute force would cost more."""
    from shoal.kernels import cost
    from shoal.kernels.index import spatial_index
    from shoal.kernels.t_first_steps import subset_steps

    announce(subset_steps)
    (n, d), steps, size = points.shape, 0, trace.size
    apart = subset * (_APART / (size - 1)) if _explained(points, subset) > _TELLING else None
    index, remaining = spatial_index(points, members, bounds, frame, size, apart)
    subsets = subsets_of(subset, size, remaining, index.tree)
    each = nearest_each(size, subsets.begin.shape[0] - 1)
    budget = int(min(BLOCKS_PER_CALL, max(2000, cost.brute_total(n, trace.distinct, d, size) / 3000)))
    spent = 0.0
    while remaining.counts[1] < subsets.classes - 1:
        more = subset_steps(index, remaining, subsets, each, budget)
        steps += more
        before, spent = spent, cost.index_so_far(index, remaining)
        report(n - int(remaining.counts[0]), n)
        if not to_the_end and cost.brute_step(int(remaining.counts[2]), d, size) * more < spent - before:
            break
    work = index.search.work.reshape(3, 3).sum(axis=0).tolist()
    return remaining, replace(
        trace,
        path="index",
        index_steps=steps,
        leaves_visited=work[0],
        boxes_visited=work[1],
        rebuilds=int(index.rebuilds[0]),
    )


def _explained(points: np.ndarray, subset: np.ndarray) -> float:
    """Return which share of the variance of the subsets' numbers the coordinates explain, of a sample of records."""
    step = max(points.shape[0] // _SAMPLE, 1)
    x, y = points[::step], subset[::step]
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    y = y - y.mean()
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    freedom = max(x.shape[0] - x.shape[1] - 1, 1)
    return float(1.0 - (left @ left) / (y @ y) * (x.shape[0] - 1) / freedom)


def _by_brute_force(subset: np.ndarray, remaining: Remaining, trace: TFirstTrace) -> TFirstTrace:
    """Form all classes that are left but the last by looking at every record."""
    subsets = subsets_of(subset, trace.size, remaining)
    if remaining.counts[1] >= subsets.classes - 1:
        return trace
    from shoal.kernels.t_first_steps import brute_subset_steps

    announce(brute_subset_steps)
    n, steps = remaining.members.shape[0], 0
    remaining = scatter(remaining, subsets.of_member)
    space, each = pass_space(remaining.x.shape[1], 2), nearest_each(trace.size, 0)
    while remaining.counts[1] < subsets.classes - 1:
        steps += brute_subset_steps(space, remaining, subsets, each, COORDINATES_PER_CALL)[0]
        report(n - int(remaining.counts[0]), n)
    return replace(trace, path="brute" if trace.index_steps == 0 else "index, then brute", brute_steps=steps)
