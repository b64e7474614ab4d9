"""p-sensitive k-anonymity: classes around random records that add new confidential values first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.parameters import Checked, Param
from shoal.partition._shared import confidential, enough_values
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class PSensitive(Checked, Partitioner):
    """p-sensitive microaggregation of Solanas, Sebé and Domingo-Ferrer, from a random initial point.

    A random record starts a class. The nearest record with a confidential value that is new to the class joins, until
    there are p values; then the nearest records, until there are k. This is repeated while k records and p values are
    left. Each leftover record joins the class with the nearest centroid.

    **Guarantee.** n ≥ k → every record in exactly one class of at least k records, which has at least p values of every
    confidential attribute if the given records have. If strata are partitioned one by one, a stratum with fewer values
    becomes one class, and the audit reports it.

    **Complexity.** About O(n log n) where d is small; a class whose p-th value is far away takes as many steps as there
    are records that have a value it needs, or that are nearer.

    **Departures.** The paper that printed the heuristic was not available; this follows the description in [DSS08],
    and reproduces their figures within 6 %. They have one confidential attribute: with several, a record joins if it
    brings a new value of any attribute with fewer than p. Centroids are those before any leftover record joins.

    References: [SSD08], [DSS08] Section 5.

    >>> from shoal.types import Confidential
    >>> ill = Confidential("ill", np.array([0, 0, 1, 1, 0, 1]), np.array([3, 3]), ordered=False)
    >>> points = Points(np.array([[0.0], [0.1], [5.0], [5.5], [0.2], [5.1]]), confidential=(ill,))
    >>> PSensitive(k=2, p=2).partition(points, np.random.default_rng(0)).labels.tolist()
    [2, 1, 1, 0, 0, 2]
    """

    promises_k: ClassVar[bool] = True
    promises: ClassVar[tuple[str, ...]] = ("p_sensitivity",)

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    p: Annotated[int, Param("Smallest number of values of each confidential attribute in a class.", low=1)]

    relative_cost: ClassVar[float] = 2.0  #: processor time in multiples of a partition by MDAV, measured

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p > self.k:
            raise ParameterError(
                f"PSensitive: p must be at most k, got p = {self.p} and k = {self.k}. Lower p, or raise k."
            )

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes with at least k records and p values, from records in random order."""
        from shoal.kernels.models.p_sensitive import p_sensitive

        attributes = tuple(attribute.counted for attribute in confidential(self, points))
        enough_values(self, attributes, self.p)
        codes = [attribute.codes for attribute in attributes]
        labels, _ = p_sensitive(points.x, codes, self.k, self.p, rng.permutation(len(points)))
        return Partition.of(labels, tuple(dict.fromkeys(points.owners)))
