"""Column: attracts records with similar values in a column of numbers or dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.sums import extent, place
from shoal.parameters import Checked, Param
from shoal.types import Columns, Points
from shoal.types.protocols import Steering


@dataclass(frozen=True)
class Column(Checked, Steering):
    """Existing artificial attribute: 𝒜 of [DS17] Definition 3, given as a column.

    Coordinates: one, from 0 for the smallest value to 1 for the largest.

    References: [DS17] Definition 3.
    """

    column: Annotated[str, Param("A column of numbers or dates.")]

    def coordinates(self, points: Points, columns: Columns) -> NDArray[np.float64]:
        """Scale the column by its range."""
        values = columns.numbers(self.column)
        return np.asarray(place(values, *extent(values))[:, None])
