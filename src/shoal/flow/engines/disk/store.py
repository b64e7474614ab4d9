"""Store on disk: the records of a table in blocks, for the kernels that partition block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.engines.blockwise.block import CLASS, Atoms, BlockFacts, BlockFunction, atoms_in, people_in
from shoal.flow.engines.blockwise.copies import Copies
from shoal.flow.engines.blockwise.facts import ROW
from shoal.flow.engines.disk.runs import Runs
from shoal.kernels.refine.blockwise import Points, Work
from shoal.kernels.runtime.jit import thread_pool

T = TypeVar("T")
_LEAST, _MOST = 1 << 19, 1 << 22  # rows that are sorted by block at a time …
_EACH = 4_000  # … this number for each block, if possible: short pieces cost more to write and to read


class DiskStore:
    """The records of a table, or of a stratum, in a scratch folder.

    Parameters
    ----------
    source
        Yields the stored columns, batch by batch, with the numbers of their rows.
    records
        How many there are.
    points
        Encodes a part of them.
    folder
        Where the blocks are written.
    labels
        The class of every row of the table; those of these records are set here.
    """

    def __init__(
        self,
        source: Callable[[], Iterable[pa.Table]],
        records: int,
        points: Callable[[pa.Table], Points],
        folder: Path,
        labels: NDArray[np.int32],
    ) -> None:
        self._source, self._records, self._points, self._folder = source, records, points, folder
        self.labels = labels
        self.copies = Copies()
        self.runs: Runs | None = None
        self.first: list[int] = []  #: the number of the first class of each block
        self._names = count()

    def __len__(self) -> int:
        return self._records

    def map(self, work: Callable[[Points], T]) -> Iterator[T]:
        """Yield what `work` returns for each part of the records."""
        for table in self._source():
            yield work(self._points(table))

    def group(self, assign: Callable[[Points, NDArray[np.int32]], NDArray[np.int32]], count: int) -> None:
        """Write the records to blocks."""
        before, runs = self.runs, None
        tables = self._source() if before is None else self._in_blocks(before)
        for table in gathered(tables, min(max(_EACH * count, _LEAST), _MOST)):
            if runs is None:
                runs = Runs(self._folder / f"blocks-{next(self._names)}", table.schema, count)
            rows = table.column(ROW).to_numpy()
            runs.append(table, assign(self._points(table) if before is None else np.empty(0), self.labels[rows]))
        assert runs is not None  # there are records
        runs.finish()
        if before is not None:
            before.remove()
        self.runs = runs

    @staticmethod
    def _in_blocks(runs: Runs) -> Iterator[pa.Table]:
        """Yield all records, block by block."""
        for number in range(runs.count):
            yield from (pa.Table.from_batches([batch]) for batch in runs.parts(number))

    def run(self, work: Work, done: Callable[[int], None], *, last: bool) -> list[NDArray[np.float64]]:
        """Run every block, as many at a time as there are threads."""
        assert self.runs is not None  # they are grouped
        runs, block = self.runs, BlockFunction(self._points, work, self.copies)

        def one(number: int) -> tuple[NDArray[np.int64], BlockFacts]:
            table = runs.read(number)
            before = self.labels[table.column(ROW).to_numpy()]
            formed, facts = block(number, table.append_column(CLASS, pa.array(before)))
            rows = formed.column(ROW).to_numpy()
            self.labels[rows] = formed.column(CLASS).to_numpy()
            return rows, facts

        found, held, classes = [], [], 0
        self.first = []
        with thread_pool() as pool:
            for number, (rows, facts) in enumerate(pool.map(one, range(runs.count))):
                self.labels[rows] += classes
                held.append(facts.holders)
                self.first.append(classes)
                classes += len(facts.means)
                found.append(facts.means)
                done(number + 1)
        self.copies = Copies.after(held)
        return found

    def regroup(self, sizes: NDArray[np.int64]) -> None:
        """Put whole classes, given their sizes, into blocks by their numbers, as many as there were."""
        assert self.runs is not None
        count = self.runs.count
        before = np.cumsum(sizes) - sizes
        block = np.minimum(before * count // int(sizes.sum()), count - 1).astype(np.int32)
        self.group(lambda _, labels: block[labels], count)
        self.first = np.searchsorted(block, np.arange(count)).tolist()

    def atoms(self) -> Atoms:
        """Return how many people the classes have, before any of them are united."""
        found = Atoms()
        for _, table, labels in self.blocks():
            found = found.with_more(atoms_in(labels, people_in(table)))
        return found

    def _rows(self) -> Iterator[NDArray[np.int64]]:
        assert self.runs is not None
        for number in range(self.runs.count):
            yield from (batch.column(ROW).to_numpy() for batch in self.runs.parts(number))

    def relabel(self, into: NDArray[np.int64]) -> None:
        """Give the records of each class the number of another."""
        for rows in self._rows():
            self.labels[rows] = into[self.labels[rows]]

    def blocks(self) -> Iterator[tuple[int, pa.Table, NDArray[np.int64]]]:
        """Yield of every block the number of its first class, its records, and their classes from 0."""
        assert self.runs is not None
        for number in np.flatnonzero(self.runs.records).tolist():
            table = self.runs.read(number)
            first = self.first[number]
            yield first, table, (self.labels[table.column(ROW).to_numpy()] - first).astype(np.int64)

    def close(self) -> None:
        """Delete the blocks."""
        if self.runs is not None:
            self.runs.remove()
            self.runs = None


def gathered(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Combine tables into larger ones of at least `rows` rows; only the last may have fewer."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count >= rows:
            yield pa.concat_tables(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.concat_tables(waiting)
