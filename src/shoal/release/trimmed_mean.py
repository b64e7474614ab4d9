"""Trimmed mean: every member of a class gets the mean of its middle values; those at both ends do not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.parameters import Param
from shoal.release.centroid import ClassValues


@dataclass(frozen=True)
class TrimmedMean(ClassValues):
    """Trimmed class mean in place of each quasi-identifier.

    Numbers, dates and times: the mean of the class without ⌊`trim` · m⌋ of its m records at each end. If the table has
    sampling weights, the mean is weighted, and at each end the records are left out whose weights together are at most
    `trim` of the class's. It is rounded as a mean is: integers stay integers. Ordered categories: the (weighted)
    median, the lower of two. Categories without an order: as :class:`~shoal.release.centroid.Centroid` releases them.

    **Guarantee.** Records of a class are equal in its block's attributes, and the order of its members does not change
    a bit of its values; other columns are unchanged; identifiers and subjects are removed; rows and columns keep their
    order. Classes of fewer than 1/`trim` records get their mean.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** Totals are not kept.

    >>> import pyarrow as pa
    >>> import shoal
    >>> pay = pa.table({"pay": [10, 11, 12, 13, 90]})
    >>> done = shoal.protect(pay, quasi=["pay"], k=5, release="trimmed_mean", set={"trim": 0.2})
    >>> done.data["pay"].to_pylist()
    [12, 12, 12, 12, 12]
    """

    takes: ClassVar[tuple[str, ...]] = ("resolution", "exact_means")
    publishes_readings: ClassVar[bool] = True
    limits: ClassVar[str] = (  #: for the report: what to know beyond its privacy model
        "Each class is released as the mean of its middle records, column by column: a combination that may belong to "
        "no record. Totals are not kept."
    )

    trim: Annotated[float, Param("Share of a class that is left out at each end.", low=0, high=0.49)] = 0.2

    @property
    def trimmed(self) -> float:
        """The parameter `trim`."""
        return self.trim
