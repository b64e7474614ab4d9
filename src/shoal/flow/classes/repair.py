"""Partition → Partition whose classes all hold what is required of them, after any method that forms classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.flow.plan.components import one_block, promises_t, refuse_without_k
from shoal.types import Block, Partition, Points


@dataclass(frozen=True)
class Enforced:
    """A method followed by a repair: it partitions as the method does, then mends classes that lack something.

    **Guarantee.** Every class keeps at least k records, of k different subjects where the points know them, and holds
    everything that is required of the points' confidential attributes, t-closeness among it where t is given, and of
    the share that one person may have, unless all records that were given are one class.
    """

    method: Any
    t: float | None = None

    @property
    def k(self) -> int:
        """Smallest number of records in a class."""
        return int(self.method.k)

    def settled(self, points: Points) -> Enforced:
        """Let the method find in all points what must not differ from stratum to stratum."""
        return replace(self, method=self.method.settled(points)) if hasattr(self.method, "settled") else self

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes by the method, then repair those that lack something."""
        first: Partition = self.method.partition(points, rng)
        if self.t is not None or any(one.attribute for one in points.required):
            one_block(type(self.method), len(first.blocks))
        return replace(first, blocks=tuple(self._mended(block, points, len(first.blocks)) for block in first.blocks))

    def _mended(self, block: Block, points: Points, blocks: int) -> Block:
        from shoal.kernels.closeness.merge import merge_until_close
        from shoal.kernels.models.demands import demands_of
        from shoal.kernels.repair.repair import satisfy

        inside = points if blocks == 1 else points.only(block.attributes)
        demands = demands_of(inside, self.k, self.t)
        if demands is None:
            return block
        if not points.required and points.subjects is None:  # [SC15] Algorithm 1
            return replace(block, labels=merge_until_close(inside.coordinates, block.labels, demands.c))
        labels = satisfy(inside.coordinates, block.labels, self.k, demands)
        return replace(block, labels=labels, promised_t=True)


def enforced(method: Any, t: float | None, *, more: bool) -> Any:
    """Return the method, followed by a repair if more is required than it sees to itself.

    `more` says whether the points will require something besides t.
    """
    if not more and (t is None or promises_t(type(method))):
        return method
    refuse_without_k(type(method), ("t", "require", "subject"))
    return Enforced(method, t)
