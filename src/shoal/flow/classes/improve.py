"""Repair and refinement of a partition after any method: first meet every demand, then lower the loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from shoal.flow.plan.components import one_block, refuse_without_k
from shoal.types import Block, Partition, Points
from shoal.types.contracts.components import Partitioner


@dataclass(frozen=True)
class Improved(Partitioner):
    """A method followed by repair, refinement or both.

    **Guarantee.** Every class keeps at least k records. After a repair every class holds k different subjects where the
    points have subjects, meets every requirement on the points' confidential attributes (including t-closeness if t is
    given), and no person holds more than the allowed share, unless all records form one class. A refinement preserves
    all of that and never raises the SSE.
    """

    promises_k: ClassVar[bool] = True  #: `improved` refuses a method that does not

    method: Partitioner
    t: float | None = None
    repair: bool = False
    effort: str | None = None  #: of the refinement; None: no refinement

    @property
    def k(self) -> int:
        """Smallest number of records in a class."""
        return self.method.k

    def settled(self, points: Points) -> Self:
        """Let the method determine from all points what must be the same in every stratum."""
        return replace(self, method=self.method.settled(points))

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes by the method, then improve those of each block in its own coordinates."""
        first = self.method.partition(points, rng)
        if self.repair and (self.t is not None or any(one.attribute for one in points.required)):
            one_block(type(self.method), len(first.blocks))
        blocks = [
            self._improved(block, points if len(first.blocks) == 1 else points.only(block.attributes), rng)
            for block in first.blocks
        ]
        return replace(first, blocks=tuple(blocks))

    def _improved(self, block: Block, points: Points, rng: np.random.Generator) -> Block:
        from shoal.kernels.models.demands import demands_of
        from shoal.kernels.refine.refine import CLOSE_EFFORTS, EFFORTS, refine
        from shoal.kernels.repair.refine import refine_close

        demands = demands_of(points, self.k, self.t)
        if self.repair and demands is not None:
            block = self._repaired(block, points, demands)
        if self.effort is None:
            return block
        seed = int(rng.integers(1 << 60))
        if demands is None:
            labels = refine(points.coordinates, block.labels, self.k, EFFORTS[self.effort], seed)
        else:
            effort = CLOSE_EFFORTS[self.effort]
            labels = refine_close(points.coordinates, block.labels, self.k, demands, effort, seed)
        return replace(block, labels=labels)

    def _repaired(self, block: Block, points: Points, demands: Any) -> Block:
        from shoal.kernels.closeness.merge import merge_until_close
        from shoal.kernels.repair.repair import satisfy

        if not points.required and points.subjects is None:  # [SC15] Algorithm 1
            return replace(block, labels=merge_until_close(points.coordinates, block.labels, demands.c))
        return replace(block, labels=satisfy(points.coordinates, block.labels, self.k, demands), promised_t=True)


def improved(method: Partitioner, t: float | None, effort: str | None, *, more: bool) -> Partitioner:
    """Return the method, followed by a repair if it does not meet every demand itself, and by a refinement.

    `more` says whether the points will carry requirements in addition to t.
    """
    repair = more or (t is not None and not method.promises_t)
    if repair:
        refuse_without_k(type(method), ("t", "require", "subject"))
    if effort is not None:
        refuse_without_k(type(method), ("refine",))
    return Improved(method, t, repair, effort) if repair or effort is not None else method
