"""Minimal sample uniques: the smallest sets of attributes that make a record unique, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
BUDGET = 100_000_000  #: most records × sets of attributes examined: about ten seconds


class MinimalUniques(NamedTuple):
    """The records that few attributes make unique.

    A minimal sample unique of a record is a set of attributes in which the record is unique, while it is unique in none
    of its proper subsets. A special unique is a record with such a set that does not need all attributes.
    """

    records: int
    attributes: int
    searched: int  #: sets of up to this many attributes were searched
    unique: int  #: records that are unique in all attributes
    pairs: int  #: combinations of all attributes that exactly two records have
    special: int  #: records that are unique in a searched set of fewer attributes
    by_size: tuple[int, ...]  #: of these, records whose smallest such set has 1, 2, … attributes
    score: NDArray[np.float64]  #: of each record: the sum over its sets of k attributes of (A−k)·(A−k−1) … (A−M)
    alone: NDArray[np.bool_]  #: of each record: whether it is unique in all attributes
    shares: tuple[float, ...]  #: for each attribute the share of all scores that sets with it have


def searchable(records: int, attributes: int, largest: int, budget: int = BUDGET) -> int:
    """Return the size of the largest sets that can be searched within the budget; at least 1, never all attributes.

    >>> searchable(1_000, 6, 3), searchable(1_000_000, 10, 3), searchable(1_000_000, 40, 3), searchable(9, 2, 3)
    (3, 2, 1, 1)
    """
    size, spent = min(1, attributes - 1), records * attributes
    while size < min(largest, attributes - 1):
        spent += records * comb(attributes, size + 1)
        if spent > budget:
            break
        size += 1
    return size


def minimal_uniques(columns: Sequence[Codes], largest: int, budget: int = BUDGET) -> MinimalUniques:
    """Find the minimal sample uniques of up to `largest` attributes among columns of codes from 0.

    Complexity: O(n) for each set of attributes; a record that is unique in a set is not looked at in larger ones that
    begin with it.

    >>> found = minimal_uniques([np.array([1, 0, 0]), np.array([0, 1, 0]), np.array([0, 1, 0])], 3)
    >>> found.unique, found.special, found.score.tolist(), found.shares
    (3, 3, [2.0, 4.0, 2.0], (0.5, 0.375, 0.375))
    """
    n, count = len(columns[0]), len(columns)
    searched = searchable(n, count, largest, budget)
    score, smallest, totals = np.zeros(n), np.zeros(n, np.int8), np.zeros(count)
    below: dict[tuple[int, ...], NDArray[np.uint8]] = {}
    for size in range(1, searched + 1):
        weight = float(prod(count - i for i in range(size, searched + 1)))
        own: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        for names, unique in _unique_in(columns, size):
            minimal = unique.copy()
            for smaller in combinations(names, size - 1) if size > 1 else ():
                minimal &= ~np.unpackbits(below[smaller], count=n).view(np.bool_)
            if size < searched:
                own[names] = np.packbits(unique)
            score[minimal] += weight
            totals[list(names)] += weight * int(minimal.sum())
            smallest[minimal & (smallest == 0)] = size
        below = own
    by_size = tuple(int((smallest == size).sum()) for size in range(1, searched + 1))
    whole = float(score.sum())
    shares = tuple(float(total / whole) if whole else 0.0 for total in totals)
    alone, pairs = _in_all(columns)
    return MinimalUniques(n, count, searched, int(alone.sum()), pairs, sum(by_size), by_size, score, alone, shares)


def _unique_in(columns: Sequence[Codes], size: int) -> Iterator[tuple[tuple[int, ...], NDArray[np.bool_]]]:
    """Yield each set of attributes of a size, and the records that are unique in it."""
    n = len(columns[0])
    cards = [int(column.max(initial=0)) + 1 for column in columns]

    def within(
        names: tuple[int, ...], rows: Codes, groups: Codes, count: int, unique: NDArray[np.bool_]
    ) -> Iterator[tuple[tuple[int, ...], NDArray[np.bool_]]]:
        if len(names) == size:
            yield names, unique
            return
        begin = names[-1] + 1 if names else 0
        for at in range(begin, len(columns) - (size - len(names) - 1)):
            kept, finer, most = _split(groups * cards[at] + columns[at][rows], count * cards[at])
            flags = unique.copy()
            flags[rows[~kept]] = True
            yield from within((*names, at), rows[kept], finer, most, flags)

    yield from within((), np.arange(n), np.zeros(n, np.int64), 1, np.zeros(n, np.bool_))


def _split(groups: Codes, count: int) -> tuple[NDArray[np.bool_], Codes, int]:
    """Tell which records share their group with another one, and number the groups of these from 0."""
    if count > 8 * len(groups) + 1024:  # too many numbers to count one by one
        groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
        count = int(groups.max(initial=0)) + 1
    sizes = np.bincount(groups, minlength=count)
    shared = sizes > 1
    kept = shared[groups]
    numbers = np.cumsum(shared) - 1
    return kept, numbers[groups[kept]], int(shared.sum())


def _in_all(columns: Sequence[Codes]) -> tuple[NDArray[np.bool_], int]:
    """Tell which records are unique in all columns, and return the number of combinations that two records have."""
    groups, count = np.zeros(len(columns[0]), np.int64), 1
    alone, rows = np.zeros(len(groups), np.bool_), np.arange(len(groups))
    for column in columns:
        card = int(column.max(initial=0)) + 1
        kept, groups, count = _split(groups * card + column[rows], count * card)
        alone[rows[~kept]] = True
        rows = rows[kept]
    return alone, int((np.bincount(groups) == 2).sum())
