"""Region: attracts records with the same value of a column, and separates those with different ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.parameters import Checked, Param
from shoal.types import Columns, Points
from shoal.types.protocols import Steering

_MOST = 256  # coordinates, each carried through by every method


@dataclass(frozen=True)
class Region(Checked, Steering):
    """Artificial coordinate for each value of a column: a region, a branch, a school.

    Coordinates: one for each value, 1/√2 for the records that have it and 0 for others, so that the distance of two
    records is 0 in the same region and 1 in different ones. A missing value is a value. With a weight of 0 regions do
    not matter; the larger the weight, the fewer classes cross them. Classes still cross regions with too few records,
    which strata would refuse.

    **Departures.** None: there is no paper.
    """

    column: Annotated[str, Param("The column whose values are kept together.")]

    def coordinates(self, points: Points, columns: Columns) -> NDArray[np.float64]:
        """Return an indicator for each value."""
        codes = columns.categories(self.column)
        regions = int(codes.max()) + 1
        if regions > _MOST:
            raise DataError(
                f"Region: column {self.column!r} must have at most {_MOST} different values, got {regions:,}. Merge "
                "some of them, or use by = column with numbers that are close for records that belong together."
            )
        return np.asarray(np.eye(regions)[codes] / np.sqrt(2.0))
