"""Cuts of space into blocks: a k-d tree on a sample of vectors, which a hash of their values chooses.

Either all copies of a vector are in the sample or none is, and a cut compares one coordinate with a number. So blocks
depend on values alone, never on rows, equal records are in the same block, and any part of a table can be assigned to
blocks without the rest: in memory, on disk and on a cluster the blocks are the same.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.types.coded import Coded, changes, sort_keys

_PER_BLOCK = 1_000  # expected records of the sample for each block
_MULTIPLIER, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class Sample(NamedTuple):
    """Different vectors in ascending order, and the number of records that have each."""

    x: np.ndarray | Coded
    counts: np.ndarray  #: (vectors,) int64


class Cuts(NamedTuple):
    """A binary tree whose leaves are blocks, numbered from left to right."""

    axis: np.ndarray  #: (nodes,) int64: the column j of numbers to compare, or ~a for coded attribute a
    at: np.ndarray  #: (nodes,) float64: records below it go to the left
    left: np.ndarray  #: (nodes,) int64: a node, or ~b for block b
    right: np.ndarray  #: (nodes,) int64
    blocks: int  #: their number


def sampled_share(n: int, count: int) -> float:
    """Return the share of vectors in the sample of n records that are cut into `count` blocks.

    >>> sampled_share(10_000_000, 100), sampled_share(1_000, 10)
    (0.01, 1.0)
    """
    return min(1.0, _PER_BLOCK * count / n)


def chosen(x: np.ndarray | Coded, share: float) -> np.ndarray:
    """Return the rows of a table whose vectors are in a sample of this share."""
    numbers, codes = _columns(x)
    if share >= 1.0:
        return np.arange(len(numbers))
    out = np.empty(len(numbers), np.bool_)
    _choose(numbers, codes, np.uint64(share * 2.0**64), out)
    return np.flatnonzero(out)


def merged_sample(parts: list[Sample]) -> Sample:
    """Return the sample of a table from those of its parts; a part may repeat vectors.

    >>> parts = [Sample(np.array([[2.0], [1.0]]), np.array([1, 3])), Sample(np.array([[2.0]]), np.array([5]))]
    >>> found = merged_sample(parts)
    >>> found.x.tolist(), found.counts.tolist()
    ([[1.0], [2.0]], [3, 6])
    """
    first, counts = parts[0].x, np.concatenate([one.counts for one in parts])
    if isinstance(first, Coded):
        numbers = np.concatenate([one.x.numbers for one in parts if isinstance(one.x, Coded)])
        codes = np.concatenate([one.x.codes for one in parts if isinstance(one.x, Coded)])
        x: np.ndarray | Coded = Coded(numbers, codes, first.layout)
    else:
        x = np.concatenate([one.x for one in parts])
    order = np.lexsort(sort_keys(x)[::-1])
    x, counts = x[order], counts[order]
    begin = np.flatnonzero(np.concatenate(([True], changes(x))))
    return Sample(x[begin], np.add.reduceat(counts, begin))


def cut_tree(sample: Sample, count: int) -> Cuts:
    """Cut a sample into at most `count` blocks of about equally many records.

    A part is cut where its widest coordinate reaches the value that leaves its share of records below; that of codes is
    the attribute whose halves lie farthest apart. Copies of a vector are never parted, so blocks may be unequal; a part
    in which all vectors are equal is a block.
    """
    places = _places(sample.x)
    axis: list[int] = []
    at: list[float] = []
    below: list[list[int]] = []
    blocks = 0
    pending: list[tuple[np.ndarray, int, int, int]] = [(np.arange(len(sample.counts)), count, -1, 0)]
    while pending:
        rows, wanted, parent, side = pending.pop()
        cut = _cut(sample, rows, wanted, places) if wanted > 1 else None
        node = ~blocks if cut is None else len(axis)
        if parent >= 0:
            below[parent][side] = node
        if cut is None:
            blocks += 1
            continue
        place, value, goes_left = cut
        axis.append(place)
        at.append(value)
        below.append([0, 0])
        first = wanted // 2
        pending += [(rows[~goes_left], wanted - first, node, 1), (rows[goes_left], first, node, 0)]  # the left one next
    both = np.array(below, np.int64).reshape(-1, 2)
    return Cuts(np.array(axis, np.int64), np.array(at), both[:, 0].copy(), both[:, 1].copy(), blocks)


def _cut(
    sample: Sample, rows: np.ndarray, wanted: int, places: list[tuple[int, np.ndarray]]
) -> tuple[int, float, np.ndarray] | None:
    """Return the axis, the value and the rows below it for a cut into two; None if all vectors are equal."""
    counts = sample.counts[rows]
    target = counts.sum() * (wanted // 2) / wanted
    widths = [(_width(sample.x, place, values[rows], counts), at) for at, (place, values) in enumerate(places)]
    for _, at in sorted(widths, key=lambda one: (-one[0], one[1])):
        place, values = places[at]
        own = values[rows]
        if own.min() == own.max():
            continue
        distinct, where = np.unique(own, return_inverse=True)
        under = np.cumsum(np.bincount(where, weights=counts))[:-1]  # records below each value but the first
        best = int(np.argmin(np.abs(under - target)))
        value = float(distinct[best + 1])
        return place, value, own < value
    return None


def _width(x: np.ndarray | Coded, place: int, values: np.ndarray, counts: np.ndarray) -> float:
    """Return how wide a part is along a column: its range, or with codes the squared distance of its halves."""
    if not isinstance(x, Coded):
        return float(values.max()) - float(values.min())
    order = np.argsort(values, kind="stable")
    until = np.cumsum(counts[order])
    half = until[-1] / 2.0
    if place >= 0:
        low, high = (float(values[order][np.searchsorted(until, half * share)]) for share in (0.5, 1.5))
        return (high - low) ** 2
    a = ~place
    column, g = x.column(a), x.layout
    weights = np.bincount(values, weights=counts, minlength=column.low.shape[1])
    lower = np.clip(half - (np.cumsum(weights) - weights), 0.0, weights)
    shares, total = (2.0 * lower - weights) / half, 0.0
    for first, times in zip(column.low, column.times.tolist(), strict=True):
        total += times * float((np.bincount(first, weights=shares) ** 2).sum())
    return float(g.weight[a]) * total / (2.0 * int(g.height[a]))


def without_small(cuts: Cuts, records: np.ndarray, least: int) -> Cuts:
    """Undo the cuts below which a block holds fewer than `least` records; `records` are those of each block."""
    axis, at, left, right = (one.copy() for one in cuts[:4])
    held = np.zeros(len(axis), np.int64)
    gone = np.zeros(len(axis), np.bool_)

    def inside(node: int) -> int:
        return int(records[~node]) if node < 0 else int(held[node])

    for node in range(len(axis) - 1, -1, -1):  # children come after their parents
        both = (int(left[node]), int(right[node]))
        held[node] = sum(map(inside, both))
        gone[node] = min(map(inside, both)) < least
    return _renumbered(axis, at, left, right, gone)


def _renumbered(axis: np.ndarray, at: np.ndarray, left: np.ndarray, right: np.ndarray, gone: np.ndarray) -> Cuts:
    """Return the tree without the nodes below undone cuts, its blocks numbered from left to right."""
    kept: list[int] = []
    below: list[list[int]] = []
    blocks = 0
    pending = [(0 if len(axis) else -1, -1, 0)]
    while pending:
        node, parent, side = pending.pop()
        leaf = node < 0 or bool(gone[node])
        if parent >= 0:
            below[parent][side] = ~blocks if leaf else len(kept)
        if leaf:
            blocks += 1
            continue
        kept.append(node)
        below.append([0, 0])
        pending += [(int(right[node]), len(kept) - 1, 1), (int(left[node]), len(kept) - 1, 0)]
    both = np.array(below, np.int64).reshape(-1, 2)
    return Cuts(axis[kept], at[kept], both[:, 0].copy(), both[:, 1].copy(), blocks)


def block_of(cuts: Cuts, x: np.ndarray | Coded) -> np.ndarray:
    """Return the block of every record: (n,) int32."""
    numbers, codes = _columns(x)
    out = np.zeros(len(numbers), np.int32)
    if len(cuts.axis):
        _assign(cuts.axis, cuts.at, cuts.left, cuts.right, numbers, codes, out)
    return out


def _columns(x: np.ndarray | Coded) -> tuple[np.ndarray, np.ndarray]:
    return (x.numbers, x.codes) if isinstance(x, Coded) else (x, np.zeros((len(x), 0), np.int32))


def _places(x: np.ndarray | Coded) -> list[tuple[int, np.ndarray]]:
    """Return the columns to cut, each with its place."""
    if not isinstance(x, Coded):
        return list(enumerate(x.T))
    return [(at, x.numbers[:, at] if at >= 0 else x.codes[:, ~at]) for at in x.layout.order.tolist()]


@part
def _mixed(state):
    state = (state ^ (state >> np.uint64(30))) * _MIX
    return state ^ (state >> np.uint64(29))


@kernel
def _choose(numbers, codes, below, out):
    """Mark the records whose hash is below a bound."""
    for i in range(numbers.shape[0]):
        state = _MULTIPLIER
        for j in range(numbers.shape[1]):
            value = numbers[i, j] + 0.0  # no -0.0, whose bits differ from those of 0.0
            state = _mixed(state * _MULTIPLIER + np.uint64(np.float64(value).view(np.int64)))
        for a in range(codes.shape[1]):
            state = _mixed(state * _MULTIPLIER + np.uint64(codes[i, a]))
        out[i] = _mixed(state) < below


@kernel
def _assign(axis, at, left, right, numbers, codes, out):
    for i in range(numbers.shape[0]):
        node = 0
        while node >= 0:
            place = axis[node]
            value = numbers[i, place] if place >= 0 else float(codes[i, ~place])
            node = left[node] if value < at[node] else right[node]
        out[i] = ~node
