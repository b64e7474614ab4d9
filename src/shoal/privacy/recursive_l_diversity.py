"""Recursive (c,l)-diversity: in no class is the most common value too frequent relative to the rarer ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import Histograms, histograms_of
from shoal.privacy.counting.numbers import worst, written
from shoal.types import ConfidentialModel, Finding, Release

_EXACT = 2**62


@dataclass(frozen=True)
class RecursiveLDiversity(Checked, ConfidentialModel):
    """Recursive (c,l)-diversity (Machanavajjhala et al.), audited on the table as it is written.

    Let r₁ ≥ r₂ ≥ … ≥ rₘ be the counts of the values of a confidential attribute in a class. The class is (c,l)-diverse
    if r₁ < c · (r_l + r_{l+1} + … + rₘ): even an attacker who can rule out l − 2 of its values is not nearly certain of
    one. A class with fewer than l values is not (c,l)-diverse. A release is if all classes are, for each confidential
    attribute separately. Counts are of records, even where k counts subjects. Values, spellings and classes are counted
    as in :func:`~shoal.privacy.counting.histograms.histograms_of`.

    **Guarantee.** Counts are integers, and c is taken as written: rounding decides nothing. `achieved` is the largest l
    for which all classes are (c,l)-diverse, or 0.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** The formula is that of [MKGV07]; [DSS08] print r₁ for r_l.

    **What it does not promise.** That values differ by much, or that a class resembles the table.

    References: [MKGV07], [DSS08].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)))
    >>> release = Release(pa.table({"age": [30] * 7, "ill": list("aaabbcd")}), schema)
    >>> [RecursiveLDiversity(c=c).audit(release, ["age"], ["ill"])[0].achieved for c in (1, 2, 4)]
    [2, 3, 4]
    """

    short: ClassVar[str] = "l_recursive"
    level: ClassVar[str] = "l"
    reported: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    example: ClassVar[str] = "2:3"

    c: Annotated[float, Param("Largest ratio c of the commonest value to the rarer ones.", low=0)] = 2
    l: Annotated[  # noqa: E741 - the literature's name
        int | None, Param("Rank l, by frequency, from which values are rarer; none: only report.", low=1)
    ] = None

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the largest l that holds in all classes over some columns."""
        found = histograms_of(release, attributes, confidential, as_counted=True)
        levels = _levels(found, written(self.c))
        return self.finding(
            attributes,
            int(levels.min()),
            self.l,
            len(levels),
            worst(levels, found.classes),
            note=f"the largest l with c = {self.c:g}",
            confidential=confidential,
            given=(("c", self.c),),
        )


def _levels(found: Histograms, c: Fraction) -> NDArray[np.int64]:
    """Return the largest l for which each class is (c,l)-diverse.

    The sum of the rarer values falls as l grows, so this is the number of l for which the condition holds.
    """
    # all values equally frequent: r₁ < c · (m − l + 1) · r₁ for the l with m − l + 1 > 1/c
    spoilt = c.denominator // c.numerator if c else len(found.codes)
    levels = found.distinct - np.minimum(found.distinct, spoilt)
    some = found.uneven
    if len(some.at):
        largest = max(c.numerator, c.denominator) * int(some.sizes.max())
        number = np.int64 if largest < _EXACT else object
        passed = np.cumsum(some.counts) - some.counts
        passed -= np.repeat(passed[some.begins], some.distinct)
        rarer = np.repeat(some.sizes, some.distinct) - passed
        commonest = np.repeat(some.counts[some.begins], some.distinct)
        holds = c.denominator * commonest.astype(number) < c.numerator * rarer.astype(number)
        levels[some.at] = np.add.reduceat(holds.astype(np.int64), some.begins)
    return levels
