"""(α,k)-anonymity: no confidential value has a share above α in any class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import Histograms, histograms_of
from shoal.privacy.counting.numbers import rounded, worst, written
from shoal.types import ConfidentialModel, Finding, Release


@dataclass(frozen=True)
class AlphaK(Checked, ConfidentialModel):
    """(α,k)-anonymity (Wong et al.), audited on the table as it is written.

    A release is (α,k)-anonymous if it is k-anonymous, and in every class the share of each value of a confidential
    attribute is at most α, for each confidential attribute separately. The audit of k-anonymity checks that classes
    hold at least k records. Shares are of records, even where k counts subjects. Values, spellings and classes are
    counted as in :func:`~shoal.privacy.counting.histograms.histograms_of`.

    **Guarantee.** Shares are fractions of integers, and are compared with α as written (0.1 is one tenth): rounding
    decides nothing. `achieved` is the largest share.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** [WLFW06] consider one confidential value, or several named ones; this audit considers all of them,
    as [DSS08] do.

    **What it does not promise.** That values differ by much, or that a class resembles the table.

    References: [WLFW06], [DSS08].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)))
    >>> release = Release(pa.table({"age": [30, 30, 30, 30, 50, 50], "ill": list("aaabcd")}), schema)
    >>> AlphaK(alpha=0.5).audit(release, ["age"], ["ill"])[0].achieved
    0.75
    """

    short: ClassVar[str] = "alpha"
    level: ClassVar[str] = "alpha"
    reported: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    more_is_worse: ClassVar[bool] = True
    example: ClassVar[str] = "0.5"

    alpha: Annotated[float | None, Param("Largest share of a value in a class; none: only report.", low=0, high=1)] = (
        None
    )

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the largest share of any value in any class over some columns."""
        found = histograms_of(release, attributes, confidential, as_counted=True)
        shares = found.commonest / found.classes.sizes
        achieved = _largest(shares, found)
        return self.finding(
            attributes,
            rounded(achieved, self.alpha),
            self.alpha,
            len(shares),
            tuple((number, -share) for number, share in worst(-shares, found.classes)),
            holds=self.alpha is None or achieved <= written(self.alpha),
            confidential=confidential,
        )


def _largest(shares: NDArray[np.float64], found: Histograms) -> Fraction:
    """Return the largest share exactly. Division rounds to nearest, so it is among those with the largest float."""
    near = np.flatnonzero(shares == shares.max())
    if int(found.classes.sizes[near].max()) < 2**26:
        near = near[:1]  # two different fractions of such integers are different floats
    pairs = {(int(found.commonest[i]), int(found.classes.sizes[i])) for i in near}
    return max(Fraction(count, size) for count, size in pairs)
