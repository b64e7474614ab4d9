"""Individual ranking: each attribute partitioned on its own; k holds for one attribute, not for several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.parameters import Checked, Param
from shoal.types import Block, Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class IndividualRanking(Checked, Partitioner):
    """Univariate microaggregation of each attribute: every attribute is a block of its own.

    **Guarantee.** n ≥ k → for each attribute alone, every record in exactly one class of k … 2k−1 records. **No
    guarantee over two attributes together**: an attacker who knows two may be left with one record.

    **Complexity.** For each attribute: O(n log n + nk) for the optimal cut, or that of MDAV on one coordinate.

    **Departures.** [SD17] run MDAV on each attribute (`by = "mdav"`). The optimal cut is the default, because it loses
    least. For bare points, each coordinate is an attribute.

    References: [SD17] Section 5, [N14] Section 2.2, [HM03].

    >>> points = Points(np.array([[0.0, 1.0], [9.0, 2.0], [1.0, 9.0], [8.0, 8.0]]))
    >>> [b.labels.tolist() for b in IndividualRanking(k=2).partition(points, np.random.default_rng(0)).blocks]
    [[0, 1, 0, 1], [0, 0, 1, 1]]
    """

    promises_k: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    forms_blocks: ClassVar[bool] = True  #: k holds in each of its blocks, not over all of them

    k: Annotated[int, Param("Smallest number of records in a class of one attribute.", low=2)]
    by: Annotated[
        Literal["optimal", "mdav"], Param("How an attribute is partitioned: by the optimal cut, or by MDAV.")
    ] = "optimal"

    relative_cost: ClassVar[float] = 1.0  #: processor time in multiples of a partition by MDAV, measured
    cost_of_cut: ClassVar[float] = 3.5e-9  #: seconds to examine one possible position of an optimal cut

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of at least k records for each attribute; nothing is random."""
        return Partition(
            tuple(
                Block((name,), self._labels(points.only((name,)), name, places))
                for name, places in points.places.items()
            )
        )

    def _labels(self, points: Points, name: str, places: tuple[int, ...]) -> NDArray[np.int64]:
        from shoal.kernels.mdav.mdav import mdav
        from shoal.kernels.order.projection import projected_labels

        if self.by == "mdav":
            return np.asarray(mdav(points.x, self.k)[0])
        if len(places) != 1:
            raise DataError(
                f"IndividualRanking: the optimal cut needs 1 coordinate for each attribute, {name!r} has "
                f"{len(places)}. Use by = mdav."
            )
        column = points.coordinates
        return np.asarray(projected_labels(column, column[:, 0], self.k))
