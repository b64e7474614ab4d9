"""Bucket: attracts records with the same number in different buckets of confidential values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.parameters import Checked, Param, unknown
from shoal.types import Columns, Confidential, Points
from shoal.types.marginality import by_marginality, spread_ranks
from shoal.types.protocols import Steering


@dataclass(frozen=True)
class Bucket(Checked, Steering):
    """Bucket attribute B(C) of [DS17] Algorithm 1, for any method and any weight.

    Coordinates: one, the number of the record in its bucket, from 0 to 1. The method `steered` chooses buckets and
    weight so that t holds; here both are free, and t holds only if it is requested as well.

    **Complexity.** O(n² m / b) at worst, b being the number of buckets.

    **Departures.** As in the method `steered`: buckets have the same size, and leftover records, in the middle of the
    order, take the number of the record of the middle bucket that they are matched with. Categories are
    ranked by marginality, the sum of their distances to all records.

    References: [DS17] Algorithm 1, steps 1 to 6.
    """

    needs_confidential: ClassVar[bool] = True

    buckets: Annotated[int, Param("Number of buckets; k, for classes with one record of each bucket.", low=2)]
    column: Annotated[str | None, Param("The confidential column; default: the first with an order.")] = None

    def coordinates(self, points: Points, columns: Columns) -> NDArray[np.float64]:
        """Number the records bucket by bucket, in coordinates scaled by their ranges."""
        from shoal.kernels.closeness.buckets import bucket_numbers, in_unit_ranges

        if self.buckets > len(points):
            raise DataError(
                f"Bucket: buckets must be at most the number of records, got {self.buckets:,} buckets and "
                f"{len(points):,} in the table. Lower buckets."
            )
        attribute = self._attribute(points.confidential)
        codes = attribute.codes if attribute.ordered else spread_ranks(by_marginality(attribute).codes)
        return np.asarray(bucket_numbers(in_unit_ranges(points.coordinates), codes, self.buckets).unit[:, None])

    def _attribute(self, given: tuple[Confidential, ...]) -> Confidential:
        if not given:
            raise DataError(
                "Bucket: at least one confidential attribute must be given, got none. Name it: confidential= in "
                "Python, --confidential on the command line."
            )
        named = [a for a in given if self.column in (None, a.name)]
        if not named:
            raise SchemaError(unknown("Bucket", "confidential column", self.column, [a.name for a in given]))
        return next((a for a in named if a.ranked), named[0])
