"""Blocks: a large table partitioned block by block on all cores, with classes refined across their borders."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.partition._atoms import keep_equal_together, with_people
from shoal.types import Coded, Partition, Points, changes
from shoal.types.protocols import Partitioner

if TYPE_CHECKING:
    from shoal.kernels.refine.blockwise import Blockwise

_ROUNDS = {"fast": 0, "default": 1, "best": 4}
_MOVES = {"fast": (0, 0), "default": (6, 6), "best": (60, 40)}  # per record and round: while cooling, and then
_SEARCH = {"fast": (10, 4), "default": (16, 10), "best": (24, 20)}  # neighbouring classes, and sweeps
_PIECE = 2_500  # records that MDAV partitions at once where it is to be fast: exchanges make up for the seams
_SMALLEST = 8  # a block holds at least this part of `size`: one eighth


@dataclass(frozen=True)
class Blocks(Checked, Partitioner):
    """Cut space into blocks, partition each by MDAV, and refine whole classes in rotated blocks.

    A sample of the records is cut in two across its widest side, each part again, and so on; the cuts divide all
    records into blocks. In each, MDAV forms classes, and records change places between neighbouring classes as long as
    that lowers the SSE. Then the centroids of all classes are cut into other blocks, along rotated directions, in which
    records are exchanged again and annealed. The blocks are the same in memory and on disk, and so are the classes.

    **Guarantee.** n ≥ k → every record in exactly one class of k … 2k−1 records. The SSE is at most that of MDAV in
    each block on its own. For distinct records, the classes depend on coordinates, not on rows. The number of cores
    does not change them. A table of fewer than two blocks is partitioned as by `mdav`.

    **Complexity.** O(n log n), and linear in n for blocks of a given size. About 40 bytes a record in addition to the
    points.

    **Departures.** [SMDM06] cut large tables into blocks by a 2^d-tree. Here cuts are at medians of a sample, across
    one side at a time, and classes are refined across seams. Blocks of attributes, as in [N14], are something else.

    References: [SMDM06], [DT05].

    >>> points = Points(np.random.default_rng(0).normal(size=(100, 2)))
    >>> Blocks(k=3, size=40).partition(points, np.random.default_rng(0)).sizes.min()
    np.int64(3)
    """

    promises_k: ClassVar[bool] = True
    searches: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    size: Annotated[int, Param("Average number of records in a block.", low=1)] = 100_000
    rounds: Annotated[
        int | None, Param("Rounds of refinement across the borders of blocks; default: by effort.", low=0, high=100)
    ] = None
    effort: Annotated[Literal["fast", "default", "best"], Param("Effort of refinement: 0, 1 or 4 rounds.")] = "default"
    whole: bool = field(default=False, repr=False)  #: whether equal records stay in one class; not a parameter

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of k to 2k−1 records."""
        from shoal.kernels.refine.blockwise import Memory, partition_in_blocks

        store = Memory(points.x, points.subjects)
        partition_in_blocks(store, self.blockwise(len(points), int(rng.integers(1 << 60))))
        return Partition.of(store.labels.astype(np.int64), tuple(dict.fromkeys(points.owners)))

    def blockwise(self, n: int, seed: int) -> Blockwise:
        """Return how n records are partitioned in blocks, by any engine."""
        from shoal.kernels.refine.blockwise import Blockwise

        size = max(self.size, self.k)
        rounds = _ROUNDS[self.effort] if self.rounds is None else self.rounds
        form, refine = partial(self._form, n < 2 * size), partial(self._refine, seed)
        return Blockwise(max(n // size, 1), max(size // _SMALLEST, self.k), form, refine, rounds)

    def _form(
        self, alone: bool, number: int, x: NDArray[np.float64] | Coded, people: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Form the classes of a block, the only one or one of several; its records are in order of value."""
        from shoal.kernels.mdav.mdav import mdav
        from shoal.kernels.refine.reblock import mdav_in_pieces

        if alone:
            return self._finished(x, people, mdav(x, self.k)[0])
        quick = self.effort == "fast" and not isinstance(x, Coded)
        labels = mdav_in_pieces(x, self.k, max(_PIECE, 25 * self.k)) if quick else mdav(x, self.k)[0]
        return self._finished(x, people, self._exchanged(x, labels))

    def _refine(
        self,
        seed: int,
        turn: int,
        number: int,
        x: NDArray[np.float64] | Coded,
        people: NDArray[np.int64] | None,
        labels: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Lower the loss of the classes of a block."""
        from shoal.kernels.refine.class_state import numbered
        from shoal.kernels.refine.reblock import swept
        from shoal.kernels.refine.refine import Effort, refine

        own = numbered(labels)
        if isinstance(x, Coded):
            return self._finished(x, people, swept(x, own, self.k))
        own = self._exchanged(x, own)
        cooling, cold = _MOVES[self.effort]
        if cooling:
            effort = Effort(1, 0, 0, 1, cooling, 0, quench=cold, blocks=True)
            own = refine(x, own, self.k, effort, int(np.random.default_rng((seed, turn, number)).integers(1 << 60)))
        return self._finished(x, people, own)

    def _exchanged(self, x: NDArray[np.float64] | Coded, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        from shoal.kernels.refine.exchange import Search, exchanged

        return labels if isinstance(x, Coded) else exchanged(x, labels, Search(*_SEARCH[self.effort]))

    def _finished(
        self, x: NDArray[np.float64] | Coded, people: NDArray[np.int64] | None, labels: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Give every class k people, if records have people, and keep equal records in one class, if they must be."""
        repeated = self.whole and not changes(x).all()  # the records are in order of value
        if people is None:
            return keep_equal_together(x, labels, self.k) if repeated else labels
        return with_people(Points(x, subjects=people), labels, self.k, whole=self.whole)
