"""What methods share that put records in a row by a projection: blocks of attributes, and the cut of each."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.types import Block, Partition, Points


@dataclass(frozen=True)
class Projected(Checked):
    """[N14] Algorithm 1: split the attributes into blocks, project each, sort, and cut with the least SSE."""

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    group: Annotated[
        Literal["none", "correlated", "uncorrelated"],
        Param("Blocks: one of all attributes, of attributes that go together, or of attributes that do not."),
    ] = "none"
    block_size: Annotated[int, Param("Largest number of attributes in a block that the method forms.", low=1)] = 3
    settled_blocks: tuple[tuple[str, ...], ...] = ()  #: set by `settled` only

    @staticmethod
    @abstractmethod
    def project(points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one number for each record."""

    def blocks(self, points: Points) -> tuple[tuple[str, ...], ...]:
        """Return the blocks of attributes, by name."""
        if self.settled_blocks or self.group == "none":
            return self.settled_blocks or (tuple(points.places),)
        from shoal.kernels.order.projection import correlated_blocks, correlations, uncorrelated_blocks

        names, places = list(points.places), list(points.places.values())
        strength = correlations(points.coordinates, places)
        count = -(-len(names) // self.block_size)
        if self.group == "correlated":
            sizes = [len(part) for part in np.array_split(np.arange(len(names)), count)]
            found = correlated_blocks(strength, sizes)
        else:  # [N14] 4.1: the first attributes of all blocks are correlated, the second too, and so on
            found = uncorrelated_blocks(strength, count)
        return tuple(tuple(names[j] for j in block) for block in found)

    def settled(self, points: Points) -> Projected:
        """Return the method with the blocks that it finds in these points, for any part of them."""
        return replace(self, settled_blocks=self.blocks(points))

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of at least k records in each block; nothing is random."""
        from shoal.kernels.order.projection import projected_labels

        blocks = []
        for names in self.blocks(points):
            coordinates = points.only(names).coordinates
            blocks.append(Block(names, projected_labels(coordinates, self.project(coordinates), self.k)))
        return Partition(tuple(blocks))
