"""Groups of categories as plain columns: the distance of two records adds the weights of columns that differ.

A coded attribute has a column for each level of its taxonomy, with the group of each record and the weight
w·times / H (:class:`shoal.types.Coded`). In n·(levels) numbers, whatever the number of categories, this is the exact
embedding: a group is a coordinate of 0 or √(weight / 2).

For a class of m records with s equal pairs (ordered, each record with itself included) in a column of this weight, the
SSE is weight·(m² − s) / (2m).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel
from shoal.types.coded import Coded


class Groups(NamedTuple):
    """The group of each record in each column, columns with few groups first."""

    number: np.ndarray  #: (n, columns) int32, from 0
    weight: np.ndarray  #: (columns,)
    groups: np.ndarray  #: (columns,) int64, how many there are


def groups_of(x: Coded) -> Groups:
    """Return the groups of all coded attributes.

    >>> from shoal.types.coded import CodedColumn, coded
    >>> tree = CodedColumn(np.array([0, 1, 2]), np.array([[0, 1, 2], [0, 0, 2]]), np.zeros((2, 3)), np.array([1, 3]))
    >>> found = groups_of(coded([(tree, 2.0)]))
    >>> found.number.tolist(), found.weight.tolist(), found.groups.tolist()
    ([[0, 0], [0, 1], [1, 2]], [1.5, 0.5], [2, 3])
    """
    g = x.layout
    columns = []
    for a in range(len(g.height)):
        one = x.column(a)
        for low, times in zip(one.low, one.times.tolist(), strict=True):
            first, own = np.unique(low, return_inverse=True)
            weight = float(g.weight[a]) * times / int(g.height[a])
            columns.append((len(first), weight, own.reshape(-1).astype(np.int32)[one.codes]))
    columns.sort(key=lambda column: column[0])
    return Groups(
        np.ascontiguousarray(np.column_stack([number for *_, number in columns])),
        np.array([weight for _, weight, _ in columns]),
        np.array([count for count, *_ in columns], np.int64),
    )


class GroupCounts(NamedTuple):
    """Records of each class in the groups that occur in it, class by class and column by column."""

    edge: np.ndarray  #: (classes · columns + 1,) first entry of each class and column
    group: np.ndarray  #: (entries,) int64, numbered over all columns, ascending in each class and column
    records: np.ndarray  #: (entries,) int64
    square: np.ndarray  #: (classes · columns,) int64, sum of the squares of the records


def counts_in_groups(g: Groups, labels: np.ndarray) -> GroupCounts:
    """Count the records of each class, numbered without gaps, in every group. O(n·columns·log n)."""
    columns, first = len(g.weight), np.concatenate(([0], np.cumsum(g.groups)))
    place, group, records = [], [], []
    for j, number in enumerate(g.number.T):
        keys, some = np.unique(labels.astype(np.int64) * g.groups[j] + number, return_counts=True)
        place.append(keys // g.groups[j] * columns + j)
        group.append(first[j] + keys % g.groups[j])
        records.append(some)
    places, counts = np.concatenate(place), np.concatenate(records).astype(np.int64)
    order, size = np.argsort(places, kind="stable"), (int(labels.max()) + 1) * columns
    square = np.zeros(size, np.int64)
    np.add.at(square, places, counts * counts)
    edge = np.concatenate(([0], np.cumsum(np.bincount(places, minlength=size))))
    return GroupCounts(edge, np.concatenate(group)[order], counts[order], square)


def all_equal(x: np.ndarray | Coded) -> bool:
    """Tell whether all records are equal."""
    if isinstance(x, Coded):
        return not (np.ptp(x.codes, axis=0).any() or np.ptp(x.numbers, axis=0).any())
    return not np.ptp(x, axis=0).any()


@kernel
def add_costs(g, members, bounds, tally, out):
    """Add the SSE of each class in all columns; `tally` is zero, with room for the groups of any column."""
    for c in range(out.shape[0]):
        begin, end = bounds[c], bounds[c + 1]
        m, total = np.int64(end - begin), 0.0
        for j in range(g.weight.shape[0]):
            same = np.int64(0)
            for at in range(begin, end):
                here = g.number[members[at], j]
                same += 2 * tally[here] + 1
                tally[here] += 1
            for at in range(begin, end):
                tally[g.number[members[at], j]] = 0
            total += g.weight[j] * (float(m * m - same) / (2.0 * m))
        out[c] += total
