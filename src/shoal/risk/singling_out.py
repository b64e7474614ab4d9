"""Singling-out: the records that are unique in their masked values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.risk._attacker import POINTS, Sets, classes_of, joined, number, small_sets, values_of
from shoal.types import Comparison, Measure, Reading

_LARGEST = 3


@dataclass(frozen=True)
class SinglingOut(Measure):
    """Percentage of masked records that are unique in all attributes.

    Parts give the same for one, two or three attributes: the mean over all such sets, and the worst of them. A record
    that is unique in some attributes is unique in more.

    **Guarantee.** 0 if and only if the masked table is 2-anonymous in the compared attributes; then all parts are 0,
    too.

    **Complexity.** O(n log n) for each attribute; then, if any record is unique, O(p log p) for each set and p distinct
    masked records. If p times the number of sets would exceed 20,000,000, a seeded sample of sets of two and of three.

    **Departures.** [WP14] gives no formula. [GBM23] lets an attacker guess predicates and checks them in the original;
    here the count is of records that are unique in the masked table, whether their values are true or not.

    References: [WP14], [GBM23].

    >>> masked = np.array([[1.5], [1.5], [3.5], [4.0]])
    >>> SinglingOut().measure(Comparison(masked, masked, ("x",))).value
    50.0
    """

    exchangeable: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the singling-out of a masked table."""
        n, names = len(comparison), comparison.attributes
        _, first, counts = np.unique(classes_of(comparison), return_index=True, return_counts=True)
        known = small_sets(names, _LARGEST, max(POINTS // (2 * max(len(counts), 1)), 1), comparison.seed)
        value, note = math.nan, "There are no records."
        shares = np.zeros(len(known.sets))
        if n:
            value, note = 100.0 * int(np.count_nonzero(counts == 1)) / n, ""
        if n and value:  # a record that is unique in some attributes is unique in all
            values = {name: values_of(comparison, name)[first] for name in names}
            for at, chosen in enumerate(known.sets):
                shares[at] = 100.0 * _alone([values[name] for name in chosen], counts) / n
            if not known.whole:
                note = f"{len(known.sets):,} of {known.all:,} sets of up to three attributes were used."
        parts = _by_size(known, shares) if n else ()
        return self.reading(value, names, parts, note)


def _alone(values: list[NDArray[np.int64]], counts: NDArray[np.int64]) -> int:
    """Return how many records have a unique combination of values."""
    return int(np.count_nonzero(np.bincount(joined(values), counts) == 1))


def _by_size(known: Sets, shares: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
    sizes = np.array([len(names) for names in known.sets])
    parts = []
    for size in np.unique(sizes):
        inside = shares[sizes == size]
        parts += [(number(int(size)), float(inside.mean())), (f"{number(int(size))}, worst", float(inside.max()))]
    return tuple(parts)
