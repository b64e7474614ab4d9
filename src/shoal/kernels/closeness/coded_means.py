"""Means of records with codes while classes are merged: the nearest one is found by measuring all.

In a column of groups (:mod:`shoal.kernels.arithmetic.category_groups`) of weight w, two classes of m and m' records
with g and g' of them in each group are w/2 · (Σg² / m² + Σg'² / m'² − 2 Σgg' / mm') apart. All sums are integers, so
that equal distances are equal as floats. The counts of a class lie in the slots of its pieces, the classes as of the
last layout; merging two classes links two chains.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import Groups, counts_in_groups
from shoal.kernels.runtime.jit import part


class CodedMeans(NamedTuple):
    """Counts of each class in the groups that occur in it."""

    weight: np.ndarray  # (columns,)
    edge: np.ndarray  # (pieces · columns + 1,) first entry of each piece and column
    group: np.ndarray  # (entries,) int64, numbered over all columns
    records: np.ndarray  # (entries,) int64, how many records of the piece are in the group
    after: np.ndarray  # (pieces,) the next piece of the chain, -1 at its end
    last: np.ndarray  # (pieces,) the last piece of the chain of a class
    number: np.ndarray  # (pieces,) the class whose chain starts here, -1: merged into another
    slot: np.ndarray  # of each class: the first piece of its chain
    square: np.ndarray  # (pieces, columns) int64, sum of the squares of the counts of a class
    here: np.ndarray  # (groups,) int64, scratch, zero: the counts of the query
    both: np.ndarray  # (2, columns) int64, scratch: sums of products with a class, and with the nearest


def coded_means(g: Groups, labels: np.ndarray) -> CodedMeans:
    """Lay out the classes of a partition; the classes keep their numbers."""
    left, own = np.unique(labels, return_inverse=True)
    found = counts_in_groups(g, own)
    slot = np.full(int(left[-1]) + 1, -1)
    slot[left] = np.arange(len(left))
    return CodedMeans(
        g.weight,
        found.edge,
        found.group,
        found.records,
        np.full(len(left), -1),
        np.arange(len(left)),
        left.astype(np.int64),
        slot,
        found.square.reshape(-1, len(g.weight)),
        np.zeros(int(g.groups.sum()), np.int64),
        np.zeros((2, len(g.weight)), np.int64),
    )


@part
def _note(means, piece, sign):
    """Enter the counts of a class as those of the query, or erase them."""
    columns = means.weight.shape[0]
    while piece >= 0:
        for at in range(means.edge[piece * columns], means.edge[(piece + 1) * columns]):
            means.here[means.group[at]] += sign * means.records[at]
        piece = means.after[piece]


@part
def _products(means, piece):
    """Sum, column by column, the products of the counts of a class and of the query."""
    columns = means.weight.shape[0]
    for j in range(columns):
        means.both[0, j] = 0
    while piece >= 0:
        for j in range(columns):
            total = np.int64(0)
            for at in range(means.edge[piece * columns + j], means.edge[piece * columns + j + 1]):
                total += means.here[means.group[at]] * means.records[at]
            means.both[0, j] += total
        piece = means.after[piece]


@part
def nearest_mean(means, total, size, a):
    """Return the class other than a whose mean is nearest, the lowest of several; keep the sums of products with it.

    `total` and `size` are the sums of numbers and the number of records of each class.
    """
    first, columns = means.slot[a], means.weight.shape[0]
    m, best, chosen = float(size[a]), np.inf, np.int64(-1)
    _note(means, first, 1)
    for piece in range(means.number.shape[0]):
        b = means.number[piece]
        if b < 0 or b == a:
            continue
        other, apart = float(size[b]), 0.0
        for j in range(total.shape[1]):
            t = total[b, j] / size[b] - total[a, j] / size[a]
            apart += t * t
        if apart > best:
            continue
        _products(means, piece)
        for j in range(columns):
            squares = means.square[first, j] / (m * m) + means.square[piece, j] / (other * other)
            apart += means.weight[j] / 2.0 * max(squares - 2.0 * means.both[0, j] / (m * other), 0.0)
        if apart < best or (apart == best and b < chosen):
            best, chosen = apart, b
            for j in range(columns):
                means.both[1, j] = means.both[0, j]
    _note(means, first, -1)
    return chosen


@part
def unite_means(means, a, b):
    """Merge class b, which must be the nearest that was just found for a or the other way round, with class a.

    The merged class has the lower number.
    """
    one, other = means.slot[a], means.slot[b]
    for j in range(means.weight.shape[0]):
        means.square[one, j] += means.square[other, j] + 2 * means.both[1, j]
    means.after[means.last[one]], means.last[one] = other, means.last[other]
    means.number[one], means.number[other] = min(a, b), -1
    means.slot[min(a, b)] = one
