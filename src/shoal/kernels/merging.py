"""Merge classes with their neighbours until all are close to the table ([SC15] Algorithm 1).

The class farthest from the table is on top of a heap. Entries of classes that have changed since stay there until they
come to the top. The nearest class is found through a tree of boxes over the means.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arrangement import numbered
from shoal.kernels.coarse import LARGE, coarse, note_join
from shoal.kernels.earth_mover import Closeness
from shoal.kernels.in_range import in_range
from shoal.kernels.jit import announce, kernel, part
from shoal.kernels.merged_classes import ROUGH, at_least, classes_of, join, labels_of, measure
from shoal.kernels.moving_points import NONE, moving_points, nearest, put
from shoal.kernels.remaining import WIDTH
from shoal.progress import report

_FEW = 64  # means that are never laid out anew


class _Heap(NamedTuple):
    """Classes that may be too far from the table, the farthest on top; of several the lowest number."""

    far: np.ndarray
    number: np.ndarray
    counts: np.ndarray  # entries; classes left
    mean: np.ndarray  # (d,) scratch


@part
def _push(heap, far, number):
    i = heap.counts[0]
    heap.counts[0] += 1
    while i > 0:
        p = (i - 1) >> 1
        if heap.far[p] > far or (heap.far[p] == far and heap.number[p] <= number):
            break
        heap.far[i], heap.number[i] = heap.far[p], heap.number[p]
        i = p
    heap.far[i], heap.number[i] = far, number


@part
def _pop(heap):
    heap.counts[0] -= 1
    size = heap.counts[0]
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
    while heap.counts[0] > 0 and classes.far[heap.number[0]] != heap.far[0]:
        _pop(heap)


@part
def _farthest(c, classes, heap):
    """Take the class that is farthest from the table off the heap; -1 if all are close enough.

    A class of which only bounds are known is measured unless they say that it is farther than all others, and too far.
    """
    while True:
        _drop_stale(classes, heap)
        if heap.counts[0] == 0:
            return -1
        a = heap.number[0]
        _pop(heap)
        if classes.sure[a]:
            return a
        _drop_stale(classes, heap)
        low = at_least(classes, a)
        if low > c.t + ROUGH and (heap.counts[0] == 0 or low > heap.far[0]):
            return a
        measure(c, classes, a)
        if classes.far[a] >= 0.0:
            _push(heap, classes.far[a], a)


@kernel
def merge_steps(c, classes, known, heap, tree, large, enough):
    """Merge until all classes are close enough, or no more than `enough` are left; tell whether all are close."""
    while heap.counts[1] > 1:
        if heap.counts[1] <= enough:
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
        heap.counts[1] -= 1
        if classes.far[kept] >= 0.0:
            _push(heap, classes.far[kept], kept)
    return True


@kernel
def _fill(classes, heap):
    for a in range(classes.far.shape[0]):
        if classes.far[a] >= 0.0:
            _push(heap, classes.far[a], a)


def merge_until_close(points: np.ndarray, labels: np.ndarray, c: Closeness, *, large: int = LARGE) -> np.ndarray:
    """Merge the class farthest from the table with the class whose mean is nearest, until every class is within t.

    Parameters
    ----------
    points : (n, d) float64
        Finite coordinates.
    labels : (n,) int64
        A partition, classes numbered from 0 without gaps.
    c : Closeness
        What classes must be close to, and how close.
    large : int
        Records from which on it is kept how the values of a class are spread. Changes the time only.

    Returns
    -------
    labels : (n,) int64
        Classes numbered by their first rows.

    Guarantee: every class is a union of classes given, and within t of the table in every attribute, unless only one
    is left. Labels are those of the definition: the farthest class is the one with the greatest EMD in any attribute,
    as float64; the nearest is the one with the least squared distance between means, sums of (xⱼ - qⱼ)² in coordinate
    order; ties go to the class with the lowest row. The sum of a class is that of its records in the order of rows,
    of a merged class the sum of two sums, and the mean is the sum divided by the size.

    Complexity: O(n log n) to begin with. Then O(log n) for each of at most n/k mergers where d is small, and O(s) for
    a class of s records that must be measured: few of the large ones, whose bounds are narrow where values are
    ordered. O(n·(d + attributes)) memory.
    """
    announce(merge_steps)
    labels, points = numbered(labels), in_range(points)
    classes = classes_of(points, labels, c)
    pieces = len(classes.size)
    heap = _Heap(np.empty(pieces), np.empty(pieces, np.int64), np.array([0, pieces]), np.empty(points.shape[1]))
    known = coarse(c, pieces, large)
    _fill(classes, heap)
    done = heap.counts[0] == 0
    while not done:
        left = np.flatnonzero(classes.into == np.arange(pieces))
        tree = moving_points(classes.total[left] / classes.size[left, None], left)
        done = merge_steps(c, classes, known, heap, tree, large, len(left) // 2 if len(left) > _FEW else 1)
        report(pieces - int(heap.counts[1]), pieces)
    return numbered(labels_of(classes, labels))
