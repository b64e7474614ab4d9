"""p-sensitive k-anonymity: every class holds at least p different confidential values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import Fewest, fewest_values
from shoal.types import Finding, Release


@dataclass(frozen=True)
class PSensitivity(Checked):
    """p-sensitivity (Truta and Vinay), audited on the table as it is written.

    A release is p-sensitive if in every class a confidential attribute takes at least p different values, for each
    confidential attribute separately. The audit of k-anonymity checks that classes hold at least k records.

    A missing value is a value. NaN is missing, and −0 is 0. Values that differ only in capitals, surrounding blanks or
    invisible characters are one value; 01 and 1 are two. Classes are those of the audit of k-anonymity. Nothing is
    dropped, so the order of rows does not matter.

    **Guarantee.** `achieved` is the smallest number of different values in any class; it is counted, not estimated.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** None.

    **What it does not promise.** That values occur equally often, or that they differ by much.

    References: [TV06], [DSS08].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)))
    >>> release = Release(pa.table({"age": [30, 30, 30, 50, 50], "ill": list("aabcd")}), schema)
    >>> PSensitivity(p=2).audit(release, ["age"], ["ill"])[0].achieved
    2
    """

    short: ClassVar[str] = "p"
    of_confidential: ClassVar[bool] = True
    reported: ClassVar[bool] = True
    example: ClassVar[str] = "3"

    p: Annotated[int | None, Param("Smallest number of distinct values in a class; none: only report.", low=1)] = None

    def audit(self, release: Release, attributes: Sequence[str], confidential: Sequence[str]) -> tuple[Finding, ...]:
        """Find the fewest values in any class over some columns, for each confidential column."""
        asked = Fewest("p_sensitivity", self.short, "p", self.p)
        return tuple(fewest_values(asked, release, tuple(attributes), name) for name in confidential)
