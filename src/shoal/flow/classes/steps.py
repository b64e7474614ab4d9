"""What follows a method: a repair of the classes that lack something, then a refinement that lowers their loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.flow.plan.components import promises_t
from shoal.types import Block, Partition, Points


@dataclass(frozen=True)
class Steps:
    """A method, followed by a repair and a refinement of each block of its classes, as far as they are asked for.

    **Guarantee.** Every class keeps at least k records. After a repair it has k different subjects where the points
    know them, and holds everything that is required of the points' confidential attributes, t-closeness among it where
    t is given, and of the share that one person may have, unless all records that were given are one class. A
    refinement keeps all of this where it held before, and does not raise the SSE.
    """

    method: Any
    t: float | None = None
    repair: bool | None = False  #: None: if the points require something
    effort: str | None = None  #: of the refinement; None: there is none
    size: Callable[[int], int] | None = None  #: of classes, by the number of points; None: the method's own k

    def settled(self, points: Points) -> Steps:
        """Let the method find in all points what must not differ from stratum to stratum."""
        return replace(self, method=self.method.settled(points)) if hasattr(self.method, "settled") else self

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes by the method, then repair and refine each block in its own coordinates."""
        method = self.method if self.size is None else replace(self.method, k=self.size(len(points)))
        first: Partition = method.partition(points, rng)
        blocks, inside = first.blocks, [points]
        if len(blocks) > 1:
            inside = [points.only(block.attributes) for block in blocks]
        if bool(points.required) if self.repair is None else self.repair:
            if self.t is not None or any(one.attribute for one in points.required):
                one_block(type(method), len(blocks))
            blocks = tuple(self._repaired(*each, method.k) for each in zip(blocks, inside, strict=True))
        if self.effort is not None:
            blocks = tuple(self._refined(*each, method.k, rng) for each in zip(blocks, inside, strict=True))
        return replace(first, blocks=blocks)

    def _repaired(self, block: Block, points: Points, k: int) -> Block:
        from shoal.kernels.closeness.merge import merge_until_close
        from shoal.kernels.models.demands import demands_of
        from shoal.kernels.repair.repair import satisfy

        demands = demands_of(points, k, self.t)
        if demands is None:
            return block
        if not points.required and points.subjects is None:  # [SC15] Algorithm 1
            return replace(block, labels=merge_until_close(points.coordinates, block.labels, demands.c))
        return replace(block, labels=satisfy(points.coordinates, block.labels, k, demands), promised_t=True)

    def _refined(self, block: Block, points: Points, k: int, rng: np.random.Generator) -> Block:
        from shoal.kernels.models.demands import demands_of
        from shoal.kernels.refine.refine import CLOSE_EFFORTS, EFFORTS, refine
        from shoal.kernels.repair.refine import refine_close

        demands, seed, x = demands_of(points, k, self.t), int(rng.integers(1 << 60)), points.coordinates
        if demands is None:
            return replace(block, labels=refine(x, block.labels, k, EFFORTS[str(self.effort)], seed))
        return replace(block, labels=refine_close(x, block.labels, k, demands, CLOSE_EFFORTS[str(self.effort)], seed))


def one_block(method: type, blocks: int) -> None:
    """Refuse requirements where quasi-identifiers are partitioned in blocks: classes over all may be anything."""
    if blocks > 1:
        raise ParameterError(
            f"{method.__name__}: t and require must be left out where quasi-identifiers are partitioned in blocks, got "
            f"{blocks} of them: nothing is promised over all blocks together. Leave them out, or take one block."
        )


def followed(method: Any, t: float | None, effort: str | None, *, more: bool) -> Any:
    """Return the method, followed by a repair if more is required than it promises, and by a refinement if wanted.

    `more` says whether the points will require something besides t.
    """
    repair = more or (t is not None and not promises_t(type(method)))
    for asked, fields in ((repair, "t, require and subject"), (effort is not None, "refine")):
        if asked and not getattr(type(method), "promises_k", True):
            raise ParameterError(
                f"{type(method).__name__}: {fields} must be left out, for this method forms no classes of at least k "
                f"records. Take another method."
            )
    return Steps(method, t, repair, effort) if repair or effort is not None else method
