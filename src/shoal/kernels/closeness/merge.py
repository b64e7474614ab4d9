"""Merging of classes until all are close to the table, with distances measured only where needed.

A class is a chain of *pieces*, the classes that were given. Its codes lie in the slots of its pieces, ascending along
the chain as of its last measurement; merging two classes links two chains and moves nothing.

With s records, s · EMD is a norm: for a merged class it is at most the sum of the two, and at least their difference.
So bounds are known without measuring, and :mod:`shoal.kernels.closeness.earth_mover` has tighter ones for large
classes: a class that absorbs its neighbours one by one is not measured each time.

The class farthest from the table is on top of a heap. Outdated entries of classes stay there until they come to the
top. The nearest class is found through a tree of boxes over the means; with coded attributes, among all
(:mod:`shoal.kernels.closeness.coded_means`).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import groups_of
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.closeness.coded_means import coded_means, nearest_mean, unite_means
from shoal.kernels.closeness.earth_mover import (
    LARGE,
    Closeness,
    bounds_of,
    coarse,
    distance,
    is_close,
    most_work,
    note_join,
    work,
)
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.kd_order import NONE, moving_points, nearest, put
from shoal.kernels.space.remaining import WIDTH
from shoal.progress import report
from shoal.types.coded import Coded

_ENTRIES, _CLASSES = range(2)  # counts of the heap
_UP, _DOWN = 1.0 + 1e-14, 1.0 - 1e-14  # more than any rounding error
ROUGH = 2e-9  # more than the margin of a class too large for exact work, plus its error


class MergedClasses(NamedTuple):
    """Partition whose classes are being merged."""

    codes: np.ndarray  # (attributes, n) int32, grouped by piece
    bounds: np.ndarray  # (pieces + 1,) position of the first code of each piece
    after: np.ndarray  # (pieces,) the next piece of the chain, -1 at its end
    last: np.ndarray  # (pieces,) the last piece of the chain of a class
    into: np.ndarray  # (pieces,) the class it was merged into, or itself
    size: np.ndarray  # (pieces,) number of records of a class
    total: np.ndarray  # (pieces, d) sum of its records' coordinates other than those of coded attributes
    low: np.ndarray  # (attributes, pieces) bounds on size · EMD
    high: np.ndarray  # (attributes, pieces)
    far: np.ndarray  # (pieces,) upper bound on the largest EMD; -1: close, or merged into another
    sure: np.ndarray  # (pieces,) bool: `far` is the exact distance
    run: np.ndarray  # (2, n) int32, scratch


def classes_of(points: np.ndarray | Coded, labels: np.ndarray, c: Closeness) -> MergedClasses:
    """Lay out the classes of a partition, numbered without gaps, and measure all of them. O(n·d + n log n)."""
    sizes = np.bincount(labels)
    pieces = len(sizes)
    shape = (len(c.line), pieces)
    x = points.numbers if isinstance(points, Coded) else points
    total = np.zeros((pieces, x.shape[1]))
    for j, column in enumerate(x.T):
        total[:, j] = np.bincount(labels, weights=column)
    classes = MergedClasses(
        np.array([c.codes[at][np.lexsort((c.codes[at], labels))] for at in range(len(c.line))]),
        np.concatenate(([0], np.cumsum(sizes))),
        np.full(pieces, -1),
        np.arange(pieces),
        np.arange(pieces),
        sizes,
        total,
        np.empty(shape),
        np.empty(shape),
        np.empty(pieces),
        np.zeros(pieces, np.bool_),
        np.empty((2, len(labels)), np.int32),
    )
    _measure_all(c, classes)
    return classes


@kernel
def _measure_all(c, classes):
    for a in range(classes.far.shape[0]):
        measure(c, classes, a)


@part
def _sort(runs, s):
    """Merge ascending runs of ``runs[0, :s]`` into one; return its row, and the number of runs there were."""
    at, most = 0, 0
    while True:
        source, target, count, begin = runs[at], runs[1 - at], 0, 0
        while begin < s:
            middle = begin + 1
            while middle < s and source[middle - 1] <= source[middle]:
                middle += 1
            count += 1
            if middle == s and count == 1:
                return at, max(most, 1)
            end = min(middle + 1, s)
            while end < s and source[end - 1] <= source[end]:
                end += 1
            count += middle < s
            i, j = begin, middle
            for k in range(begin, end):
                if j == end or (i < middle and source[i] <= source[j]):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
            begin = end
        at, most = 1 - at, max(most, count)


@part
def _ascending(classes, at, a):
    """Sort the codes of a class along its chain; return the row of `run` that also holds them."""
    s, codes = classes.size[a], classes.codes[at]
    place, piece = 0, a
    while piece >= 0:
        for i in range(classes.bounds[piece], classes.bounds[piece + 1]):
            classes.run[0, place] = codes[i]
            place += 1
        piece = classes.after[piece]
    where, runs = _sort(classes.run, s)
    if runs > 1:
        place, piece = 0, a
        while piece >= 0:
            for i in range(classes.bounds[piece], classes.bounds[piece + 1]):
                codes[i] = classes.run[where, place]
                place += 1
            piece = classes.after[piece]
    return where


@part
def measure(c, classes, a):
    """Measure the distance of a class from the table, and whether it is close enough in every attribute."""
    s, far, close = classes.size[a], 0.0, True
    for at in range(c.line.shape[0]):
        codes = classes.run[_ascending(classes, at, a), :s]
        if s <= c.exact[at]:
            done = work(c, at, codes, s)
            here, slack = done / (float(c.n) * s * c.scale[at]), 0.0
            close &= done <= most_work(c, at, s)
        else:
            here, slack = distance(c, at, codes, s), ROUGH
            close &= is_close(c, at, codes, s)
        classes.low[at, a], classes.high[at, a] = max(here - slack, 0.0) * s * _DOWN, (here + slack) * s * _UP
        far = max(far, here)
    classes.sure[a] = True
    classes.far[a] = -1.0 if close else far


@part
def at_least(classes, a):
    """Return a lower bound on the largest EMD of a class."""
    low = 0.0
    for at in range(classes.low.shape[0]):
        low = max(low, classes.low[at, a] / classes.size[a] * _DOWN)
    return low


@part
def join(c, classes, k, a, b):
    """Merge class b into class a, which must have the lower number; update the bounds on its distance."""
    far = 0.0
    for at in range(classes.low.shape[0]):
        low = max(classes.low[at, a] - classes.high[at, b], classes.low[at, b] - classes.high[at, a])
        classes.low[at, a] = max(low, 0.0) * _DOWN
        classes.high[at, a] = (classes.high[at, a] + classes.high[at, b]) * _UP
        size = classes.size[a] + classes.size[b]
        if c.line[at] and k.room[a] >= 0:
            low, high = bounds_of(c, k, k.room[a], at, size)
            classes.low[at, a], classes.high[at, a] = max(classes.low[at, a], low), min(classes.high[at, a], high)
        far = max(far, classes.high[at, a] / size * _UP)
    for j in range(classes.total.shape[1]):
        classes.total[a, j] += classes.total[b, j]
    classes.after[classes.last[a]], classes.last[a] = b, classes.last[b]
    classes.size[a] += classes.size[b]
    classes.into[b], classes.far[b] = a, -1.0
    classes.sure[a], classes.far[a] = False, far if far > c.t - ROUGH else -1.0


def labels_of(classes: MergedClasses, labels: np.ndarray) -> np.ndarray:
    """Return the class that each record of the original partition is in now."""
    into = classes.into
    while not np.array_equal(into[into], into):
        into = into[into]
    return np.asarray(into[labels])


_FEW = 64  # up to this many means are never laid out again


class _Heap(NamedTuple):
    """Classes that may be too far from the table, the farthest on top, ties to the lowest number."""

    far: np.ndarray
    number: np.ndarray
    counts: np.ndarray  # (2,) entries, classes left
    mean: np.ndarray  # (d,) scratch


@part
def _push(heap, far, number):
    i = heap.counts[_ENTRIES]
    heap.counts[_ENTRIES] += 1
    while i > 0:
        p = (i - 1) >> 1
        if heap.far[p] > far or (heap.far[p] == far and heap.number[p] <= number):
            break
        heap.far[i], heap.number[i] = heap.far[p], heap.number[p]
        i = p
    heap.far[i], heap.number[i] = far, number


@part
def _pop(heap):
    heap.counts[_ENTRIES] -= 1
    size = heap.counts[_ENTRIES]
    far, number = heap.far[size], heap.number[size]
    i, child = 0, 1
    while child < size:
        e = child + 1
        if e < size and (
            heap.far[e] > heap.far[child] or (heap.far[e] == heap.far[child] and heap.number[e] < heap.number[child])
        ):
            child = e
        if far > heap.far[child] or (far == heap.far[child] and number < heap.number[child]):
            break
        heap.far[i], heap.number[i] = heap.far[child], heap.number[child]
        i = child
        child = 2 * i + 1
    heap.far[i], heap.number[i] = far, number


@part
def _drop_stale(classes, heap):
    while heap.counts[_ENTRIES] > 0 and classes.far[heap.number[0]] != heap.far[0]:
        _pop(heap)


@part
def _farthest(c, classes, heap):
    """Pop the class that is farthest from the table; return -1 if all are close enough.

    A class with only bounds is measured, unless the bounds prove that it is the farthest, and too far.
    """
    while True:
        _drop_stale(classes, heap)
        if heap.counts[_ENTRIES] == 0:
            return -1
        a = heap.number[0]
        _pop(heap)
        if classes.sure[a]:
            return a
        _drop_stale(classes, heap)
        low = at_least(classes, a)
        if low > c.t + ROUGH and (heap.counts[_ENTRIES] == 0 or low > heap.far[0]):
            return a
        measure(c, classes, a)
        if classes.far[a] >= 0.0:
            _push(heap, classes.far[a], a)


@kernel
def merge_steps(c, classes, known, heap, tree, large, enough):
    """Merge until all classes are close enough, or at most `enough` are left; tell whether all are close."""
    while heap.counts[_CLASSES] > 1:
        if heap.counts[_CLASSES] <= enough:
            return False
        a = _farthest(c, classes, heap)
        if a < 0:
            return True
        slot = tree.slot[a]
        for j in range(tree.q.shape[0]):
            tree.q[j] = tree.x[slot // WIDTH, j, slot % WIDTH]
            heap.mean[j] = np.nan
        put(tree, slot, NONE, heap.mean)
        b = nearest(tree, slot // WIDTH)
        if classes.size[b] >= classes.size[a]:  # the larger one moves less, and keeps its leaf
            slot = tree.slot[b]
        else:
            put(tree, tree.slot[b], NONE, heap.mean)
        kept, gone = min(a, b), max(a, b)
        note_join(c, known, classes, kept, gone, large)
        join(c, classes, known, kept, gone)
        for j in range(tree.q.shape[0]):
            heap.mean[j] = classes.total[kept, j] / classes.size[kept]
        put(tree, slot, kept, heap.mean)
        heap.counts[_CLASSES] -= 1
        if classes.far[kept] >= 0.0:
            _push(heap, classes.far[kept], kept)
    return True


@kernel
def coded_merge_steps(c, classes, known, heap, means, large, enough):
    """Merge as :func:`merge_steps` does, where attributes are coded."""
    while heap.counts[_CLASSES] > 1:
        if heap.counts[_CLASSES] <= enough:
            return False
        a = _farthest(c, classes, heap)
        if a < 0:
            return True
        b = nearest_mean(means, classes.total, classes.size, a)
        kept, gone = min(a, b), max(a, b)
        unite_means(means, kept, gone)
        note_join(c, known, classes, kept, gone, large)
        join(c, classes, known, kept, gone)
        heap.counts[_CLASSES] -= 1
        if classes.far[kept] >= 0.0:
            _push(heap, classes.far[kept], kept)
    return True


@kernel
def _fill(classes, heap):
    for a in range(classes.far.shape[0]):
        if classes.far[a] >= 0.0:
            _push(heap, classes.far[a], a)


def merge_until_close(
    points: np.ndarray | Coded, labels: np.ndarray, c: Closeness, *, large: int = LARGE
) -> np.ndarray:
    """Merge the class farthest from the table with the class whose mean is nearest, until every class is within t.

    From `large` records on, the distribution of a class's values is stored in bins; this changes only the running time.

    Guarantee: every class is a union of the given classes, and within t of the table in every attribute, unless only
    one is left. The farthest class is the one with the largest EMD in any attribute, as float64. The sum of a class
    adds its records in row order, the sum of a merged class adds two sums, and the mean is the sum divided by the size.

    Complexity: O(n log n) at the start. Then O(log n) for each of at most n/k mergers where d is small, O(n) with coded
    attributes, and O(s) for each class of s records that must be measured; few large ones must, because their bounds
    are tight where values are ordered. O(n·(d + attributes)) memory.
    """
    announce(coded_merge_steps if isinstance(points, Coded) else merge_steps)
    labels, points = numbered(labels), in_range(points)
    classes = classes_of(points, labels, c)
    pieces = len(classes.size)
    heap = _Heap(np.empty(pieces), np.empty(pieces, np.int64), np.array([0, pieces]), np.empty(classes.total.shape[1]))
    known = coarse(c, pieces, large)
    _fill(classes, heap)
    done = heap.counts[_ENTRIES] == 0
    groups = groups_of(points) if isinstance(points, Coded) else None
    while not done:
        left = np.flatnonzero(classes.into == np.arange(pieces))
        enough = len(left) // 2 if len(left) > _FEW else 1
        if groups is not None:
            means = coded_means(groups, labels_of(classes, labels))
            done = coded_merge_steps(c, classes, known, heap, means, large, enough)
        else:
            tree = moving_points(classes.total[left] / classes.size[left, None], left)
            done = merge_steps(c, classes, known, heap, tree, large, enough)
        report(pieces - int(heap.counts[_CLASSES]), pieces)
    return numbered(labels_of(classes, labels))
