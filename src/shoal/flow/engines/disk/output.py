"""Output of the disk engine: the input is read again, and each quasi-identifier gets the value of its class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import secret
from shoal.flow.engines.blockwise.columns import QuasiColumn
from shoal.flow.engines.blockwise.facts import ROW, SUBJECT, WEIGHT
from shoal.flow.engines.blockwise.released_columns import released_columns
from shoal.flow.engines.disk.classes import Formed
from shoal.flow.engines.disk.runs import Runs
from shoal.flow.engines.disk.survey import Survey
from shoal.recipe.recipe import Recipe
from shoal.types import Kind, Role, Schema, Table, with_columns, without_unused

_BUCKET, _LEAST = 1 << 19, 1 << 13  # most and fewest rows that are shuffled at a time: as many as in a batch
HIDDEN = "\0hidden."  #: prefix of columns that the audit needs and that are not released


_SAMPLE = 100_000  # records, about, of the whole classes on which measures other than the loss are taken


@dataclass(frozen=True, eq=False)
class Output:
    """Released rows, batch by batch, with hidden columns for the audit."""

    formed: Formed
    found: Survey
    recipe: Recipe
    tables: Callable[[], Iterator[Table]]
    example: Table | None = None  #: a recoded record, if columns are recoded
    sample: list[tuple[pa.Table, pa.Table, NDArray[np.int32]]] = field(default_factory=list, repr=False)
    #: records of some whole classes as they are released or recoded, their recoded columns before, and the classes
    names: dict[str, pa.ChunkedArray] = field(default_factory=dict, repr=False)
    #: the different cells of each confidential column of categories

    @property
    def every(self) -> int:
        """Interval between sampled classes. Records of a class are near each other by value only."""
        return max(1, -(-self.found.records // _SAMPLE))

    @property
    def schema(self) -> Schema:
        """Of the released columns."""
        return released_columns(self.found.schema, self.recipe)

    @property
    def in_sample(self) -> NDArray[np.bool_]:
        """Whether the class of each released record is in the sample; in the order of the input."""
        return np.asarray(self.formed.labels % self.every == 0)

    def originals(self) -> Iterator[pa.Table]:
        """Yield the records of the input that are released."""
        return (data for data, _ in self._before_and_after())

    def _before_and_after(self) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield the records of the input that are released, and their recoded columns before that."""
        names = list(self.recipe.recode)
        for number, table in enumerate(self.tables()):
            both = table.data, table.as_read.data.select(names)
            kept = pa.array(self.found.kept[number]) if self.found.kept else None
            yield both if kept is None else (both[0].filter(kept), both[1].filter(kept))

    def batches(self) -> Iterator[pa.Table]:
        """Yield released rows in the order of the input, with their row numbers and hidden columns."""
        row = 0
        people = self._people()
        for data, before in self._before_and_after():
            if data.num_rows == 0:
                continue
            labels = self.formed.labels[row : row + data.num_rows]
            inside = labels % self.every == 0
            mask = pa.array(inside)
            self.sample.append((data.filter(mask), before.filter(mask), labels[inside]))
            self._add_names(data)
            out = self._released(data, labels, row)
            if people is not None:
                out = out.append_column(HIDDEN + SUBJECT, next(people).column(SUBJECT))
            yield out
            row += data.num_rows

    def _add_names(self, data: pa.Table) -> None:
        """Keep the different cells of confidential categories, which evidence describes by their digests."""
        for column in self.schema.columns:
            if column.role is Role.CONFIDENTIAL and column.kind in (Kind.NOMINAL, Kind.ORDINAL):
                cells = data.column(column.name)
                known = self.names.get(column.name)
                both = cells if known is None else pa.chunked_array([*known.chunks, *cells.chunks], cells.type)
                self.names[column.name] = pa.chunked_array([both.unify_dictionaries().unique()])

    def _people(self) -> Iterator[pa.Table] | None:
        """Return the digests of people, in the same batches as the records; None without a subject."""
        return None if self.recipe.subject is None else self.found.parts()

    def _released(self, data: pa.Table, labels: NDArray[np.int32], row: int) -> pa.Table:
        fresh = self.values_of(labels)
        hidden = {ROW: pa.array(np.arange(row, row + data.num_rows))}
        weight = self.recipe.weight
        if weight is not None and self.recipe.release_weight != "record":
            hidden[WEIGHT] = data.column(weight)
        if weight is not None and self.recipe.release_weight == "class":
            fresh[weight] = self.formed.values.column(WEIGHT).take(pa.array(labels))
        out = with_columns(data.select([one.name for one in self.schema.columns]), fresh)
        for name, column in hidden.items():
            out = out.append_column(HIDDEN + name, column)
        return out

    def values_of(self, labels: NDArray[np.int32]) -> dict[str, pa.ChunkedArray]:
        """Return the released quasi-identifiers of records of these classes."""
        return {name: column.take(pa.array(labels)) for name, column in self._values.items()}

    @property
    def ordered_lists(self) -> dict[str, list[Any]]:
        """The categories of released columns with an order, which the first batch must list in full."""
        own = {name: column for name, column in self._values.items() if pa.types.is_dictionary(column.type)}
        lists = {name: one.unify_dictionaries().chunk(0).dictionary.to_pylist() for name, one in own.items()}
        ordered = {name: lists[name] for name, one in own.items() if one.type.ordered}
        return {**self.found.ordered.lists(), **ordered}

    @cached_property
    def _values(self) -> dict[str, pa.ChunkedArray]:
        """The released quasi-identifiers of each class, in the types of the input's columns."""
        return {one.name: _in_type(self.formed.values.column(one.name), one) for one in self.found.columns}


def _in_type(values: pa.ChunkedArray, column: QuasiColumn) -> pa.ChunkedArray:
    """Return categories as a dictionary if the input has one, with those that are released and no others."""
    leaves = column.leaves
    if leaves is None or not pa.types.is_dictionary(leaves):
        return values
    if pa.types.is_dictionary(values.type):
        return without_unused(values)
    encoded = values.combine_chunks().dictionary_encode()
    (whole,) = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else (encoded,)
    rank = {name: at for at, name in enumerate(column.column.order or ())}
    names = [str(value) for value in whole.dictionary.to_pylist()]
    order = sorted(range(len(names)), key=lambda at: (rank.get(names[at], len(rank)), names[at]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    indices = pa.array(place).take(whole.indices).cast(leaves.index_type)
    categories = whole.dictionary.take(pa.array(order, pa.int64()))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, categories, ordered=leaves.ordered)])


def shuffled(tables: Iterator[pa.Table], records: int, folder: Path) -> Iterator[pa.Table]:
    """Yield rows in random order, each order equally likely to someone who lacks a secret key.

    Every row is sent to a random bucket on disk, and each bucket is permuted in memory.
    """
    key, runs, count = secret.fresh(), None, 1
    dictionaries: list[tuple[str, pa.DataType]] = []
    for number, table in enumerate(tables):
        if runs is None:
            dictionaries = [(one.name, one.type) for one in table.schema if pa.types.is_dictionary(one.type)]
        plain = with_columns(table, {name: table.column(name).cast(kind.value_type) for name, kind in dictionaries})
        if runs is None:
            count = max(records // min(_BUCKET, max(_LEAST, table.num_rows)), 1)
            runs = Runs(folder / "shuffled", plain.schema, count)
        drawn = secret.stream(key, f"bucket {number}", plain.num_rows)
        runs.append(plain, (drawn % np.uint64(count)).astype(np.int32))
    assert runs is not None  # there are rows
    runs.finish()
    for bucket in range(count):
        table = runs.read(bucket)
        order = np.argsort(secret.stream(key, f"order {bucket}", table.num_rows))
        table = table.take(order)
        yield with_columns(table, {name: table[name].dictionary_encode().cast(kind) for name, kind in dictionaries})
    runs.remove()


def parted(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the released columns of a batch, and the hidden ones under their own names."""
    names: Sequence[str] = [name for name in table.column_names if name.startswith(HIDDEN)]
    hidden = table.select(names).rename_columns([name.removeprefix(HIDDEN) for name in names])
    return table.drop_columns(names), hidden
