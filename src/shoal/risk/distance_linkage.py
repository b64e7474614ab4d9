"""DLD: distance linkage disclosure, the records that an attacker links correctly by distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.progress import report
from shoal.risk._attacker import POINTS, Sample, Sets, credit, different, linking, number, sets_of
from shoal.types import Comparison, Measure, Reading


@dataclass(frozen=True)
class DistanceLinkage(Checked, Measure):
    """Percentage of records whose nearest masked record is their own, averaged over sets of known attributes.

    An attacker knows the original values of some attributes and takes the nearest masked record, by Euclidean distance
    of the standardised values. Among several nearest, one is picked at random: a record counts 1/ties.

    **Guarantee.** Equal to the count over all pairs of records, for the records and sets examined. Without a sample:
    all records, all sets.

    **Complexity.** For each set O(p log p) for p distinct masked records, and a few leaves of sixteen for each record
    if few attributes are known; at worst all p.

    **Departures.** [N14] leaves the scale open: here both tables are standardised by the original's means and
    deviations. If there are more sets than `subsets`, single attributes, the whole, and a seeded sample of the others
    are examined; the sample represents all others in the mean. Fewer sets are examined if p times their number would
    exceed 20,000,000.

    References: [N14] Section 2.3, [DT01].

    >>> x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> masked = np.array([[1.5], [1.5], [3.5], [3.5]])
    >>> DistanceLinkage().measure(Comparison(x, masked, ("x",))).value
    50.0
    """

    short: ClassVar[str] = "dld"
    exchangeable: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    subsets: Annotated[int, Param("Largest number of sets of known attributes.", low=1)] = 511
    sample: Sample = None

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the DLD of a masked table."""
        if not len(comparison):
            return self.reading(math.nan, comparison.attributes, note="There are no records.")
        masked = different(comparison.masked)
        known = sets_of(comparison.attributes, min(self.subsets, POINTS // len(masked.counts)), comparison.seed)
        who = linking(comparison, self.sample, masked, len(known.sets))
        weights = _weights(known, len(comparison.attributes))
        linked, shares = np.zeros(len(who.rows)), np.empty(len(known.sets))
        for at, names in enumerate(known.sets):
            found = credit(who.ties(names))
            shares[at] = 100.0 * found.mean()
            linked += weights[at] / weights.sum() * found
            report(at + 1, len(known.sets))
        value = min(float(weights @ shares / weights.sum()), 100.0)  # rounding may exceed it
        notes = [who.told(linked)]
        if not known.whole:
            notes.append(
                f"{len(known.sets):,} of {known.all:,} sets of known attributes were used: each attribute alone, all "
                "together, and a random sample of the others."
            )
        return self.reading(value, comparison.attributes, _by_size(known, shares), " ".join(filter(None, notes)))


def _weights(known: Sets, m: int) -> NDArray[np.float64]:
    """Return the weight of each set in the mean over all sets; sampled sets represent all of their size."""
    weights = np.ones(len(known.sets))
    drawn = np.array([1 < len(names) < m for names in known.sets])
    if drawn.any():
        weights[drawn] = (known.all - (m + 1)) / int(drawn.sum())
    return weights


def _by_size(known: Sets, shares: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
    sizes = np.array([len(names) for names in known.sets])
    return tuple((number(int(size)), float(shares[sizes == size].mean())) for size in np.unique(sizes))
