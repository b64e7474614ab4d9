"""p-sensitive k-anonymity: every class holds at least p different confidential values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import fewest_values
from shoal.types import ConfidentialModel, Finding, Release


@dataclass(frozen=True)
class PSensitivity(Checked, ConfidentialModel):
    """p-sensitivity (Truta and Vinay), audited on the table as it is written.

    A release is p-sensitive if in every class a confidential attribute takes at least p different values, for each
    confidential attribute separately. The audit of k-anonymity checks that classes hold at least k records. Values,
    spellings and classes are counted as in :func:`~shoal.privacy.counting.histograms.histograms_of`.

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
    level: ClassVar[str] = "p"
    reported: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    example: ClassVar[str] = "3"

    p: Annotated[int | None, Param("Smallest number of distinct values in a class; none: only report.", low=1)] = None

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the fewest values in any class over some columns."""
        return fewest_values(self, self.p, release, attributes, confidential)
