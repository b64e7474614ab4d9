"""Short path through the points, and the best cut along it.

A path that is short from record to record need not be good at the scale of a class: it may pass neighbouring records at
different times. So paths are also drawn through the centroids of small classes, at several scales, and the path whose
cut loses least is kept. The path is then redrawn repeatedly through the centroids of its classes, keeping the records
of each class next to each other: the old cut remains possible, so the loss never rises.

The path is built greedily, shortest edges first: an edge is taken if neither end has two edges already and the ends
belong to different fragments. Edges are searched among near neighbours; once these are used up, only the ends of the
fragments remain, each with new near neighbours among the ends, and so on, until one fragment is left.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_statistics import root
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.order.projection import cut_labels, optimal_cut
from shoal.kernels.order.two_opt import shorten
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.space.kd_order import regroup
from shoal.kernels.space.neighbours import neighbours

_NEAR_ENDS = 6
_STUCK = 0.8  # share of fragments left after a round at which the rest is joined in order


@kernel
def _lengths(x, near, length, code):
    """Write each candidate edge once: its squared length and its position in `near`; return how many there are."""
    m, count = 0, near.shape[1]
    for a in range(near.shape[0]):
        for i in range(count):
            b = np.int64(near[a, i])
            if b < a:  # b handles the edge if it lists a too
                listed = False
                for h in range(count):
                    listed |= near[b, h] == a
                if listed:
                    continue
            total = 0.0
            for j in range(x.shape[1]):
                t = x[a, j] - x[b, j]
                total += t * t
            length[m], code[m] = total, a * count + i
            m += 1
    return m


@kernel
def _join(order, code, near, ends, link, parent):
    """Take the edges that may be taken, in the order given; return how many."""
    taken, count = 0, near.shape[1]
    for i in range(order.shape[0]):
        edge = code[order[i]]
        a, b = np.int64(ends[edge // count]), np.int64(ends[near[edge // count, edge % count]])
        if link[a, 1] >= 0 or link[b, 1] >= 0:
            continue
        u, v = root(parent, a), root(parent, b)
        if u == v:
            continue
        parent[max(u, v)] = min(u, v)
        link[a, 0 if link[a, 0] < 0 else 1] = b
        link[b, 0 if link[b, 0] < 0 else 1] = a
        taken += 1
    return taken


@kernel
def _walk(link, order):
    """Follow the links from end to end of every fragment, fragments in the order of their lowest ends."""
    m = 0
    for start in range(link.shape[0]):
        if link[start, 1] >= 0:
            continue
        last, here = np.int64(-1), np.int64(start)
        if link[here, 0] == -2:
            continue  # already walked from the other end
        while here >= 0:
            order[m] = here
            m += 1
            following = np.int64(link[here, 0])
            if following == last:
                following = np.int64(link[here, 1])
            if following < 0 and here != start:
                link[here, 0] = -2
            last, here = here, following
    return m


def greedy_path(x: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Join points to a path, shortest edges first."""
    n = x.shape[0]
    link = np.full((n, 2), -1, dtype=np.int32)
    parent = np.arange(n, dtype=np.int32)
    ends, fragments = np.arange(n, dtype=np.int32), n
    while fragments > 1:
        points = x if ends.shape[0] == n else x[ends]
        if ends.shape[0] < n:
            near = neighbours(points, _NEAR_ENDS)
        length = np.empty(near.size)
        code = np.empty(near.size, dtype=np.int64)
        m = _lengths(points, near, length, code)
        taken = _join(np.argsort(length[:m], kind="stable"), code, near, ends, link, parent)
        if taken < (1 - _STUCK) * fragments:
            break
        fragments -= taken
        ends = np.flatnonzero(link[:, 1] < 0).astype(np.int32)
    order = np.empty(n, dtype=np.int32)
    _walk(link, order)
    return order


_NEAR = 8
_WORTH_IT = 1e-3  # share of the loss that a round must gain to be followed by another
_LARGE = 50_000  # records above which one path per scale costs more than it gains


class Cut(NamedTuple):
    """A path and its best cut."""

    order: np.ndarray  # (n,) rows along the path
    bounds: np.ndarray  # (classes + 1,) position of the first record of each class
    centroids: np.ndarray  # (classes, d)
    sse: float


def tour(x: np.ndarray) -> np.ndarray:
    """Return the rows along a short path through the records; equal records are consecutive, in row order.

    Squares of `x` neither overflow nor vanish. For distinct records, the path depends on their coordinates, not on
    their rows. Complexity: that of near neighbours, and about linear beyond.

    >>> tour(np.array([[3.0], [0.0], [2.0], [1.0]])).tolist()
    [1, 3, 2, 0]
    """
    n = x.shape[0]
    rows = np.lexsort(x.T[::-1])
    points = x[rows]
    first = np.ones(n, dtype=np.bool_)
    first[1:] = (points[1:] != points[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    points = np.ascontiguousarray(points[starts])
    near = neighbours(points, _NEAR)
    path = greedy_path(points, near)
    place = np.empty_like(path)
    place[path] = np.arange(path.shape[0], dtype=path.dtype)
    shorter, _ = shorten(points[path], place[near[path]])
    return regroup(rows, np.append(starts, n), path[shorter])[0]


def _cut(x: np.ndarray, order: np.ndarray, k: int) -> Cut:
    along = x[order]
    bounds = optimal_cut(along, k)
    sizes = np.diff(bounds)
    centroids = np.add.reduceat(along, bounds[:-1], axis=0) / sizes[:, None]
    along -= np.repeat(centroids, sizes, axis=0)
    return Cut(order, bounds, centroids, float(np.einsum("ij,ij->", along, along)))


def _through_classes(x: np.ndarray, cut: Cut) -> np.ndarray:
    """Redraw the path through the centroids of classes; each class is traversed in the direction of the next one."""
    path = tour(cut.centroids)
    order, bounds = regroup(cut.order, cut.bounds, path)
    along = cut.centroids[path]
    ahead = along[np.minimum(np.arange(len(path)) + 1, len(path) - 1)] - along[np.maximum(np.arange(len(path)) - 1, 0)]
    backwards = np.einsum("ij,ij->i", x[order[bounds[1:] - 1]] - x[order[bounds[:-1]]], ahead) < 0
    sizes = np.diff(bounds)
    place = np.arange(order.shape[0])
    mirrored = np.repeat(bounds[:-1] + bounds[1:] - 1, sizes) - place
    return np.asarray(order[np.where(np.repeat(backwards, sizes), mirrored, place)])


def tour_cut(points: np.ndarray, k: int) -> Cut:
    """Find a path through the records, and its best cut into classes of k … 2k−1.

    Guarantee: no other cut of the path into such classes has a lower SSE, up to rounding; the SSE is at most that of
    the best cut of :func:`tour`. For distinct records, the classes depend on their coordinates, not on their rows.
    Complexity: a few times that of :func:`tour`, and O(n·k·d) for each cut.
    """
    x = in_range(points)
    best = plain = _cut(x, tour(x), k)
    n = x.shape[0]
    for scale in sorted({2, 3, k // 2}) if n <= _LARGE else sorted({max(k // 2, 2)}):
        if 2 <= scale < k and n >= 2 * scale:
            small = _cut(x, plain.order, scale)
            best = min(best, _cut(x, _through_classes(x, small), k), key=lambda cut: cut.sse)
    while best.bounds.shape[0] > 3:
        again = _cut(x, _through_classes(x, best), k)
        gain = best.sse - again.sse
        best = again if gain > 0 else best
        if gain <= _WORTH_IT * best.sse:
            break
    return best


def tour_labels(points: np.ndarray, k: int) -> np.ndarray:
    """Return the class of each row by :func:`tour_cut`, classes numbered along the path.

    >>> tour_labels(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).tolist()
    [0, 1, 0, 1, 0]
    """
    cut = tour_cut(points, k)
    return cut_labels(cut.order, cut.bounds)
