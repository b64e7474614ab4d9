"""Mic1D: all values of a table sorted together and averaged in runs of k values; no k-anonymity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from shoal.errors import DataError, ParameterError
from shoal.parameters import Checked, Param
from shoal.partition._shared import few_coordinates
from shoal.types import Block, Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class Mic1d(Checked, Partitioner):
    """One-dimension microaggregation, Mic1D-k of Nin: k counts values, not records.

    All values of all attributes form one vector. It is sorted and cut into runs of k values; each run is scaled to
    0 … 1; the scaled values are sorted, cut and scaled once more; each of these runs is replaced by its mean; and the
    scalings are undone, so that every value comes back to the range of its first run.

    **Guarantee.** n·d ≥ k → every run has at least k values (k … 2k−1), unless `small_last`. **No k-anonymity of
    records, for any k.** Values may be released unchanged: the smallest and the largest of every first run are scaled
    to 0 and 1, and with many runs, whole runs of the second round hold nothing else. Their number is reported.

    **Complexity.** O(nd log nd) time; with `cut = "optimal"` O(ndk) more. O(nd) memory.

    **Departures.** Leftover values join the last run. In the paper they form a smaller one, perhaps of one value, which
    would be disclosed: `small_last`. `cut = "optimal"` is the paper's future work: runs of k … 2k−1 values with the
    least SSE of the vector that is cut. Equal values are sorted by attribute, then by row: the paper does not specify
    this, and it is one of the orders that give the SSE of its Table 4. The paper takes raw values; shoal standardises
    attributes before any method sees them, unless `scale = "none"`.

    The labels of the partition identify records that are released with equal values.

    References: [N14] Section 3.

    >>> points = Points(np.array([[0.0, 9.0], [1.0, 8.0], [2.0, 7.0], [3.0, 6.0]]))
    >>> Mic1d(k=4).partition(points, np.random.default_rng(0)).blocks[0].values.tolist()
    [[0.5, 8.5], [0.5, 8.5], [2.5, 6.5], [2.5, 6.5]]
    """

    promises_k: ClassVar[bool] = False
    exchangeable: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of values in a run, across records and attributes.", low=2)]
    cut: Annotated[Literal["fixed", "optimal"], Param("Runs of k values, or runs of k … 2k−1 with the least SSE.")] = (
        "fixed"
    )
    small_last: Annotated[bool, Param("Leave the remaining values in a smaller last run, as the paper does.")] = False

    relative_cost: ClassVar[float] = 1.0  #: processor time in multiples of a partition by MDAV, measured

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.small_last and self.cut == "optimal":
            raise ParameterError(
                "Mic1d: small_last must be false where cut is 'optimal', which leaves no smaller run, got true. "
                "Leave out one of them."
            )

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Compute the released values; nothing is random."""
        from shoal.kernels.order.projection import fixed_runs, mic1d, optimal_runs

        x = few_coordinates(self, points)
        if x.size < self.k:
            raise DataError(
                f"Mic1d: k must be at most the number of values, got k = {self.k:,} and {x.size:,} in the table. "
                f"Lower k."
            )
        fixed = self.cut == "fixed"
        values = mic1d(x, fixed_runs(self.k, small_last=self.small_last) if fixed else optimal_runs(self.k))
        labels = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return Partition((Block(tuple(points.places), labels, False, values, "k counts values"),))
