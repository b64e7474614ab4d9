"""Spread: attracts records with different confidential values, so that classes reach p and l."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.parameters import Checked, Param, unknown
from shoal.types import Columns, Confidential, Points
from shoal.types.marginality import spread_ranks
from shoal.types.protocols import Steering


@dataclass(frozen=True)
class Spread(Checked, Steering):
    """Artificial attributes for p-sensitivity and l-diversity, in the manner of [DS17] Algorithm 1.

    Records are ordered by value, the most frequent value first, and cut into b subsets of neighbours in that order.
    Groups are formed as by `t_first`: around the records farthest from the centroid, with the nearest record of every
    subset.

    Coordinates: the mean of the record's group, as many as the points have, at most 1 apart. Records of a group attract
    each other, whatever their values.

    **Guarantee.** Each group has a record of every subset; where a value has fewer records than a subset, at most two
    subsets hold it. Classes are groups only with a large weight; p and l hold only if they are required as well.

    **Complexity.** That of `t_first` with classes of b.

    **Departures.** [DS17] Section VII names other privacy models as future work, without an algorithm. The numbers of
    Algorithm 1, matched bucket by bucket, form groups that lose more.

    References: [DS17] Section VII, [SC15] Algorithm 3.

    >>> ill = Confidential("ill", np.array([0, 0, 1, 1]), np.array([2, 2]), ordered=False)
    >>> points = Points(np.array([[0.0], [9.0], [10.0], [1.0]]), confidential=(ill,))
    >>> Spread(buckets=2).coordinates(points, None).ravel().tolist()
    [0.05, 0.95, 0.95, 0.05]
    """

    needs_confidential: ClassVar[bool] = True

    buckets: Annotated[int, Param("Number of records of a class that should differ; usually k.", low=2)]
    column: Annotated[str | None, Param("The confidential column; default: the first.")] = None

    def coordinates(self, points: Points, columns: Columns | None) -> NDArray[np.float64]:
        """Group the records, and return the means of their groups in coordinates scaled by their ranges."""
        from shoal.kernels.closeness.buckets import in_unit_ranges
        from shoal.kernels.closeness.t_first import t_first

        if self.buckets > len(points):
            raise DataError(
                f"Spread: buckets must be at most the number of records, got {self.buckets:,} buckets and "
                f"{len(points):,} in the table. Lower buckets."
            )
        counted = self._attribute(points.confidential).counted
        place = np.argsort(np.argsort(-counted.counts, kind="stable"))  # equal frequencies: by value
        group = t_first(points.x, spread_ranks(place[counted.codes]), self.buckets, 1.0)[0]
        x = in_unit_ranges(points.coordinates)
        totals = np.column_stack([np.bincount(group, weights=column) for column in x.T])
        return np.asarray((totals / np.bincount(group)[:, None])[group] / np.sqrt(x.shape[1]))

    def _attribute(self, given: tuple[Confidential, ...]) -> Confidential:
        if not given:
            raise DataError(
                "Spread: at least one confidential attribute must be given, got none. Name it: confidential= in "
                "Python, --confidential on the command line."
            )
        named = [a for a in given if self.column in (None, a.name)]
        if not named:
            raise SchemaError(unknown("Spread", "confidential column", self.column, [a.name for a in given]))
        return named[0]
