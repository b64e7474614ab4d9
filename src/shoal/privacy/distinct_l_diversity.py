"""Distinct l-diversity: every class holds at least l different confidential values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import fewest_values
from shoal.types import ConfidentialModel, Finding, Release


@dataclass(frozen=True)
class DistinctLDiversity(Checked, ConfidentialModel):
    """Distinct l-diversity (Machanavajjhala et al.), audited on the table as it is written.

    A release is l-diverse in this sense if in every class a confidential attribute takes at least l different values,
    for each confidential attribute separately. This is the condition of p-sensitivity, under the name of [MKGV07].
    Values, spellings and classes are counted as in :func:`~shoal.privacy.counting.histograms.histograms_of`.

    **Guarantee.** `achieved` is the smallest number of different values in any class; it is counted, not estimated.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** None.

    **What it does not promise.** That values occur equally often: one of them may be nearly certain.

    References: [MKGV07], [DSS08].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)))
    >>> release = Release(pa.table({"age": [30, 30, 30, 50, 50], "ill": list("aabcc")}), schema)
    >>> DistinctLDiversity(l=2).audit(release, ["age"], ["ill"])[0].holds
    False
    """

    short: ClassVar[str] = "l_distinct"
    level: ClassVar[str] = "l"
    reported: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    example: ClassVar[str] = "3"

    l: Annotated[  # noqa: E741 - the literature's name
        int | None, Param("Smallest number of distinct values in a class; none: only report.", low=1)
    ] = None

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the fewest values in any class over some columns."""
        return fewest_values(self, self.l, release, attributes, confidential)
