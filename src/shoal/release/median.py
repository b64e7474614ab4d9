"""Median: every member of a class gets the class's median, which outliers do not move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.release.centroid import ClassValues


@dataclass(frozen=True)
class Median(ClassValues):
    """Class median in place of each quasi-identifier.

    Numbers, dates and times: the median of the class, weighted if the table has sampling weights; between two values in
    the middle, their mean. It is rounded as a mean is: integers stay integers. Ordered categories: the lower of two.
    Categories without an order: as :class:`~shoal.release.centroid.Centroid` releases them.

    **Guarantee.** Records of a class are equal in its block's attributes, and the order of its members does not change
    a bit of its values; other columns are unchanged; identifiers and subjects are removed; rows and columns keep their
    order. No value has a lower sum of absolute differences to the members; the mean has a lower SSE.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** Totals are not kept. In a class of an odd number of records, the value of each attribute is that of
    one of them; no one can tell which record's.

    >>> import pyarrow as pa
    >>> import shoal
    >>> done = shoal.protect(pa.table({"pay": [10, 11, 90]}), quasi=["pay"], k=3, release="median")
    >>> done.data["pay"].to_pylist()
    [11, 11, 11]
    """

    takes: ClassVar[tuple[str, ...]] = ("resolution", "exact_means")
    publishes_readings: ClassVar[bool] = True
    limits: ClassVar[str] = (  #: for the report: what to know beyond its privacy model
        "Each class is released as the median of its records, column by column: a combination that may belong to no "
        "record, of values that may each be exactly one record's. Totals are not kept."
    )

    @property
    def trimmed(self) -> float:
        """½: everything but the middle."""
        return 0.5
