"""Blocks: a large table partitioned block by block on all cores, with the seams repaired afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from shoal.parameters import Checked, Param
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner

_ROUNDS = {"fast": 1, "default": 2, "best": 8}


@dataclass(frozen=True)
class Blocks(Checked, Partitioner):
    """Cut space into blocks, partition each by MDAV, and repair the seams in rotated blocks of whole classes.

    Space is cut in two across the widest side of the points, each part again, and so on. Every block is partitioned on
    its own. Then the centroids of all classes are cut into other blocks, along rotated directions; in each of them,
    records are shifted and exchanged between neighbouring classes as long as that lowers the SSE.

    **Guarantee.** n ≥ k → every record in exactly one class of k … 2k−1 records. The SSE is at most that of MDAV in
    each block on its own. For distinct records, the classes depend on coordinates, not on rows. The number of cores
    does not change them. A table of fewer than two blocks is partitioned as by `mdav`.

    **Complexity.** O(n log n), and linear in n for blocks of a given size. About 40 bytes a record in addition to the
    points.

    **Departures.** [SMDM06] cut large tables into blocks by a 2^d-tree. Here cuts are at medians, across one side at a
    time, and seams are repaired. Blocks of attributes, as in [N14], are something else.

    References: [SMDM06], [DT05].

    >>> points = Points(np.random.default_rng(0).normal(size=(100, 2)))
    >>> Blocks(k=3, size=40).partition(points, np.random.default_rng(0)).sizes.min()
    np.int64(3)
    """

    promises_k: ClassVar[bool] = True
    searches: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    size: Annotated[int, Param("Smallest number of records in a block.", low=1)] = 100_000
    rounds: Annotated[
        int | None, Param("Rounds of repair across the borders of blocks; default: by effort.", low=0, high=100)
    ] = None
    effort: Annotated[Literal["fast", "default", "best"], Param("Effort of the repair: 1, 2 or 8 rounds.")] = "default"

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of k to 2k−1 records; nothing is random."""
        from shoal.kernels.refine.reblock import block_labels

        rounds = _ROUNDS[self.effort] if self.rounds is None else self.rounds
        labels = block_labels(points.x, self.k, self.size, rounds)
        return Partition.of(labels, tuple(dict.fromkeys(points.owners)))
