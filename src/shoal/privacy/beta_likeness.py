"""β-likeness: in no class is a confidential value more than 1 + β times as frequent as in the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import Histograms, histograms_of
from shoal.privacy.counting.numbers import rounded, worst, written
from shoal.types import ConfidentialModel, Finding, Release

_NEAR = 1e-12  # relative: more than the rounding errors of a gain and of a logarithm
_DIGITS = 60
_OVER = "over_enhanced"


@dataclass(frozen=True)
class BetaLikeness(Checked, ConfidentialModel):
    """β-likeness (Cao and Karras), audited on the table as it is written.

    A release is β-like if in every class, for every confidential value whose share q of the class is above its share p
    of the table, the relative gain (q − p) / p is at most β; for each confidential attribute separately. Values that
    are rarer in a class than in the table do not count: learning that something is unlikely is no gain. Values,
    spellings and classes are counted as in :func:`~shoal.privacy.counting.histograms.histograms_of`.

    **Guarantee.** Gains are fractions of integers, and are compared with β as written (0.1 is one tenth): rounding
    decides nothing. `achieved` is the largest gain, rounded to the nearest float.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** This is basic β-likeness. The enhanced variant also limits the gain to −ln p: ``over_enhanced``
    counts the classes in which a value exceeds that limit. It cannot be required. Shares p are those of the release;
    ARX takes those of the table before records are suppressed.

    **What it does not promise.** That values differ in meaning, or that a class lacks no value of the table.

    References: [CK12].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)))
    >>> release = Release(pa.table({"age": [30, 30, 50, 50, 50, 50], "ill": list("abaaab")}), schema)
    >>> BetaLikeness(beta=1).audit(release, ["age"], ["ill"])[0].achieved  # b: 1/2 in the first class, 1/3 in the table
    0.5
    """

    short: ClassVar[str] = "beta"
    level: ClassVar[str] = "beta"
    mergeable: ClassVar[bool] = True
    more_is_worse: ClassVar[bool] = True
    example: ClassVar[str] = "1"

    beta: Annotated[
        float | None, Param("Largest relative gain of a value in a class; none: only report.", low=0, high=1e9)
    ] = None

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the largest relative gain of any value in any class over some columns."""
        found = histograms_of(release, attributes, confidential, as_counted=True)
        gains = _gains(found)
        by_class = np.maximum(np.maximum.reduceat(gains, found.begins), 0.0)
        achieved = _largest(gains, found)
        return self.finding(
            attributes,
            rounded(achieved, self.beta),
            self.beta,
            len(by_class),
            tuple((number, -gain) for number, gain in worst(-by_class, found.classes)),
            holds=self.beta is None or achieved <= written(self.beta),
            note=f"the gain relative to the share in the table; {_OVER}: classes beyond the enhanced limit −ln p",
            confidential=confidential,
            found=((_OVER, _beyond(gains, found)),),
        )

    def merge(self, parts: Sequence[Finding]) -> Finding:
        """Return the finding of a table from those of its parts."""
        return replace(super().merge(parts), found=((_OVER, sum(dict(part.found)[_OVER] for part in parts)),))


def _gains(found: Histograms) -> NDArray[np.float64]:
    """Return the relative gain of every value in every class, in floats."""
    sizes = np.repeat(found.classes.sizes, found.distinct)
    return np.asarray((found.counts / sizes) / (_of_table(found) / found.values.records) - 1.0)


def _of_table(found: Histograms) -> NDArray[np.int64]:
    """Return for every value of every class how often it occurs in the table."""
    return np.asarray(found.table[found.codes[found.runs]])


def _exact(found: Histograms, run: int) -> Fraction:
    """Return the relative gain of a value in a class exactly."""
    size = int(found.classes.sizes[np.searchsorted(found.begins, run, side="right") - 1])
    often = int(found.table[found.codes[found.runs[run]]])
    return Fraction(int(found.counts[run]) * int(found.values.records), size * often) - 1


def _largest(gains: NDArray[np.float64], found: Histograms) -> Fraction:
    """Return the largest gain exactly; it is among those with the largest floats. 0 if no value is commoner."""
    top = float(gains.max())
    near = np.flatnonzero(gains >= top - _NEAR * (abs(top) + 1.0))
    sizes = np.repeat(found.classes.sizes, found.distinct)[near]
    _, first = np.unique(np.stack([found.counts[near], sizes, _of_table(found)[near]]), axis=1, return_index=True)
    return max(Fraction(0), *(_exact(found, int(run)) for run in near[first]))


def _beyond(gains: NDArray[np.float64], found: Histograms) -> int:
    """Count the classes in which a value gains more than −ln p, the limit of enhanced β-likeness."""
    limits = -np.log(_of_table(found) / found.values.records)
    over = gains > limits + _NEAR * (1.0 + limits)
    near = ~over & (gains > limits - _NEAR * (1.0 + limits)) & (limits > 0.0)
    for run in np.flatnonzero(near):
        over[run] = _exceeds(_exact(found, int(run)), Fraction(int(_of_table(found)[run]), int(found.values.records)))
    return int(np.logical_or.reduceat(over, found.begins).sum())


def _exceeds(gain: Fraction, share: Fraction) -> bool:
    """Tell whether a gain exceeds −ln p of a share p < 1; such a logarithm is never a fraction, so digits decide."""
    context = Context(prec=_DIGITS)
    limit = context.ln(context.divide(Decimal(share.denominator), Decimal(share.numerator)))
    return context.divide(Decimal(gain.numerator), Decimal(gain.denominator)) > limit
