"""Partition → Partition whose classes are all close to the table, after any method that forms classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.types import Partition, Points


@dataclass(frozen=True)
class Closed:
    """A method followed by merging: it partitions as the method does, then merges classes until all are close.

    **Guarantee.** Every class keeps at least k records, and is within t of the table in every confidential attribute,
    unless all records that were given are one class.
    """

    method: Any
    t: float

    @property
    def k(self) -> int:
        """Smallest number of records in a class."""
        return int(self.method.k)

    def settled(self, points: Points) -> Closed:
        """Let the method find in all points what must not differ from stratum to stratum."""
        return replace(self, method=self.method.settled(points)) if hasattr(self.method, "settled") else self

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes by the method, then merge those that are too far from the table with their neighbours."""
        from shoal.kernels.earth_mover import closeness
        from shoal.kernels.merging import merge_until_close

        first: Partition = self.method.partition(points, rng)
        one_block(type(self.method), len(first.blocks))
        block = first.blocks[0]
        labels = merge_until_close(points.coordinates, block.labels, closeness(points.confidential, self.t))
        return replace(first, blocks=(replace(block, labels=labels),))


def promises_t(method: type) -> bool:
    """Tell whether a method promises t-closeness itself; one that does must say so."""
    return bool(getattr(method, "promises_t", False))


def one_block(method: type, blocks: int) -> None:
    """Refuse t where quasi-identifiers are partitioned in several blocks: classes over all of them may be anything."""
    if blocks > 1:
        raise ParameterError(
            f"{method.__name__}: t must be left out where quasi-identifiers are partitioned in blocks, got {blocks} of "
            f"them: nothing is promised over all blocks together. Leave out t, or take one block."
        )


def closed(method: Any, t: float | None) -> Any:
    """Return the method, followed by merging if t is given and the method does not see to it itself."""
    if t is None or promises_t(type(method)):
        return method
    if not getattr(type(method), "promises_k", True):
        raise ParameterError(
            f"{type(method).__name__}: t must be left out, for this method forms no classes of at least k records. "
            f"Take another method."
        )
    return Closed(method, t)
