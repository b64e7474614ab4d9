"""Partition of a table block by block, wherever its records are: in memory, on disk, or on a cluster.

The first blocks are cut from a sample of vectors (:mod:`shoal.kernels.refine.cuts`). Each is partitioned on its own. No
class crosses the seam between two of them, and that costs. So whole classes are then assigned to other blocks, cut
along other directions, in which the old seams are interior, and their loss is lowered there.

Blocks depend on the values of records, on n and on the number of blocks. A block's records are handed over in order of
value. So the classes are the same in every store, and for any order of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.refine.class_state import arranged
from shoal.kernels.refine.cuts import (
    Cuts,
    Sample,
    block_of,
    chosen,
    cut_tree,
    merged_sample,
    sampled_share,
    without_small,
)
from shoal.kernels.refine.reblock import cut_blocks, rotated_means
from shoal.kernels.runtime.jit import thread_pool
from shoal.progress import report
from shoal.types.coded import Coded

_PART = 1 << 20  # records that a store in memory hands over at a time

Points = np.ndarray | Coded
People = np.ndarray | None  #: the person of each record, by number; None: every record is one
Work = Callable[[int, Points, People, np.ndarray], tuple[np.ndarray, np.ndarray]]
#: number of a block, its records in order of value, their people, their classes so far → classes from 0, and means
T = TypeVar("T")


class Store(Protocol):
    """The records of a table, in blocks."""

    def __len__(self) -> int:
        """Return the number of records."""

    def map(self, work: Callable[[Points], T]) -> Iterable[T]:
        """Yield what `work` returns for each part of the records."""

    def group(self, assign: Callable[[Points, np.ndarray], np.ndarray], count: int) -> None:
        """Put the records into blocks: `assign` takes some of them and their classes, and returns their blocks."""

    def run(self, work: Work, done: Callable[[int], None], *, last: bool) -> list[np.ndarray]:
        """Call `work` for every block, keep the classes, numbered block after block, and return the means of each.

        `last` tells that no other round follows.
        """


class Memory:
    """A store in memory."""

    def __init__(self, x: Points, people: People = None) -> None:
        self.x, self.people = in_range(x), people
        self.labels = np.zeros(len(x), np.int32)
        self._order = np.empty(0, np.int32)
        self._bounds = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return len(self.labels)

    def map(self, work: Callable[[Points], T]) -> Iterator[T]:
        """Yield what `work` returns for each part of the records."""
        for begin in range(0, len(self), _PART):
            yield work(self.x[begin : begin + _PART])

    def group(self, assign: Callable[[Points, np.ndarray], np.ndarray], count: int) -> None:
        """Sort the rows by block."""
        block = np.empty(len(self), np.uint16 if count <= 1 << 16 else np.int32)  # few bits sort faster
        for begin in range(0, len(self), _PART):
            some = slice(begin, begin + _PART)
            block[some] = assign(self.x[some], self.labels[some])
        self._order = np.argsort(block, kind="stable").astype(np.int32)
        self._bounds = np.concatenate(([0], np.cumsum(np.bincount(block, minlength=count))))

    def run(self, work: Work, done: Callable[[int], None], *, last: bool) -> list[np.ndarray]:
        """Run every block, as many at a time as there are threads."""
        blocks = [self._order[begin:end] for begin, end in itertools.pairwise(self._bounds)]

        def one(number: int) -> tuple[np.ndarray, np.ndarray]:
            rows = arranged(self.x, blocks[number])
            people = None if self.people is None else self.people[rows]
            labels, means = work(number, self.x[rows], people, self.labels[rows])
            self.labels[rows] = labels
            return rows, means

        found, classes = [], 0
        with thread_pool() as pool:
            for number, (rows, means) in enumerate(pool.map(one, range(len(blocks)))):
                self.labels[rows] += classes
                classes += len(means)
                found.append(means)
                done(number + 1)
        return found


class Blockwise(NamedTuple):
    """How a table is partitioned block by block."""

    blocks: int  #: intended number of blocks
    least: int  #: fewest records of a block
    form: Callable[[int, Points, People], np.ndarray]  #: number of a block, records, people → classes
    refine: Callable[[int, int, Points, People, np.ndarray], np.ndarray]  #: the turn first, classes last → better ones
    rounds: int  #: how often whole classes are put into other blocks and refined there


def partition_in_blocks(store: Store, how: Blockwise) -> int:
    """Partition the records of a store; return the number of classes.

    Guarantee: that of `form` and `refine`, whose classes are kept as they are. Complexity: that of both, and O(n·d) for
    each round.
    """
    cuts = cuts_for(store, how.blocks, how.least)
    total = cuts.blocks + sum(cuts.blocks + turn for turn in range(1, how.rounds + 1))
    turns = how.rounds if cuts.blocks > 1 else 0

    def first(number: int, x: Points, people: People, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels = how.form(number, x, people)
        return labels, _means(x, labels, 1, turns)

    store.group(lambda x, _: block_of(cuts, x), cuts.blocks)
    means = store.run(first, partial(_report, 0, total), last=turns == 0)
    before = cuts.blocks
    for turn in range(1, turns + 1):
        block, count = _of_classes(means, cuts.blocks + turn)
        store.group(lambda _, labels, block=block: block[labels], count)  # type: ignore[misc]

        def again(
            number: int, x: Points, people: People, labels: np.ndarray, turn: int = turn
        ) -> tuple[np.ndarray, np.ndarray]:
            labels = how.refine(turn, number, x, people, labels)
            return labels, _means(x, labels, turn + 1, turns)

        said = partial(_report, before, total)
        means = store.run(again, said, last=turn == turns)
        before += count
    return sum(map(len, means))


def _report(before: int, total: int, done: int) -> None:
    report(before + done, total)


def _means(x: Points, labels: np.ndarray, turn: int, turns: int) -> np.ndarray:
    """Return the means of classes along the directions of a turn; after the last turn, rows without columns."""
    return rotated_means(x, labels, turn) if turn <= turns else np.empty((int(labels.max()) + 1, 0))


def cuts_for(store: Store, count: int, least: int) -> Cuts:
    """Return the cuts of a table into about `count` blocks of at least `least` records, or all of them."""
    if count <= 1:
        return cut_tree(Sample(np.zeros((1, 1)), np.ones(1, np.int64)), 1)
    share = sampled_share(len(store), count)
    found = [one for one in store.map(partial(_sampled, share)) if one is not None]
    if not found:
        return cut_tree(Sample(np.zeros((1, 1)), np.ones(1, np.int64)), 1)
    cuts = cut_tree(merged_sample(found), count)
    records = np.zeros(cuts.blocks, np.int64)
    for held in store.map(partial(_records_of_blocks, cuts)):
        records += held
    return without_small(cuts, records, least)


def _sampled(share: float, x: Points) -> Sample | None:
    """Return the sample of a part of the records; None if it is empty."""
    rows = chosen(x, share)
    return merged_sample([Sample(x[rows], np.ones(len(rows), np.int64))]) if len(rows) else None


def _records_of_blocks(cuts: Cuts, x: Points) -> np.ndarray:
    """Return how many records of a part are in each block."""
    return np.bincount(block_of(cuts, x), minlength=cuts.blocks)


def _of_classes(means: list[np.ndarray], count: int) -> tuple[np.ndarray, int]:
    """Cut classes into blocks by their means: the block of each class, and the number of blocks."""
    centroids = np.concatenate(means)
    count = min(count, len(centroids))
    order, bounds = cut_blocks(centroids, count)
    block = np.empty(len(centroids), np.int32)
    block[order] = np.repeat(np.arange(count, dtype=np.int32), np.diff(bounds))
    return block, count
