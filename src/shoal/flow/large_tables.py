"""An original and its release, read in batches: which rows correspond, and a sample of whole classes.

The rows of each table are read separately. Two sums of digests tell whether both have the same order: one that depends
on the positions of rows, and one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.errors import DataError, rows_kept
from shoal.flow.stages.batch_tables import BatchReader, schema_of_batches
from shoal.flow.stages.batches import Batches, can_be_batched, files_of
from shoal.flow.stages.parts import fits
from shoal.flow.stages.row_digests import row_digests
from shoal.flow.stages.values import lacking_a_value
from shoal.locations import Place
from shoal.recipe.recipe import Recipe
from shoal.types import Role, with_columns, without_unused
from shoal.types.sample import SampleSize

SAMPLE = 100_000  #: records, about, of the classes that are sampled
_BITS = 16  # of a digest, by which classes are chosen
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_ALL = (1 << 64) - 1
ROWS = 1 << 17  #: read at a time
_LEAST = 1 << 26  # bytes that a sample may always take


def too_large(places: Sequence[Place], memory: int) -> bool:
    """Tell whether tables do not fit into a ceiling of memory together, and can all be read in batches."""
    paths: list[Path] = []
    for place in places:
        if not isinstance(place.at, Path) or not place.at.exists():
            return False
        files = files_of(place.at)
        if not can_be_batched(Place(files[0])):
            return False
        paths += files
    return not fits(paths, memory)


def complete_in(batches: Batches, recipe: Recipe) -> NDArray[np.int64] | None:
    """Return the rows of released records, if a recipe excludes some; None: all are released."""
    if recipe.when_missing != "exclude":
        return None
    schema = schema_of_batches(batches, recipe)
    reader, kept, start = BatchReader(batches, schema, textual=True), list[NDArray[np.bool_]](), 0
    for table in reader.read(schema.names(Role.QUASI), ROWS):
        with rows_kept(np.arange(start, start + len(table))):
            kept.append(~lacking_a_value(table))
        start += len(table)
    whole = np.concatenate(kept)
    return None if whole.all() else np.flatnonzero(whole)


class ColumnOrder(NamedTuple):
    """Evidence about the order of rows from a column that should be unchanged."""

    equal: bool  #: both tables have the same values in the same order
    permuted: bool  #: both have the same values
    varied: bool  #: not all values are equal


class MatchedSample(NamedTuple):
    """Records of whole classes, original and released, row by row, in the order of the release."""

    original: pa.Table
    released: pa.Table
    size: SampleSize
    order: Mapping[str, ColumnOrder]  #: of columns that should be unchanged


@dataclass(frozen=True, eq=False)
class LargePair:
    """An original and its release.

    Attributes
    ----------
    original, released
        Both tables.
    rows
        For each released row its row in the original; None: the same.
    originals, records
        Number of rows of both tables.
    """

    original: Batches
    released: Batches
    rows: NDArray[np.int64] | None = field(repr=False)
    originals: int
    records: int

    @cached_property
    def places(self) -> NDArray[np.int64] | None:
        """For each original row its row in the release; −1: it was not released. None: the same."""
        if self.rows is None:
            return None
        found = np.full(self.originals, -1, np.int64)
        found[self.rows] = np.arange(self.records)
        return found

    def originals_in_batches(self) -> Iterator[pa.Table]:
        """Yield the original records that were released, in the order of the original."""
        start = 0
        for table in self.original.read(rows=ROWS):
            yield table if self.places is None else table.filter(pa.array(self._at(start, table.num_rows) >= 0))
            start += table.num_rows

    def _at(self, start: int, count: int) -> NDArray[np.int64]:
        return np.arange(start, start + count) if self.places is None else self.places[start : start + count]

    def sample(self, by: Sequence[str], unchanged: Sequence[str], most: int) -> MatchedSample:
        """Return about `SAMPLE` records of classes that are chosen by a hash of their released values.

        Parameters
        ----------
        by
            Columns of the release that define its classes.
        unchanged
            Columns that should be the same in both tables.
        most
            Bytes that both samples may take.

        Raises
        ------
        DataError
            If the classes are too large for the memory.
        """
        last = self._last(by)
        sums = {name: (_Sums(), _Sums()) for name in unchanged}
        released, positions, start = list[pa.Table](), list[NDArray[np.int64]](), 0
        for table in self.released.read(rows=ROWS):
            progress.report(start, 2 * self.records)
            inside = np.flatnonzero(_buckets(table, by) <= last)
            released.append(table.take(pa.array(inside)))
            positions.append(inside + start)
            _refuse_large_classes(released, most)
            for name, (_, own) in sums.items():
                own.add(table.column(name), np.arange(start, start + table.num_rows))
            start += table.num_rows
        chosen = np.concatenate(positions)
        original = self._originals(chosen if self.rows is None else self.rows[chosen], sums)
        order = {name: _order(*both) for name, both in sums.items() if both[0].known and both[1].known}
        size = SampleSize(len(chosen), self.records)
        return MatchedSample(original, _joined(released), size, order)

    def _last(self, by: Sequence[str]) -> int:
        """Return the last bucket of digests that is in the sample."""
        counts = np.zeros(1 << _BITS, np.int64)
        for table in self.released.read(by, ROWS):
            counts += np.bincount(_buckets(table, by), minlength=len(counts))
        return int(np.searchsorted(np.cumsum(counts), min(SAMPLE, self.records)))

    def _originals(self, wanted: NDArray[np.int64], sums: Mapping[str, tuple[_Sums, _Sums]]) -> pa.Table:
        """Return some rows of the original, in any order, and add up what all released ones tell."""
        order = np.argsort(wanted, kind="stable")
        ascending, taken, start = wanted[order], list[pa.Table](), 0
        for table in self.original.read(rows=ROWS):
            progress.report(self.records + start, self.records + self.originals)
            at = self._at(start, table.num_rows)
            ends = np.searchsorted(ascending, [start, start + table.num_rows])
            taken.append(table.take(pa.array(ascending[ends[0] : ends[1]] - start)))
            for name, (own, _) in sums.items():
                own.add(table.column(name).filter(pa.array(at >= 0)), at[at >= 0])
            start += table.num_rows
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return _joined(taken).take(pa.array(back))


def _refuse_large_classes(taken: Sequence[pa.Table], most: int) -> None:
    rows, size = (sum(sizes) for sizes in zip(*((one.num_rows, 2 * one.nbytes) for one in taken), strict=True))
    if rows > 2 * SAMPLE and size > max(most, _LEAST):
        raise DataError(
            "Sample: the classes of the release must fit into memory one by one, and some are too large. Raise "
            "--memory, or name more columns."
        )


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return batches as one table, without categories that no record has."""
    whole = pa.concat_tables(tables).combine_chunks()
    return with_columns(whole, {name: without_unused(whole.column(name)) for name in whole.column_names})


def _buckets(table: pa.Table, by: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each row that depends on its class only."""
    return np.asarray(_mixed(row_digests(table, by)) >> np.uint64(64 - _BITS), np.int64)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    found = (words ^ (words >> np.uint64(31))) * _MIX[0]
    return np.asarray((found ^ (found >> np.uint64(29))) * _MIX[1], np.uint64)


class _Sums:
    """Sums of the digests of a column's cells, with and without their positions."""

    def __init__(self) -> None:
        self.known = True  #: whether cells can be compared
        self.values = self.ordered = 0
        self.first: Any = None
        self.varied = False

    def add(self, column: pa.ChunkedArray, positions: NDArray[np.int64]) -> None:
        """Add the cells of a batch; a number in one table may be text in the other."""
        if not self.known or not len(column):
            return
        try:
            cells = column.cast(pa.large_string())
        except pa.ArrowException:  # lists and other types without a text form
            self.known = False
            return
        found = _mixed(row_digests(pa.table({"": cells}), [""]))
        self.first = found[0] if self.first is None else self.first
        self.varied |= bool((found != self.first).any())
        self.values = (self.values + int(found.sum())) & _ALL
        self.ordered = (self.ordered + int(_mixed(found ^ _mixed(positions.astype(np.uint64))).sum())) & _ALL


def _order(before: _Sums, after: _Sums) -> ColumnOrder:
    return ColumnOrder(before.ordered == after.ordered, before.values == after.values, before.varied)
