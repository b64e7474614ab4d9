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
from shoal.flow.engines.blockwise.encoding import Encoded, skeleton_rows
from shoal.flow.engines.blockwise.facts import STRATUM, SUBJECT, WEIGHT
from shoal.flow.engines.blockwise.method import Whole
from shoal.flow.engines.blockwise.unite import BlockAtoms, atoms_of_block
from shoal.flow.engines.spark.frames import BLOCK, FACTS, changed, grouped, quoted
from shoal.flow.engines.spark.input import StoredRecords
from shoal.flow.engines.spark.release import ReleaseBlock
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
    together: bool
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
        The input; it must have the same rows whenever it is read.
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
    together, atoms
        Whether equal records share a class, and the classes before any of them are united.
    rows
        The records with their classes after a round; after the last, the released rows.
    """

    frame: DataFrame
    records: int
    stored: StoredRecords
    release: ReleaseBlock
    scratch: Scratch
    demanding: bool = False
    whole: Whole | None = None
    reports: list[BlockReport] = field(default_factory=list)
    together: bool = True
    atoms: Atoms = field(default_factory=Atoms)
    rows: DataFrame | None = None
    _blocked: DataFrame | None = None
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
        self._count = count
        if self.rows is None:
            self._blocked = self._first(lambda table, points: assign(points(table), np.zeros(0, np.int32)))
            return
        first = self.first

        def move(table: pa.Table) -> pa.Table:
            labels = first[table.column(BLOCK).to_numpy()] + table.column(CLASS).to_numpy()
            block = assign(np.empty(0), labels.astype(np.int32))
            at = table.column_names
            table = table.set_column(at.index(BLOCK), BLOCK, pa.array(block.astype(np.int32)))
            return table.set_column(at.index(CLASS), CLASS, pa.array(labels))

        self._blocked = changed(self.rows, move, self._schema())

    def group_strata(self) -> None:
        """Let every stratum be a block."""
        self._count = len(self.stored.facts.stratum_of)
        self._blocked = self._first(lambda table, points: table.column(STRATUM).to_numpy())

    def _first(self, number: Callable[[pa.Table, Callable[[pa.Table], Points]], NDArray[np.int32]]) -> DataFrame:
        stored, points, schema = self.stored, self.encoded.points, self._schema()

        def assign(data: pa.Table) -> pa.Table:
            table = stored.of(data)
            if table is None:
                return schema.empty_table()
            table = table.append_column(BLOCK, pa.array(np.asarray(number(table, points), np.int32)))
            return table.append_column(CLASS, pa.array(np.zeros(table.num_rows, np.int64)))

        return changed(self.frame, assign, schema)

    @property
    def first(self) -> NDArray[np.int64]:
        """The number of the first class of each block."""
        sizes = np.zeros(max(one.number for one in self.reports) + 1, np.int64)
        for one in self.reports:
            sizes[one.number] = len(one.means)
        return np.cumsum(sizes) - sizes

    def run(self, work: Work, done: Callable[[int], None], *, last: bool) -> list[NDArray[np.float64]]:
        """Run every block on some worker; in the last round, also release its classes or describe its atoms."""
        block, whole = BlockFunction(self.encoded.points, work), self.whole
        release = self.release if last and not self.demanding else None
        demanding = last and self.demanding
        confidential = self.stored.input.schema.names(Role.CONFIDENTIAL)
        points = self.encoded.points

        def form(number: int, table: pa.Table) -> pa.Table:
            formed, facts = block(number, table.drop_columns([BLOCK]))
            labels = formed.column(CLASS).to_numpy().astype(np.int64)
            note = "" if whole is None else whole.notes[-1]
            report = BlockReport(number, facts.means, facts.together, atoms_in(labels, people_in(formed)), note)
            if demanding:
                laid, order = atoms_of_block(points(formed), labels, np.arange(len(labels)))
                report = report._replace(laid=(laid, formed.select(confidential).take(pa.array(order))))
            formed = formed.append_column(BLOCK, pa.array(np.full(len(labels), number, np.int32)))
            if release is not None:
                formed, found = release(number, formed)
                report = report._replace(released=_brief(found))
            return with_report(formed, report)

        schema = self._schema(released=release is not None)
        self._run(form, pa.schema([*schema, pa.field(FACTS, pa.binary())]))
        if not self.reports:
            raise EngineError("Spark engine: no block reported its classes. Run it again.")
        self.together &= all(one.together for one in self.reports)
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
            formed, found = release(number, table.drop_columns([BLOCK]))
            empty = np.empty((len(found.sizes), 0))
            return with_report(formed, BlockReport(number, empty, True, Atoms(), released=_brief(found)))

        self._run(finish, pa.schema([*self._schema(released=True), pa.field(FACTS, pa.binary())]))

    def _run(self, work: Callable[[int, pa.Table], pa.Table], schema: pa.Schema) -> None:
        """Run a function on every block, write what comes out, and read the reports."""
        assert self._blocked is not None  # they are grouped
        before, self.rows = self.rows, self.scratch.written(grouped(self._blocked, BLOCK, self._count, work, schema))
        if before is not None:
            self.scratch.remove(before)
        found = self.rows.select(quoted(FACTS)).where(f"{quoted(FACTS)} is not null").toArrow().column(0).to_pylist()
        self.reports = sorted((pickle.loads(one) for one in found), key=lambda one: one.number)

    def _schema(self, *, released: bool = False) -> pa.Schema:
        """Return the columns of stored records with block and class, or of released ones."""
        table = self._example()
        if not released:
            return pa.schema([*table.schema, pa.field(BLOCK, pa.int32()), pa.field(CLASS, pa.int64())])
        labels = pa.array(np.zeros(table.num_rows, np.int64))
        return self.release(0, table.append_column(CLASS, labels))[0].schema

    def _example(self) -> pa.Table:
        """Return a few stored records that need not occur."""
        quasi, facts = skeleton_rows(self.encoded), self.stored.facts
        n, arrow = quasi.num_rows, self.stored.input.arrow
        found = {name: pa.nulls(n, arrow.field(name).type) for name in self.stored.kept}
        found |= {name: quasi.column(name) for name in quasi.column_names}
        if facts.recipe.weight is not None:
            found[WEIGHT] = pa.array(np.ones(n))
            found[facts.recipe.weight] = pa.array(np.ones(n)).cast(arrow.field(facts.recipe.weight).type)
        if facts.stratum_of:
            found[STRATUM] = pa.array(np.zeros(n, np.int32))
        if facts.recipe.subject is not None:
            found[SUBJECT] = pa.array([b""] * n, pa.binary())
        return pa.table(found)


def with_report(rows: pa.Table, report: BlockReport) -> pa.Table:
    """Return the rows of a block with its report in the first of them."""
    said = pa.array([pickle.dumps(report), *[None] * (rows.num_rows - 1)], pa.binary())
    return rows.append_column(FACTS, said)


def _brief(found: Released) -> tuple[int, NDArray[np.float64]]:
    return len(found.sizes), found.lost
