"""Store on a cluster: the records of a DataFrame in blocks, for the kernels that partition block by block."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import EngineError
from shoal.flow.engines.blockwise.block import CLASS, Atoms, BlockFunction, atoms_in, people_in
from shoal.flow.engines.blockwise.class_values import Released
from shoal.flow.engines.blockwise.copies import Copies
from shoal.flow.engines.blockwise.encoding import Encoded
from shoal.flow.engines.blockwise.facts import STRATUM
from shoal.flow.engines.blockwise.method import Whole
from shoal.flow.engines.blockwise.unite import BlockAtoms, atoms_of_block
from shoal.flow.engines.spark.frames import BLOCK, FACTS, RECORDS, Rows, grouped, packed, quoted, unpacked
from shoal.flow.engines.spark.input import StoredRecords
from shoal.flow.engines.spark.release import ReleaseBlock
from shoal.flow.engines.spark.row_groups import packed_rows
from shoal.flow.engines.spark.scratch import Scratch
from shoal.kernels.refine.blockwise import Points, Work
from shoal.types import Role

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

T = TypeVar("T")
Assign = Callable[[Points, NDArray[np.int32]], NDArray[np.int32]]


class BlockReport(NamedTuple):
    """What a worker reports of a block."""

    number: int
    means: NDArray[np.float64]
    holders: NDArray[np.uint64]
    atoms: Atoms
    note: str = ""
    released: tuple[int, NDArray[np.float64]] | None = None  #: number of classes, and what they lose
    laid: tuple[BlockAtoms, pa.Table] | None = None  #: atoms, and the confidential values of their records


@dataclass
class SparkStore:
    """The records of a DataFrame, or of some of its strata.

    Attributes
    ----------
    frame
        The packed rows of the input.
    records
        Their number.
    stored
        Turns rows of the input into stored columns.
    release
        Releases a block.
    scratch
        Where rows are written between two rounds.
    demanding
        Whether classes are united before they are released.
    whole
        Forms the classes of a block that is a whole table or stratum, and notes how.
    reports
        Of the blocks, after each round.
    copies, atoms
        Whether equal records share a class, and the classes before any of them are united.
    rows
        The packed records with their classes after a round; after the last, the released rows.
    """

    frame: Rows
    records: int
    stored: StoredRecords
    release: ReleaseBlock
    scratch: Scratch
    demanding: bool = False
    whole: Whole | None = None
    reports: list[BlockReport] = field(default_factory=list)
    copies: Copies = field(default_factory=Copies)
    atoms: Atoms = field(default_factory=Atoms)
    rows: DataFrame | None = None
    _source: Rows | None = None
    _assign: Callable[[pa.Table], tuple[pa.Table, NDArray[np.int32]]] = field(init=False)
    _count: int = 1

    def __len__(self) -> int:
        return self.records

    @property
    def encoded(self) -> Encoded:
        """How records are encoded."""
        return self.release.encoded

    def map(self, work: Callable[[Points], T]) -> list[T]:
        """Return what `work` returns for each part of the records."""
        points = self.encoded.points
        return self.stored.over(self.frame, lambda table: work(points(table)))

    def group(self, assign: Assign, count: int) -> None:
        """Put the records into blocks, when they are run."""
        if self.rows is None:
            self._put(lambda table, points: assign(points(table), np.zeros(0, np.int32)), count)
            return
        first = self.first

        def move(table: pa.Table) -> tuple[pa.Table, NDArray[np.int32]]:
            records = unpacked(table.column(RECORDS))
            labels = first[records.column(BLOCK).to_numpy()] + records.column(CLASS).to_numpy()
            at = records.column_names.index(CLASS)
            records = records.set_column(at, CLASS, pa.array(labels)).drop_columns([BLOCK])
            return records, assign(np.empty(0), labels.astype(np.int32))

        self._source, self._assign, self._count = packed_rows(self.rows, self.scratch), move, count

    def group_strata(self) -> None:
        """Let every stratum be a block."""
        self._put(lambda table, points: table.column(STRATUM).to_numpy(), len(self.stored.facts.stratum_of))

    def _put(self, number: Callable[[pa.Table, Callable[[pa.Table], Points]], NDArray[np.int32]], count: int) -> None:
        """Put the records of the input into blocks."""
        stored, points = self.stored, self.encoded.points

        def assign(rows: pa.Table) -> tuple[pa.Table, NDArray[np.int32]]:
            table = stored.of(unpacked(rows.column(RECORDS)))
            if table is None:
                return pa.table({}), np.empty(0, np.int32)
            classes = pa.array(np.zeros(table.num_rows, np.int64))
            return table.append_column(CLASS, classes), np.asarray(number(table, points), np.int32)

        self._source, self._assign, self._count = self.frame, assign, count

    @property
    def first(self) -> NDArray[np.int64]:
        """The number of the first class of each block."""
        sizes = np.zeros(max(one.number for one in self.reports) + 1, np.int64)
        for one in self.reports:
            sizes[one.number] = len(one.means)
        return np.cumsum(sizes) - sizes

    def run(self, work: Work, done: Callable[[int], None], *, last: bool) -> list[NDArray[np.float64]]:
        """Run every block on some worker; in the last round, also release its classes or describe its atoms."""
        block, whole = BlockFunction(self.encoded.points, work, self.copies), self.whole
        release = self.release if last and not self.demanding else None
        demanding = last and self.demanding
        confidential = self.stored.input.schema.names(Role.CONFIDENTIAL)
        points = self.encoded.points

        def form(number: int, table: pa.Table) -> pa.Table:
            formed, facts = block(number, table)
            labels = formed.column(CLASS).to_numpy().astype(np.int64)
            note = "" if whole is None else whole.notes[-1]
            report = BlockReport(number, facts.means, facts.holders, atoms_in(labels, people_in(formed)), note)
            if demanding:
                laid, order = atoms_of_block(points(formed), labels, np.arange(len(labels)))
                report = report._replace(laid=(laid, formed.select(confidential).take(pa.array(order))))
            if release is None:
                formed = formed.append_column(BLOCK, pa.array(np.full(len(labels), number, np.int32)))
            else:
                formed, found = release(number, formed)
                report = report._replace(released=_brief(found))
            return _written(formed, report)

        self._run(form)
        if not self.reports:
            raise EngineError("Spark engine: no block reported its classes. Run it again.")
        self.copies = Copies.after([one.holders for one in self.reports])
        self.atoms = reduce(Atoms.with_more, (one.atoms for one in self.reports), Atoms())
        done(len(self.reports))
        return [one.means for one in self.reports]

    def release_united(self, into: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Release classes that were united: `into` is the class of each atom, and `sizes` are the records of each."""
        count = len(self.reports)
        before = np.cumsum(sizes) - sizes
        home = np.minimum(before * count // int(sizes.sum()), count - 1).astype(np.int32)
        start = np.searchsorted(home, np.arange(count))
        self.group(lambda _, labels: home[into[labels]], count)
        release = self.release

        def finish(number: int, table: pa.Table) -> pa.Table:
            labels = into[table.column(CLASS).to_numpy()] - start[number]
            table = table.set_column(table.column_names.index(CLASS), CLASS, pa.array(labels))
            formed, found = release(number, table)
            empty = np.empty((len(found.sizes), 0))
            return _written(formed, BlockReport(number, empty, Copies().parted, Atoms(), released=_brief(found)))

        self._run(finish)

    def _run(self, work: Callable[[int, pa.Table], pa.Table]) -> None:
        """Run a function on every block, write the results, and read the reports."""
        assert self._source is not None  # they are grouped
        before = self.rows
        self.rows = self.scratch.written(grouped(self._source, self._assign, self._count, work, _WRITTEN), _BLOCKS)
        if before is not None:
            self.scratch.remove(before)
        found = self.rows.select(quoted(FACTS)).toArrow().column(0).to_pylist()
        self.reports = sorted((pickle.loads(one) for one in found), key=lambda one: one.number)


_BLOCKS = 8  # in a file, which is read as a whole
_WRITTEN = pa.schema([pa.field(RECORDS, pa.binary()), pa.field(FACTS, pa.binary())])


def _written(records: pa.Table, report: BlockReport) -> pa.Table:
    """Return the packed records of a block and its report, as they are written."""
    return pa.table({RECORDS: [packed(records)], FACTS: [pickle.dumps(report)]}, schema=_WRITTEN)


def _brief(found: Released) -> tuple[int, NDArray[np.float64]]:
    return len(found.sizes), found.lost
