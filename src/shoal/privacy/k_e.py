"""(k,e)-anonymity: in every class confidential numbers have a range of at least e."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import Histograms, histograms_of
from shoal.privacy.counting.numbers import Numbers, is_numeric, least, numbers_of, rounded, worst, written
from shoal.types import ConfidentialModel, Finding, Kind, Release

_ROUNDING = 2.0**-51  # of two numbers and their difference


@dataclass(frozen=True)
class KE(Checked, ConfidentialModel):
    """(k,e)-anonymity (Zhang et al.), audited on the table as it is written.

    A release is (k,e)-anonymous if it is k-anonymous, and in every class the largest and the smallest value of a
    confidential attribute are at least e apart, for each confidential attribute separately. The audit of k-anonymity
    checks that classes hold at least k records. The model applies to numbers, dates and times: e is in their unit, for
    dates and times in days. Ordinal and nominal values have no range and are not reported.

    Missing and non-finite values are ignored: the range is over the others, and 0 if no value is left. Classes are
    those of the audit of k-anonymity. No record is dropped, so the order of rows does not matter.

    **Guarantee.** Numbers and e are taken as written (0.3 and 0.1 are exactly 0.2 apart): rounding decides nothing.
    `achieved` is the smallest range, rounded to the nearest float.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** [ZKSY07] count different values in k; here k counts records, or subjects, as everywhere.

    **What it does not promise.** That values between the two ends differ: all but one may be the same.

    References: [ZKSY07], [DSS08].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)))
    >>> release = Release(pa.table({"age": [30, 30, 50, 50], "pay": [1, 3, 2, 9]}), schema)
    >>> KE(e=5).audit(release, ["age"], ["pay"])[0].achieved
    2.0
    """

    short: ClassVar[str] = "e"
    level: ClassVar[str] = "e"
    reported: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    example: ClassVar[str] = "1000"

    e: Annotated[float | None, Param("Smallest range of values in a class; none: only report.", low=0)] = None

    def audit(self, release: Release, attributes: Sequence[str], confidential: Sequence[str]) -> tuple[Finding, ...]:
        """Find the smallest range of any class over some columns, for each numeric or date confidential column."""
        numeric = [name for name in confidential if is_numeric(release.schema[name])]
        if self.e is not None and (strange := [name for name in confidential if name not in numeric]):
            raise SchemaError(
                f"Column {strange[0]!r}: k_e needs numbers, dates or times, but this column is "
                f"{release.schema[strange[0]].kind}. Leave out e, or give the column another kind if it holds "
                "numbers."
            )
        return super().audit(release, attributes, numeric)

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the smallest range of any class over some columns."""
        found = histograms_of(release, attributes, confidential)
        numbers = numbers_of(release, confidential, found.values)
        assert numbers is not None
        rough, achieved = _ranges(found, numbers)
        days = release.schema[confidential].kind is Kind.DATETIME
        return self.finding(
            attributes,
            rounded(achieved, self.e),
            self.e,
            len(rough),
            worst(rough, found.classes),
            holds=self.e is None or achieved >= written(self.e),
            note="in days" if days else "",
            confidential=confidential,
        )


def _ranges(found: Histograms, numbers: Numbers) -> tuple[NDArray[np.float64], Fraction]:
    """Return the range of each class in floats, and the smallest exactly."""
    low, high = _ends(found, numbers)
    with np.errstate(over="ignore"):
        rough = numbers.rough[high] - numbers.rough[low]
    rough[np.isnan(rough)] = 0.0  # all values of the class are missing
    if numbers.units is not None:
        return rough, Fraction(int((numbers.units[high] - numbers.units[low]).min()), numbers.per)
    error = (np.abs(np.nan_to_num(numbers.rough)) * _ROUNDING)[np.stack((low, high))].sum(axis=0)
    error[low == high] = 0.0

    def exact(i: int) -> Fraction:
        return Fraction(0) if low[i] == high[i] else numbers.exact(int(high[i])) - numbers.exact(int(low[i]))

    return rough, least(rough, error, exact)


def _ends(found: Histograms, numbers: Numbers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and the highest value of each class; the same value twice if all are missing."""
    begins, sizes = found.classes.begins, found.classes.sizes
    nowhere = numbers.nowhere
    if not nowhere.any():
        return found.codes[begins], found.codes[begins + sizes - 1]
    codes, skip = found.codes, nowhere[found.codes]
    low = np.minimum.reduceat(np.where(skip, len(nowhere), codes), begins)
    high = np.maximum.reduceat(np.where(skip, -1, codes), begins)
    none = high < 0
    low[none] = high[none] = codes[begins][none]
    return low, high
