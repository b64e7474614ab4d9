"""What an intruder may know: sets of attributes, and the masked values that records share in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison

POINTS = 20_000_000  #: different masked records × sets of attributes that are looked at, if not all sets are


class Sets(NamedTuple):
    """Sets of known attributes, and how many there are in all."""

    sets: tuple[tuple[str, ...], ...]
    all: int

    @property
    def whole(self) -> bool:
        """Whether every set is there."""
        return len(self.sets) == self.all


def sets_of(attributes: Sequence[str], most: int, seed: int) -> Sets:
    """Return all sets of attributes if they are at most so many, else a sample with every single one and the whole.

    The sample is drawn without replacement, all sets of other sizes being equally likely.

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
    """Return all sets of 1 … `largest` attributes, or all single ones and a sample of so many of each other size."""
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
    """Return how many attributes are known, in words.

    >>> number(1), number(3)
    ('1 attribute known', '3 attributes known')
    """
    return f"{count} attribute{'s' * (count > 1)} known"


def values_of(comparison: Comparison, name: str) -> NDArray[np.int64]:
    """Return the masked values of an attribute as numbers from 0: equal value, equal number; missing is a value."""
    if name in comparison.categories:
        return comparison.categories[name].after + 1
    if name in comparison.numbers:
        return np.unique(comparison.numbers[name].after, return_inverse=True)[1].astype(np.int64)
    bare = comparison.masked[:, list(comparison.places[name])]
    return np.unique(bare, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def joined(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Number records from 0 by several numbers: equal in all, equal number.

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
