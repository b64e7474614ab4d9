"""Position: attracts records that are near each other in the order of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.types import Columns, Points
from shoal.types.protocols import Steering


@dataclass(frozen=True)
class Position(Checked, Steering):
    """Position attribute P of [DS17] Algorithm 3.

    Coordinates: one, from 0 for the first record to 1 for the last. The paper's i·ω is `every` = 1 with the weight ω.

    References: [DS17] Algorithm 3.

    >>> Position(every=1).coordinates(Points(np.zeros((3, 1))), None).tolist()
    [[0.0], [1.0], [2.0]]
    """

    every: Annotated[
        int | None,
        Param("Rows over which the position grows by 1; default: the whole table.", low=1),
    ] = None

    def coordinates(self, points: Points, columns: Columns | None) -> NDArray[np.float64]:
        """Number the records and scale the numbers."""
        n = len(points)
        return np.asarray((np.arange(n) / (self.every or max(n - 1, 1)))[:, None])
