"""Partition → Partition with less loss, after any method that promises k; what it promises is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.types import Partition, Points


@dataclass(frozen=True)
class Refined:
    """A method followed by a refinement: it partitions as the method does, then lowers the loss.

    **Guarantee.** Every class of every block keeps at least k records; where all classes held what is required of the
    points' confidential attributes (with t: within t of the table), and k subjects, they go on doing so; the SSE does
    not rise.
    """

    method: Any
    effort: str
    t: float | None = None

    @property
    def k(self) -> int:
        """Smallest number of records in a class."""
        return int(self.method.k)

    def settled(self, points: Points) -> Refined:
        """Let the method find in all points what must not differ from stratum to stratum."""
        return replace(self, method=self.method.settled(points)) if hasattr(self.method, "settled") else self

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes by the method, then refine each block in its own coordinates."""
        from shoal.kernels.models.demands import demands_of
        from shoal.kernels.refine.refine import CLOSE_EFFORTS, EFFORTS, refine
        from shoal.kernels.repair.refine import refine_close

        first: Partition = self.method.partition(points, rng)
        blocks = []
        for block in first.blocks:
            inside = points if len(first.blocks) == 1 else points.only(block.attributes)
            demands, seed = demands_of(inside, self.k, self.t), int(rng.integers(1 << 60))
            x, labels = inside.coordinates, block.labels
            if demands is None:
                labels = refine(x, labels, self.k, EFFORTS[self.effort], seed)
            else:
                labels = refine_close(x, labels, self.k, demands, CLOSE_EFFORTS[self.effort], seed)
            blocks.append(replace(block, labels=labels))
        return replace(first, blocks=tuple(blocks))


def refined(method: Any, effort: str | None, t: float | None = None) -> Any:
    """Return the method, followed by a refinement if an effort is given, which keeps classes within t if that is."""
    if effort is None:
        return method
    if not getattr(type(method), "promises_k", True):
        raise ParameterError(
            f"{type(method).__name__}: refine must be left out, for this method forms no classes of at least k "
            f"records. Take another method."
        )
    return Refined(method, effort, t)
