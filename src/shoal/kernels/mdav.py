"""MDAV-generic: the exact partition, by brute force or through a spatial index.

r and s are the records of the paper, c the centroid of the remaining records.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.brute import brute_steps, pass_space
from shoal.kernels.brute_halves import halved_steps, halves, worth_halving
from shoal.kernels.groups import equal_records
from shoal.kernels.in_range import in_range
from shoal.kernels.jit import announce
from shoal.kernels.remaining import Remaining, all_remaining, final_labels, scatter
from shoal.progress import report

if TYPE_CHECKING:
    from shoal.kernels.frame import Frame

COORDINATES_PER_CALL = 500_000_000  # about a tenth of a second between two reports
BLOCKS_PER_CALL = 1_500_000
_CHEAP_IN_CLUMPS = 0.5
_CHEAP = 0.17  # share of the cost of brute force at which the index is tried, however little it promises


@dataclass(frozen=True)
class MdavTrace:
    """What ran: the proof of the path, and how much work it did."""

    path: str
    distinct: int
    index_steps: int = 0
    brute_steps: int = 0
    halved_steps: int = 0  # of them, those done on two cores
    leaves_visited: int = 0
    boxes_visited: int = 0
    records_scanned: int = 0
    rebuilds: int = 0


def mdav(points: np.ndarray, k: int, *, path: str | None = None) -> tuple[np.ndarray, MdavTrace]:
    """Partition points by MDAV-generic.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, k ≤ n < 2³⁰, d ≥ 1. Left as they are.
    k : int
        Least size of a class, at least 2.
    path : {None, "brute", "index"}
        None takes whichever costs less, and may change from the index to brute force on the way, when little remains
        or when the index prunes too little. The others force one to the end.

    Returns
    -------
    labels : (n,) int64
        Class of each record; classes are numbered in the order they are formed.
    trace : MdavTrace

    Guarantee: every class has k to 2k - 1 records, and the labels are those of the definition below, record for
    record, on either path. Squared distances are sums of (xⱼ - qⱼ)² in float64 in coordinate order; c is the
    correctly rounded sum of the remaining records, divided by their number; of records equally far the lowest row is
    r or s, and of records equally near the lowest rows are nearest.

    Complexity: brute force O(n²·d / k); the index O(n log n) to build and, on points of low intrinsic dimension, a few
    hundred blocks of 16 records for each pair of classes. O(n·d) memory either way.

    Departures: points with a coordinate beyond 2⁵⁰⁰, or with none as large as 2⁻⁵⁰⁰, are first scaled by a power of
    two, lest squares overflow or vanish.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.2]])
    >>> labels, trace = mdav(points, 2)
    >>> labels
    array([0, 0, 2, 2, 1, 1])
    """
    points = in_range(points)
    members, bounds = equal_records(points)
    trace = MdavTrace("brute", bounds.shape[0] - 1)
    frame = None if path == "brute" else frame_for_index(points, trace.distinct, k, wanted=path == "index")
    if frame is not None:
        remaining, trace = _through_index(points, members, bounds, frame, k, trace, to_the_end=path == "index")
    else:
        remaining = all_remaining(points, members, bounds)
    if remaining.counts[0] >= 2 * k:
        trace = _by_brute_force(scatter(remaining), k, trace)
    report(points.shape[0], points.shape[0])
    return final_labels(remaining), trace


def frame_for_index(points: np.ndarray, distinct: int, k: int, *, wanted: bool) -> Frame | None:
    """Choose a frame for the index, unless even searches that go well would cost more than brute force."""
    from shoal.kernels import cost
    from shoal.kernels.frame import clumped, frame_of

    n, d = points.shape
    brute = cost.brute_total(n, distinct, d, k)
    try_out = cost.frame(d) + cost.index_build(distinct, d)
    if not wanted and (cost.index_least(n, distinct, d, 1, k) >= brute or cost.frame(d) > _CHEAP * brute):
        return None
    frame = frame_of(points)
    promising = cost.index_least(n, distinct, d, frame.axes.shape[0], k) < brute
    share = _CHEAP_IN_CLUMPS if frame.axes.shape[0] > 13 and clumped(points) else _CHEAP
    cheap = try_out < share * brute
    return frame if wanted or promising or cheap else None


def _through_index(
    points: np.ndarray,
    members: np.ndarray,
    bounds: np.ndarray,
    frame: Frame,
    k: int,
    trace: MdavTrace,
    *,
    to_the_end: bool,
) -> tuple[Remaining, MdavTrace]:
    """Form classes through the index: all of them, or as long as brute force would cost more."""
    from shoal.kernels import cost
    from shoal.kernels.index import index_steps, spatial_index

    announce(index_steps)
    (n, d), steps = points.shape, 0
    index, remaining = spatial_index(points, members, bounds, frame, k)
    budget = int(min(BLOCKS_PER_CALL, max(2000, cost.brute_total(n, trace.distinct, d, k) / 3000)))
    spent = 0.0
    while remaining.counts[0] >= 2 * k:
        more = index_steps(index, remaining, k, budget)
        steps += more
        before, spent = spent, cost.index_so_far(index, remaining)
        report(n - int(remaining.counts[0]), n)
        if not to_the_end and cost.brute_step(int(remaining.counts[2]), d, k) * more < spent - before:
            break
    work = index.search.work.reshape(3, 3).sum(axis=0).tolist()
    return remaining, replace(
        trace,
        path="index",
        index_steps=steps,
        leaves_visited=work[0],
        boxes_visited=work[1],
        records_scanned=16 * work[2],
        rebuilds=int(index.rebuilds[0]),
    )


def _by_brute_force(remaining: Remaining, k: int, trace: MdavTrace) -> MdavTrace:
    """Form all classes that are left but the last by looking at every record."""
    announce(brute_steps)
    n, steps, scanned = remaining.members.shape[0], 0, 0
    space = pass_space(remaining.x.shape[1], k)
    halved = 0
    with ThreadPoolExecutor(1) as pool:  # starts its thread when it is first given something to do
        pair = halves(remaining.x.shape[1], k, pool)
        while remaining.counts[0] >= 2 * k:
            if worth_halving(remaining):
                more, records = halved_steps(pair, remaining, k, COORDINATES_PER_CALL)
                halved += more
            else:
                more, records = brute_steps(space, remaining, k, COORDINATES_PER_CALL)
            steps, scanned = steps + more, scanned + records
            report(n - int(remaining.counts[0]), n)
    return replace(
        trace,
        path="brute" if trace.index_steps == 0 else "index, then brute",
        brute_steps=steps,
        halved_steps=halved,
        records_scanned=trace.records_scanned + scanned,
    )
