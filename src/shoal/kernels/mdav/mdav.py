"""MDAV-generic: the exact partition, by brute force or through a spatial index.

r and s are the records of the paper, c the centroid of the remaining records.

The cost model was fitted by least squares to timings of both paths: n = 300 … 10⁵, d = 1 … 30, k = 3 … 30, on uniform,
clustered and correlated points; nine predictions in ten are within 40 %. It depends only on counts, never on a clock,
so that the same table takes the same path on every machine, every time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.mdav.steps import (
    brute_steps,
    coded_index_steps,
    index_steps,
    pass_space,
    split_pass,
    split_steps,
    worthwhile_threads,
)
from shoal.kernels.runtime.jit import announce, thread_pool
from shoal.kernels.space.coded_index import CodedIndex, coded_index
from shoal.kernels.space.kd_order import equal_records
from shoal.kernels.space.remaining import CLASSES, POINTS, REMAINING, Remaining, all_remaining, final_labels, scatter
from shoal.kernels.space.spatial_index import REBUILT, Index, spatial_index
from shoal.kernels.space.tree import BOXES, FAR_FROM_CENTROID, FAR_FROM_RECORD, FRAME_LEAVES, LEAVES, NEAR, PER_SEARCH
from shoal.progress import report
from shoal.types.coded import Coded

if TYPE_CHECKING:
    from shoal.kernels.space.principal_axes import Frame


_CACHED = 5e6  # bytes


def brute_step(points: int, d: int, k: int) -> float:
    """Return the cost of forming two classes by brute force while `points` distinct points remain."""
    scan = 3.2 * points * (0.25 + 0.143 * d)
    scan *= 1.0 + min(max(points * d * 8 / _CACHED - 1.0, 0.0), 1.0)  # data that no cache holds is read half as fast
    keep = 59.0 * k * math.log2(2.0 + points / k)
    return scan + keep + 12.0 * k * d


def brute_total(n: int, points: int, d: int, k: int) -> float:
    """Return the cost of brute force from n records, `points` of them distinct, to the end."""
    return n / (2 * k) * brute_step(points // 2, d, k)


def frame_cost(d: int) -> float:
    """Return the cost of choosing a frame: above some size, the linear algebra library starts threads, which spin."""
    return 1.5e6 + 5e4 * d if d < 24 else 4.5e7 + 2.5e6 * (d - 24)


def index_build(points: int, d: int) -> float:
    """Return the cost of building the index once."""
    return points * (180.0 + 44.0 * d + 3.4 * math.log2(points + 1.0))


def index_least(n: int, points: int, d: int, axes: int, k: int) -> float:
    """Return the least cost of the index: its searches prune as well as possible in a frame of `axes` axes."""
    visits = 4.0 * math.log2(points + 1.0) * (33.0 + 3.8 * axes) * 1.25 ** max(axes - 6, 0)
    return index_build(points, d) + n * (140.0 + 19.0 * d) + n / (2 * k) * (1350.0 + 11.0 * d * axes + visits)


def index_so_far(index: Index, remaining: Remaining) -> float:
    """Return the cost of all searches and removals of the index so far."""
    near, far_c, far_r = (index.search.work[i : i + PER_SEARCH] for i in (NEAR, FAR_FROM_CENTROID, FAR_FROM_RECORD))
    frame_leaves, boxes, leaves = (int(count) for count in near + far_c + far_r)
    p, d = int(index.tree.y.shape[1]), int(remaining.x.shape[1])
    taken = remaining.members.shape[0] - int(remaining.counts[REMAINING])
    steps = int(remaining.counts[CLASSES]) / 2
    search = frame_leaves * 1.8 * p + boxes * (33.0 + 3.8 * p) + leaves * 25.0
    return float(search + taken * (140.0 + 19.0 * d) + steps * (1350.0 + 11.0 * p * d))


def coded_step(points: int, columns: int, k: int) -> float:
    """Return the cost of forming two classes by brute force while `points` distinct records with codes remain."""
    return 3.2 * points * (0.5 + 1.0 * columns) + 59.0 * k * math.log2(2.0 + points / k)


def coded_total(n: int, points: int, columns: int, k: int) -> float:
    """Return the cost of brute force on records with codes, from the first to the last."""
    return n / (2 * k) * coded_step(points // 2, columns, k)


def coded_least(n: int, points: int, columns: int, k: int) -> float:
    """Return the least cost of an index of records with codes: its searches prune as well as possible."""
    visits = 10.0 * math.log2(points + 1.0) * (40.0 + 25.0 * columns)
    return points * 250.0 * columns + n * 170.0 * columns + n / (2 * k) * visits


def coded_so_far(index: CodedIndex, remaining: Remaining) -> float:
    """Return the cost of all searches and removals of an index of records with codes so far."""
    work = index.search.work.reshape(3, 3).sum(axis=0)
    columns = int(index.tree.anchor.shape[0] + index.tree.sets.shape[1])
    taken = remaining.members.shape[0] - int(remaining.counts[REMAINING])
    steps = int(remaining.counts[CLASSES]) / 2
    categories = int(index.tree.table.shape[0])
    search = float(work[BOXES]) * (40.0 + 25.0 * columns) + float(work[LEAVES]) * (60.0 + 40.0 * columns)
    return float(search + taken * 170.0 * columns + steps * (1350.0 + 2.0 * categories))


COORDINATES_PER_CALL = 500_000_000  # about a tenth of a second between two progress reports
BLOCKS_PER_CALL = 1_500_000
_CHEAP_IN_CLUMPS = 0.5
_CHEAP = 0.17  # share of the cost of brute force at which the index is tried even if it promises little


@dataclass(frozen=True)
class Trace:
    """Record of a run: which path was taken, and how much work it did."""

    path: str
    size: int  # minimum class size
    distinct: int = 0
    index_steps: int = 0
    brute_steps: int = 0
    split_steps: int = 0  # of them, those done in several threads
    leaves_visited: int = 0
    boxes_visited: int = 0
    records_scanned: int = 0
    rebuilds: int = 0


def mdav(points: np.ndarray | Coded, k: int, *, path: str | None = None) -> tuple[np.ndarray, Trace]:
    """Partition points by MDAV-generic.

    Path None takes the cheaper of "brute" and "index", and may switch from the index to brute force on the way, when
    few records remain or the index prunes too little. The others force one path to the end. Classes are numbered in the
    order they are formed.

    The labels are those of the definition, record for record, on either path: among records equally far, the lowest row
    becomes r or s; among records equally near, the lowest rows are nearest. Points with a coordinate beyond 2⁵⁰⁰, or
    with none as large as 2⁻⁵⁰⁰, are first scaled by a power of two, so that squares neither overflow nor vanish.

    >>> import numpy as np
    >>> labels, trace = mdav(np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.2]]), 2)
    >>> labels
    array([0, 0, 2, 2, 1, 1])
    """
    points = in_range(points)
    groups = equal_records(points)

    def through_index(frame: Frame | None) -> tuple[Index | CodedIndex, Remaining, Callable[[int], int]]:
        if isinstance(points, Coded):
            announce(coded_index_steps)
            of_codes, remaining = coded_index(points, *groups, k)
            return of_codes, remaining, lambda budget: coded_index_steps(of_codes, remaining, k, budget)
        assert frame is not None
        announce(index_steps)
        index, remaining = spatial_index(points, *groups, frame, k)
        return index, remaining, lambda budget: index_steps(index, remaining, k, budget)

    def by_brute_force(remaining: Remaining) -> Callable[[], tuple[int, int, int]]:
        announce(brute_steps)
        remaining = scatter(remaining)
        space, split = pass_space(points, k), split_pass(points, k, pool)

        def steps() -> tuple[int, int, int]:
            if worthwhile_threads(remaining) > 1:
                more, records = split_steps(split, remaining, k, COORDINATES_PER_CALL)
                return more, records, more
            return *brute_steps(space, remaining, k, COORDINATES_PER_CALL), 0

        return steps

    with thread_pool() as pool:
        return form_classes(
            points,
            groups,
            k,
            path,
            lambda remaining: bool(remaining.counts[REMAINING] >= 2 * k),
            through_index,
            by_brute_force,
        )


def form_classes(
    points: np.ndarray | Coded,
    groups: tuple[np.ndarray, np.ndarray],
    size: int,
    path: str | None,
    unfinished: Callable[[Remaining], bool],
    through_index: Callable[[Frame | None], tuple[Index | CodedIndex, Remaining, Callable[[int], int]]],
    by_brute_force: Callable[[Remaining], Callable[[], tuple[int, int, int]]],
) -> tuple[np.ndarray, Trace]:
    """Form classes through an index for as long as brute force would cost more, then by brute force.

    `groups` holds records that are treated as equal, as members and bounds. `through_index` and `by_brute_force` each
    return a callable that forms some pairs of classes. The callable for the index takes a budget of blocks and returns
    the number of pairs. The one for brute force returns the number of pairs, the number of records scanned, and the
    number of pairs formed in several threads. The records left at the end form the last class.
    """
    (n, d), (members, bounds) = points.shape, groups
    trace = Trace("brute", size, bounds.shape[0] - 1)
    frame, indexed = None, path == "index"
    if isinstance(points, Coded):
        indexed |= path is None and coded_least(n, trace.distinct, d, size) < coded_total(n, trace.distinct, d, size)
    elif path != "brute":
        frame = _frame_for_index(points, trace.distinct, size, wanted=indexed)
        indexed = frame is not None
    if not indexed:
        remaining = all_remaining(points, members, bounds)
    else:
        index, remaining, index_pairs = through_index(frame)
        total, step = (coded_total, coded_step) if isinstance(points, Coded) else (brute_total, brute_step)
        budget = int(min(BLOCKS_PER_CALL, max(2000, total(n, trace.distinct, d, size) / 3000)))
        formed, spent = 0, 0.0
        while unfinished(remaining):
            more = index_pairs(budget)
            formed += more
            before, spent = spent, _so_far(index, remaining)
            report(n - int(remaining.counts[REMAINING]), n)
            if path is None and step(int(remaining.counts[POINTS]), d, size) * more < spent - before:
                break
        trace = _indexed(trace, index, formed)
    if unfinished(remaining):
        brute_pairs = by_brute_force(remaining)
        done = np.zeros(3, np.int64)
        while unfinished(remaining):
            done += brute_pairs()
            report(n - int(remaining.counts[REMAINING]), n)
        steps, scanned, split = done.tolist()
        trace = replace(
            trace,
            path="brute" if trace.index_steps == 0 else "index, then brute",
            brute_steps=steps,
            split_steps=split,
            records_scanned=trace.records_scanned + scanned,
        )
    report(n, n)
    return final_labels(remaining), trace


def _so_far(index: Index | CodedIndex, remaining: Remaining) -> float:
    return (coded_so_far if isinstance(index, CodedIndex) else index_so_far)(index, remaining)  # type: ignore[arg-type]


def _indexed(trace: Trace, index: Index | CodedIndex, steps: int) -> Trace:
    """Record the work of the index in the trace."""
    work = index.search.work.reshape(3, 3).sum(axis=0).tolist()
    return replace(
        trace,
        path="index",
        index_steps=steps,
        leaves_visited=work[FRAME_LEAVES],
        boxes_visited=work[BOXES],
        records_scanned=16 * work[LEAVES],
        rebuilds=int(index.rebuilds[REBUILT]),
    )


def _frame_for_index(points: np.ndarray, distinct: int, k: int, *, wanted: bool) -> Frame | None:
    """Choose a frame for the index, unless even searches that prune well would cost more than brute force."""
    from shoal.kernels.space.principal_axes import clumped, frame_of

    n, d = points.shape
    brute = brute_total(n, distinct, d, k)
    try_out = frame_cost(d) + index_build(distinct, d)
    if not wanted and (index_least(n, distinct, d, 1, k) >= brute or frame_cost(d) > _CHEAP * brute):
        return None
    frame = frame_of(points)
    promising = index_least(n, distinct, d, frame.axes.shape[0], k) < brute
    share = _CHEAP_IN_CLUMPS if frame.axes.shape[0] > 13 and clumped(points) else _CHEAP
    cheap = try_out < share * brute
    return frame if wanted or promising or cheap else None
