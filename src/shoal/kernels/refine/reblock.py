"""Blocks of whole classes, cut along new directions in every round, so that the seams move; and a local search."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import itertools

import numpy as np

from shoal.kernels.arithmetic.category_groups import groups_of
from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.refine.annealing import shift_or_swap
from shoal.kernels.refine.class_state import arrange, laid_out, numbered
from shoal.kernels.runtime.jit import announce, kernel
from shoal.kernels.space.neighbours import neighbours
from shoal.types.coded import Coded


def cut_blocks(x: np.ndarray | Coded, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut points into `count` blocks, 1 … n: rows grouped by block (int32), and the start of each block.

    To form m > 1 blocks, points are sorted along the coordinate with the widest range, equal ones by all coordinates in
    turn and then by row, and cut in two: the first ⌊m/2⌋ blocks get their share of the points, rounded down, the others
    the rest. Block b is ``order[bounds[b]:bounds[b + 1]]``. Records with codes are sorted along the attribute whose
    lower and upper half lie farthest apart.

    Guarantee: n ≥ count · size → every block has at least `size` points. For distinct points, blocks depend on
    coordinates, not on rows. Complexity: O(n·d log count) time; about 30 bytes a point in addition to the result.

    >>> order, bounds = cut_blocks(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    >>> order.tolist(), bounds.tolist()
    ([0, 2, 1, 3], [0, 2, 4])
    """
    n = len(x)
    order = np.arange(n, dtype=np.int32)
    bounds = [n]
    pending = [(0, n, count)]
    while pending:
        begin, end, blocks = pending.pop()
        if blocks == 1:
            bounds.append(begin)
            continue
        first = blocks // 2
        middle = begin + (end - begin) * first // blocks
        _cut(x, order[begin:end], middle - begin)
        pending += [(begin, middle, first), (middle, end, blocks - first)]
    return order, np.array(sorted(bounds), dtype=np.int64)


def _cut(x: np.ndarray | Coded, rows: np.ndarray, first: int) -> None:
    """Move the `first` lowest along the widest coordinate to the front of `rows`; both sides keep their order."""
    columns = x.sort_keys() if isinstance(x, Coded) else x.T
    widest, keys = -1.0, columns[0][:0]
    for j, column in enumerate(columns):  # one coordinate at a time: copying all would double the memory
        values = column[rows]
        wide = _between_halves(x, j, values) if isinstance(x, Coded) else float(values.max()) - float(values.min())
        if wide > widest:
            widest, keys = wide, values
    border = np.partition(keys, first)[first]
    below = keys < border
    tied = np.flatnonzero(keys == border)
    missing = first - int(np.count_nonzero(below))
    if missing:
        among = rows[tied]
        below[tied[np.lexsort((among, *(column[among] for column in columns[::-1])))[:missing]]] = True
    rows[:] = np.concatenate((rows[below], rows[~below]))


def _between_halves(x: Coded, j: int, values: np.ndarray) -> float:
    """Return how far the lower half of a summand of distances is from the upper: the same in any order of rows.

    For numbers, the squared distance between the medians of both halves; for codes, that between their centroids.
    """
    g, half = x.layout, len(values) // 2
    a = ~int(g.order[j])
    if a < 0:
        low, high = half // 2, half + (len(values) - half) // 2
        found = np.partition(values, (low, high))
        return float(found[high] - found[low]) ** 2
    column = x.column(a)
    counts = np.bincount(values, minlength=column.low.shape[1])
    lower = np.clip(half - (np.cumsum(counts) - counts), 0, counts)
    shares, total = lower / max(half, 1) - (counts - lower) / (len(values) - half), 0.0
    for first, times in zip(column.low, column.times.tolist(), strict=True):
        total += times * float((np.bincount(first, weights=shares) ** 2).sum())
    return float(g.weight[a]) * total / (2.0 * int(g.height[a]))


def mdav_in_pieces(x: np.ndarray | Coded, k: int, size: int) -> np.ndarray:
    """Cut points into pieces of at least `size` records, and partition each by MDAV.

    Guarantee: n ≥ k → every record in exactly one class of k … 2k−1 records.
    """
    order, bounds = cut_blocks(x, max(len(x) // max(size, k), 1))
    labels, classes = np.empty(len(x), np.int64), 0
    for begin, end in itertools.pairwise(bounds):
        rows = np.sort(order[begin:end])
        found = mdav(x[rows], k)[0]
        labels[rows] = found + classes
        classes += int(found.max()) + 1
    return labels


_DIRECTIONS = 6  # in which blocks of classes of records with codes are cut
_NEAR = 10
_SWEEPS = 30


@kernel
def _sweep(a, near, k, open_, tiny):
    """Try every record that is still open; return how many moved."""
    moved = 0
    for i in range(a.x.shape[0]):
        if not open_[i]:
            continue
        open_[i] = False
        for h in range(near.shape[1]):
            home, b = a.label[i], a.label[near[i, h]]
            if b == home or (h > 0 and b == a.label[near[i, h - 1]]):
                continue
            if shift_or_swap(a, i, b, k, -tiny) == np.inf:
                continue
            moved += 1
            for c in (home, b):
                for q in range(a.size[c]):
                    open_[a.member[c, q]] = True
    return moved


def swept(x: np.ndarray | Coded, labels: np.ndarray, k: int) -> np.ndarray:
    """Lower the SSE of a partition until no shift or exchange with a neighbouring class lowers it further.

    Guarantee: classes have at least k records, and at most 2k−1 or the size of the largest class before. The SSE does
    not rise.
    """
    announce(_sweep)
    near = neighbours(x, _NEAR)
    a = arrange(laid_out(x), labels, k)
    tiny = 1e-12 * float(a.own.mean())
    open_ = np.ones(len(x), dtype=np.bool_)
    for _ in range(_SWEEPS):
        if not _sweep(a, near, k, open_, tiny):
            break
    return numbered(a.label)


@kernel
def _sort_by_class(labels, starts, members):
    """Sort records by class (counting sort): `starts` holds class sizes on entry, and class ends on return."""
    total = 0
    for c in range(starts.shape[0]):
        size = starts[c]
        starts[c] = total
        total += size
    for row in range(labels.shape[0]):
        members[starts[labels[row]]] = row
        starts[labels[row]] += 1


@kernel
def _mean_of_each(x, members, ends, out):
    begin = 0
    for c in range(ends.shape[0]):
        for j in range(x.shape[1]):
            total = 0.0
            for at in range(begin, ends[c]):
                total += x[members[at], j]
            out[c, j] = total / (ends[c] - begin)
        begin = ends[c]


@kernel
def _spread(members, ends, chosen, order):
    """Write the rows of the chosen classes one after the other; `chosen` becomes the end of each."""
    at = 0
    for i in range(chosen.shape[0]):
        c = chosen[i]
        for m in range(ends[c - 1] if c > 0 else 0, ends[c]):
            order[at] = members[m]
            at += 1
        chosen[i] = at


def whole_classes(
    x: np.ndarray | Coded, labels: np.ndarray, classes: int, count: int, turn: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cut space into blocks of whole classes, along the directions of this turn: rows grouped by block, and bounds.

    `labels` are int32. If more blocks are requested than there are classes, each class is a block. Each turn, from 0,
    has other directions, the same in every run; records with codes have a few random ones. Block b is
    ``order[bounds[b]:bounds[b + 1]]``.

    Guarantee: all records of a class are in one block; the numbers of classes per block differ by at most one.
    Complexity: O(n·d + c·d² + c·d log count) for c classes.

    >>> whole_classes(np.array([[0.0], [9.0], [1.0], [8.0]]), np.array([0, 1, 0, 1], np.int32), 2, 2, 1)[1].tolist()
    [0, 2, 4]
    """
    n = len(x)
    ends = np.bincount(labels, minlength=classes).astype(np.int32)
    members = np.empty(n, dtype=np.int32)
    _sort_by_class(labels, ends, members)
    centroids = _rotated(x, members, ends, turn)
    count = min(count, classes)
    chosen, bounds = cut_blocks(centroids, count)
    del centroids
    order = np.empty(n, dtype=np.int32)
    _spread(members, ends, chosen, order)
    return order, np.concatenate(([0], chosen[bounds[1:] - 1])).astype(np.int64)


def rotated_means(x: np.ndarray | Coded, labels: np.ndarray, turn: int) -> np.ndarray:
    """Return the means of classes, numbered from 0, along the directions of a turn: (classes, directions).

    >>> rotated_means(np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 1]), 1).tolist()
    [[2.0], [5.0]]
    """
    ends = np.bincount(labels).astype(np.int32)
    members = np.empty(len(x), dtype=np.int32)
    _sort_by_class(labels.astype(np.int32), ends, members)
    return _rotated(x, members, ends, turn)


def _rotated(x: np.ndarray | Coded, members: np.ndarray, ends: np.ndarray, turn: int) -> np.ndarray:
    """Return the means of classes along the directions of a turn."""
    if isinstance(x, Coded):
        return _projected_means(x, members, ends, turn)
    centroids = np.empty((len(ends), x.shape[1]))
    _mean_of_each(x, members, ends, centroids)
    for begin in range(0, len(ends), 1 << 16):  # one piece at a time: a second copy of everything would be large
        piece = slice(begin, begin + (1 << 16))
        centroids[piece] = np.einsum("ij,jl->il", centroids[piece], _directions(x.shape[1], turn))
    return centroids


def _directions(d: int, turn: int) -> np.ndarray:
    """Return d orthogonal directions, different in every turn, the same in every run."""
    return np.asarray(np.linalg.qr(np.random.default_rng(turn).normal(size=(d, d)))[0])


def _projected_means(x: Coded, members: np.ndarray, ends: np.ndarray, turn: int) -> np.ndarray:
    """Return the means of classes along a few random directions of the exact embedding."""
    rng = np.random.default_rng(turn)
    groups, means, one = groups_of(x), np.empty((len(ends), _DIRECTIONS)), np.empty((len(ends), 1))
    for at in range(_DIRECTIONS):
        places = np.zeros((len(x), 1))
        for column in x.numbers.T:
            places[:, 0] += column * rng.normal()
        for column, weight, count in zip(groups.number.T, groups.weight, groups.groups, strict=True):
            places[:, 0] += (np.sqrt(weight / 2.0) * rng.normal(size=count))[column]
        _mean_of_each(places, members, ends, one)
        means[:, at] = one[:, 0]
    return means
