"""Steered: an artificial attribute mixes different confidential values in each class, to be within t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import ParameterError
from shoal.parameters import Checked, Param, build, unknown
from shoal.partition._shared import few_coordinates, growing_sizes, ranked
from shoal.types import Block, Partition, Points
from shoal.types.marginality import by_marginality, spread_ranks
from shoal.types.protocols import Partitioner

_MARGIN = 1.001  # factor by which the weight exceeds the bound, so that rounding cannot matter


@dataclass(frozen=True)
class Steered(Checked, Partitioner):
    """t-Closeness via steered microaggregation of Domingo-Ferrer and Soria-Comas.

    Records in the order of the confidential attribute are cut into b buckets of q records. Those of the first bucket
    are numbered; each record of the next bucket takes the number of the nearest record of the bucket before whose
    number is not yet taken, and so on. The number, times the weight, is one more coordinate, and a method partitions
    the points with classes of at least b.

    **Guarantee.** n ≥ k → every record in exactly one class of at least k records. If the weight is not given, or is
    above (q − 1)·√m, every class is within t of the table in every confidential attribute, unless all given records
    form one class. With a lower weight t is not promised, and the partition reports what was achieved.

    *Why.* Coordinates are scaled to 0 … 1, so that records with the same number are at most √m apart, and others more,
    because a step between numbers is ω/(q − 1) > √m. The b − 1 nearest to a record are then the others with its number,
    and MDAV forms exactly the numbers as classes: one record of each bucket. By [SC15] Proposition 2 such a class is
    within t if all values differ and b divides n. In all other cases (ties, spare records, several attributes,
    taxonomies, methods other than MDAV) closeness is checked exactly, and classes that are too far are merged with
    their neighbours.

    **Complexity.** O(n² m / b) for the numbers at worst, and that of the method.

    **Departures.** If b does not divide n, the paper has buckets of unequal size; a number that some buckets lack
    shifts all classes, and no weight reaches t. Here q = ⌊n/b⌋ and b is raised to ⌊n/q⌋, which leaves fewer than q
    records over. They are the middle ones in the order of the confidential attribute, where they change the
    distribution of a class least; each is matched with a record of the middle bucket, no two with the same one, and
    joins its class at the end. The sufficient weight is (q − 1)·√m, because numbers are scaled to 0 … ω; the paper has
    q·√m. Records of a bucket are visited in ascending order of the confidential attribute, and ties go to the lowest
    row: the paper leaves both open. With several confidential attributes, the first one with an order defines the
    buckets. Categories are ranked by marginality, the sum of their distances to all records, and records of a category
    are spread over its ranks. b is derived for distances of ranks, and too small for categories: it grows by half until
    no class falls short, and the partition with the lowest SSE once merged is kept.

    References: [DS17] Algorithm 1, [SC15] Proposition 2 and Section 7, [DSR13].

    >>> from shoal.types import Confidential
    >>> points = Points(np.arange(6.0)[:, None], confidential=(Confidential("pay", np.arange(6), np.ones(6, int)),))
    >>> Steered(k=2, t=0.3).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 1, 2, 2, 1, 0]
    """

    promises_k: ClassVar[bool] = True
    promises_t: ClassVar[bool] = True
    steers: ClassVar[bool] = True
    may_miss_t: ClassVar[bool] = True  #: with a weight chosen by the user it promises nothing, and reports that

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    t: Annotated[float, Param("t-closeness: largest distance (0–1) of a class from the table.", low=0, high=1)]
    weight: Annotated[
        float | None,
        Param("Weight of the artificial attribute; default: the weight that guarantees t.", low=0, high=1e100),
    ] = None
    first: Annotated[str, Param("The method that partitions the steered points.")] = "mdav"

    relative_cost: ClassVar[float] = 2.0  #: processor time in multiples of a partition by MDAV, measured

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first not in registry.keys("partition"):
            raise ParameterError(unknown("Steered", "method (first)", self.first, registry.keys("partition")))
        method = registry.load("partition", self.first)
        if method.promises_t or method.promises or not method.promises_k:
            raise ParameterError(
                "Steered: first must be a method that forms classes of at least k records and does not use "
                f"confidential attributes, got {self.first!r}. Use mdav."
            )

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Number the records by buckets, partition them with these numbers, and merge classes that miss t."""
        from shoal.kernels.arithmetic.class_statistics import sse
        from shoal.kernels.closeness.buckets import bucket_numbers, in_unit_ranges, least_size
        from shoal.kernels.closeness.earth_mover import closeness
        from shoal.kernels.closeness.merge import merge_until_close

        attribute = ranked(self, points)[0]
        codes = attribute.codes if attribute.ordered else spread_ranks(by_marginality(attribute).codes)
        x = in_unit_ranges(few_coordinates(self, points))
        close = closeness(points.confidential, self.t)
        least, found = least_size(len(points), self.k, self.t), []
        for size in [least] if attribute.ordered or self.weight is not None else growing_sizes(least, len(points)):
            buckets = bucket_numbers(x, codes, size)
            bound = buckets.steps * math.sqrt(x.shape[1])
            weight = _MARGIN * bound if self.weight is None else float(self.weight)
            labels = self._labels(x, weight, buckets, rng)
            if self.weight is not None and weight <= bound and buckets.steps > 0:
                return self._unpromised(points, labels, close, f"weight {weight:g} of {bound:.4g}")
            found.append(merge_until_close(x, labels, close))
            if found[-1].max() == labels.max():  # none fell short, and more buckets make larger classes
                break
        return Partition.of(min(found, key=lambda labels: sse(x, labels)), tuple(dict.fromkeys(points.owners)))

    def _unpromised(self, points: Points, labels: NDArray[np.int64], close: Any, weight: str) -> Partition:
        """Return classes that a low weight left as they are, with the t that they achieve."""
        from shoal.kernels.closeness.earth_mover import distances
        from shoal.kernels.refine.class_state import numbered

        far, within = distances(close, labels)
        holds = "holds, but is not promised" if within.all() else "is not promised"
        note = f"steered with {weight}: the largest EMD is {far.max():.3g}, t = {self.t:g} {holds}"
        return Partition((Block(tuple(dict.fromkeys(points.owners)), numbered(labels), promised_t=False),), note)

    def _labels(self, x: NDArray[np.float64], weight: float, buckets: Any, rng: np.random.Generator) -> Any:
        """Return the classes that the method forms of the regular records; each spare record joins its partner's."""
        rows = np.flatnonzero(buckets.partner < 0)
        steered = np.column_stack((x, weight * buckets.unit))[rows]  # [DS17] Alg. 1, step 7
        method = build(registry.load("partition", self.first), {"k": buckets.buckets})
        inside = method.partition(Points(np.ascontiguousarray(steered)), rng)  # step 8
        if len(inside.blocks) > 1:
            raise ParameterError(
                f"Steered: first must be a method that forms one block of attributes, got {self.first!r}. Use mdav."
            )
        labels = np.empty(len(x), np.int64)
        labels[rows] = inside.labels
        spare = np.flatnonzero(buckets.partner >= 0)
        labels[spare] = labels[buckets.partner[spare]]
        return labels
