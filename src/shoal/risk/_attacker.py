"""Attacker model of risk measures: known attributes, rank intervals, linkage by distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.space.nearest_own import Links, Masked, different
from shoal.parameters import Param
from shoal.types import Comparison, some_of, sort_keys


def within_ranks(
    sorted_values: NDArray[np.float64], around: NDArray[np.float64], x: NDArray[np.float64], percent: float
) -> NDArray[np.bool_]:
    """Tell which x lie in the rank interval around a value.

    The interval goes from the value `percent` of all ranks (rounded down) below `around` to the value as many ranks
    above; both ends are included. Equal values have all their ranks: the interval goes from below the first to above
    the last of them. There are no ranks, and so no interval, beyond the smallest and the largest value.

    >>> within_ranks(np.arange(10.0), np.array([4.0, 9.0]), np.array([3.0, 9.5]), 10).tolist()
    [True, False]
    """
    first, last = ranks_of(sorted_values, around)
    return in_reach(sorted_values, first, last, x, percent)


def ranks_of(
    sorted_values: NDArray[np.float64], around: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last rank of values, from 0; for a value between two ranks, the upper and the lower."""
    return np.searchsorted(sorted_values, around, "left"), np.searchsorted(sorted_values, around, "right") - 1


def in_reach(
    sorted_values: NDArray[np.float64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    x: NDArray[np.float64],
    percent: float,
) -> NDArray[np.bool_]:
    """Tell which x lie in the interval from `percent` of ranks below `first` to as many above `last`."""
    n = len(sorted_values)
    reach = reach_of(percent, n)
    low, high = np.maximum(first - reach, 0), np.minimum(last + reach, n - 1)
    return np.asarray((sorted_values[low] <= x) & (x <= sorted_values[high]))


def near_in_rank(
    own: tuple[NDArray[np.int64], NDArray[np.int64]], place: tuple[NDArray[np.int64], NDArray[np.int64]], reach: int
) -> NDArray[np.bool_]:
    """Tell which values have a rank at most `reach` below the first, or above the last, rank of a place.

    Both are given by their first and last rank, as :func:`ranks_of` returns them.

    >>> x = np.arange(10.0)
    >>> near_in_rank(ranks_of(x, x), ranks_of(x, np.full(10, 4.5)), 1).nonzero()[0].tolist()
    [4, 5]
    """
    return np.asarray((own[1] >= place[0] - reach) & (own[0] <= place[1] + reach))


def reach_of(percent: float, n: int) -> int:
    """Return `percent` of n ranks, rounded down."""
    return math.floor(percent * n / 100)


POINTS = 20_000_000  #: most distinct masked records × sets of attributes examined, if not all sets are


class Sets(NamedTuple):
    """Sets of known attributes, and the total number of sets."""

    sets: tuple[tuple[str, ...], ...]
    all: int

    @property
    def whole(self) -> bool:
        """Tell whether every set is included."""
        return len(self.sets) == self.all


def sets_of(attributes: Sequence[str], most: int, seed: int) -> Sets:
    """Return all sets of attributes if there are at most `most`, else a sample with every single one and the whole.

    The sample is drawn without replacement; all sets of other sizes are equally likely.

    >>> sets_of(("a", "b"), 511, 0).sets
    (('a',), ('b',), ('a', 'b'))
    """
    m = len(attributes)
    if m < most.bit_length() + 1 and 2**m - 1 <= most:
        return Sets(tuple(known for size in range(1, m + 1) for known in combinations(attributes, size)), 2**m - 1)
    rng = np.random.default_rng(seed)
    drawn: dict[tuple[str, ...], None] = {}
    while len(drawn) < min(most - m - 1, 2**m - m - 2):
        known = tuple(name for name, inside in zip(attributes, rng.random(m) < 0.5, strict=True) if inside)
        if 2 <= len(known) < m:
            drawn[known] = None
    ends = [(name,) for name in attributes] + [tuple(attributes)] * (m > 1)
    return Sets((*ends[:m], *sorted(drawn, key=len), *ends[m:]), 2**m - 1)


def small_sets(attributes: Sequence[str], largest: int, most: int, seed: int) -> Sets:
    """Return all sets of 1 … `largest` attributes, or all single ones and a sample of `most` of each other size."""
    rng = np.random.default_rng(seed)
    m = len(attributes)
    sets: list[tuple[str, ...]] = []
    for size in range(1, min(largest, m) + 1):
        if size == 1 or comb(m, size) <= most:
            sets += combinations(attributes, size)
            continue
        drawn: dict[tuple[str, ...], None] = {}
        while len(drawn) < most:
            drawn[tuple(attributes[j] for j in np.sort(rng.choice(m, size, replace=False)))] = None
        sets += drawn
    return Sets(tuple(sets), sum(comb(m, size) for size in range(1, min(largest, m) + 1)))


def number(count: int) -> str:
    """Say how many attributes are known, in words.

    >>> number(1), number(3)
    ('1 attribute known', '3 attributes known')
    """
    return f"{count} attribute{'s' * (count > 1)} known"


def values_of(comparison: Comparison, name: str) -> NDArray[np.int64]:
    """Return the masked values of an attribute as codes from 0; equal values share a code, and missing is a value."""
    if name in comparison.categories:
        return comparison.categories[name].after + 1
    if name in comparison.numbers:
        return np.unique(comparison.numbers[name].after, return_inverse=True)[1].astype(np.int64)
    keys = sort_keys(some_of(comparison.masked, comparison.places[name]))
    return joined([np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64) for key in keys])


def joined(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Number records from 0 by several codes; records equal in all share a number.

    >>> joined([np.array([0, 1, 0]), np.array([4, 4, 5])]).tolist()
    [0, 2, 1]
    """
    found = columns[0]
    for column in columns[1:]:
        found = np.unique(found * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1].reshape(-1)
    return found


def classes_of(comparison: Comparison) -> NDArray[np.int64]:
    """Return the class of each record: masked records that are equal in all attributes."""
    if comparison.classes is not None:
        return comparison.classes
    return joined([values_of(comparison, name) for name in comparison.attributes])


def advantage(share: float, baseline: float) -> float:
    """Return the percentage of the wrong guesses of a baseline that are corrected; 0 without wrong guesses.

    >>> advantage(60.0, 20.0), advantage(10.0, 20.0), advantage(100.0, 100.0)
    (50.0, 0.0, 0.0)
    """
    return max(0.0, 100.0 * ((share - baseline) / (100.0 - baseline))) if baseline < 100.0 else 0.0


#: Parameter of measures that link records.
Sample = Annotated[
    int | None, Param("Records in the sample; default: as many as keep records × sets below 5,000,000.", low=1)
]

_LINKS = 5_000_000  # most records × sets of attributes examined, unless the number of records is given
_FEWEST = 1_000  # records, for any number of sets


class Linking(NamedTuple):
    """Distinct masked records, and the original records to be linked."""

    comparison: Comparison
    masked: Masked
    rows: NDArray[np.int64]  #: the records to be linked
    links: Links  #: these records, and what they became
    places: dict[str, tuple[int, ...]]

    def ties(self, known: Sequence[str]) -> NDArray[np.int64]:
        """Return how many masked records are as near as the right one; 0 if one is nearer."""
        columns = np.array(sorted(j for name in known for j in self.places[name]))
        return np.asarray(self.links.as_near(columns))

    def told(self, linked: NDArray[np.float64]) -> str:
        """Return the sentence about the sample, with the standard error of the mean, in percent."""
        n, m = len(self.comparison), len(self.rows)
        if m == n:
            return ""
        error = float(linked.std() * np.sqrt((1 - m / n) / m))
        return f"A random sample of {m:,} of {n:,} records was looked at; standard error {100 * error:.2g} %."


def linking(comparison: Comparison, sample: int | None, masked: Masked, sets: int) -> Linking:
    """Choose the records to link: `sample` of them, or as many as the number of sets allows."""
    n = len(comparison)
    size = min(n, max(_LINKS // sets, _FEWEST) if sample is None else sample)
    rows = np.arange(n)
    if size < n:
        rows = np.sort(np.random.default_rng(comparison.seed).choice(n, size, replace=False))
    links = Links(comparison.original[rows], masked.of_row[rows], masked, sets)
    return Linking(comparison, masked, rows, links, comparison.places)


def credit(ties: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probability that an attacker who picks one of the nearest masked records is right.

    >>> credit(np.array([1, 4, 0])).tolist()
    [1.0, 0.25, 0.0]
    """
    return np.where(ties > 0, 1.0 / np.maximum(ties, 1), 0.0)


__all__ = ["Linking", "credit", "different", "linking"]
