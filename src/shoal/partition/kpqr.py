"""(k,p,q,r)-anonymity: rare confidential values in classes with p values and high variance, the rest by MDAV."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.parameters import Checked, Param
from shoal.partition._shared import confidential, enough_values
from shoal.types import Confidential, Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class Kpqr(Checked, Partitioner):
    """Heuristic of Domingo-Ferrer, Sebé and Solanas for (k,p,q,r)-anonymity.

    A random record with a rare value, one with a share below q in the table, starts a class. The nearest record with a
    new value joins until there are p values, then the nearest that increases the variance until it is r times that of
    all records with rare values, then the nearest that keeps it there until there are k records. When the remaining
    records with rare values cannot form such a class, they join the last one. The other records are partitioned by
    MDAV.

    **Guarantee.** n ≥ k → every record in exactly one class of at least k records. p values and r are targets, not
    guarantees: the audit, by Definition 7, decides what is released.

    **Complexity.** About O(n log n) where d is small.

    **Departures.** Every loop ends. 4(d), (e): if no record brings a new value, or increases the variance, the class
    does without. 4(f): if none keeps the variance, the nearest joins; k has priority. 4(g) with Y empty does nothing;
    its iv returns members only if k records and p values stay. A class that found fewer than k records, and fewer than
    k records left for step 5, join the classes with the nearest centroids. 4(d) does not prefer records that increase
    the variance unless requested: Table 1 is reproduced without. MinVar is as printed, from the records with rare
    values; Definition 7 takes the variance of the whole table, and the note gives both. Ordinal values have the
    variance of their ranks, nominal ones Gini's.

    References: [DSS08] Section 4, [LM71].

    >>> ill = Confidential("ill", np.array([0, 1, 2, 2, 2, 2]), np.array([1, 1, 4]), values=np.array([1.0, 2.0, 9.0]))
    >>> points = Points(np.array([[0.0], [5.4], [0.1], [5.0], [0.2], [5.1]]), confidential=(ill,))
    >>> Kpqr(k=2, p=2, q=0.2, r=0.5).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    promises_k: ClassVar[bool] = True
    promises: ClassVar[tuple[str, ...]] = ("kpqr",)

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    p: Annotated[int, Param("Smallest number of values in a class that has a rare one.", low=1)]
    q: Annotated[float, Param("Share of the table below which a value is rare.", low=0, high=1)]
    r: Annotated[float, Param("Smallest share of the variance in a class that has a rare value.", low=0, high=1)]
    prefer_variance: Annotated[bool, Param("Prefer records with a new value that increase the variance.")] = False

    relative_cost: ClassVar[float] = 10.0  #: processor time in multiples of a partition by MDAV, measured

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p > self.k:
            raise ParameterError(f"Kpqr: p must be at most k, got p = {self.p} and k = {self.k}. Lower p, or raise k.")

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes around random records with rare values, then the others by MDAV."""
        from shoal.kernels.models.kpqr import kpqr, rare_values

        attributes = confidential(self, points)
        if len(attributes) > 1:
            raise SchemaError(
                f"Kpqr: takes exactly one confidential attribute, got {len(attributes)}. Name one, or choose another "
                "method and require kpqr of each: --require kpqr=p:q:r."
            )
        attribute, order = attributes[0], rng.permutation(len(points))
        if rare_values(attribute.counts, self.q).any():
            enough_values(self, attributes, self.p)
        labels, ran = kpqr(
            points.x,
            attribute,
            self.k,
            self.p,
            self.q,
            self.r,
            order,
            prefer_variance=self.prefer_variance,
        )
        partition = Partition.of(labels, tuple(dict.fromkeys(points.owners)))
        return partition if ran is None else replace(partition, note=self._note(attribute, labels))

    def _note(self, attribute: Confidential, labels: NDArray[np.int64]) -> str:
        """Report how much classes with rare values vary, by the heuristic and by the definition."""
        from shoal.kernels.models.kpqr import rare_values
        from shoal.kernels.models.running_variance import class_variances, scale_of, table_variance

        scale, rare = scale_of(attribute), rare_values(attribute.counts, self.q)
        holds = np.zeros(int(labels.max()) + 1, np.bool_)
        holds[labels[rare[attribute.codes]]] = True
        least = float(class_variances(scale, attribute.codes, labels)[holds].min())
        inside = float(table_variance(scale, np.where(rare, attribute.counts, 0)))
        table = float(table_variance(scale, attribute.counts))
        shares = (
            f"{least / whole if whole > 0 else 1.0:.3g} of that of {of}"
            for whole, of in ((inside, "all records with rare values"), (table, "the table"))
        )
        return f"{int(holds.sum()):,} classes hold rare values; their least variance is {', '.join(shares)}, as formed"
