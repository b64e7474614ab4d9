"""Recoded tables of batches: each batch is recoded as it is read, as the whole table would be in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ShoalError
from shoal.flow.recoding.recode import recode_columns, refuse_unknown
from shoal.flow.stages.batch_tables import BatchReader, Reading
from shoal.recipe.recipe import Recipe
from shoal.types import Dialect, Kind, Role, Schema, Table, in_one_piece, with_columns
from shoal.types.table import PARSED

_MOST = 1 << 28  # bytes of columns that are read again for a sentence about all of their cells


@dataclass(frozen=True, eq=False)
class RecodedReader:
    """Tables of batches, recoded. A recoding that depends on a whole column finds out about it in a pass of its own.

    These are the categories of a column with a stored order, and the type of dates and ordinal numbers in text cells.
    """

    reader: BatchReader
    recipe: Recipe

    @classmethod
    def of(cls, reader: BatchReader, recipe: Recipe) -> RecodedReader:
        """Return a reader of recoded tables.

        Raises
        ------
        SchemaError
            If the recipe recodes a column that the table does not have.
        """
        refuse_unknown(recipe, reader.schema)
        return cls(replace(reader, recoded=frozenset(recipe.recode)), recipe)

    @cached_property
    def example(self) -> Table:
        """The first row, recoded: types, categories and taxonomies are those of the whole table."""
        return next(self.read(rows=1))

    @property
    def schema(self) -> Schema:
        """The schema of the recoded table: a taxonomy ends with the groups that are released."""
        return self.example.schema if self.recipe.recode else self.reader.schema

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the recoded tables, and of a text output, as in memory."""
        own = self.reader.dialect
        if own is None or self.reader.batches.dialect is None:
            return own
        schema = self.reader.schema
        moments = [name for name in schema.names(Role.QUASI) if schema[name].kind is Kind.DATETIME]
        last = next((self._after[name] for name in moments[-1:] if name in self._after), None)
        return own if last is None else replace(own, moment=last.moment)

    def read(self, columns: Sequence[str] | None = None, rows: int | None = None) -> Iterator[Table]:
        """Yield recoded tables of `rows` rows, the last with fewer; each keeps the one before as `before`.

        Without `rows`, they have as many as those of the reader.

        Raises
        ------
        SchemaError, DataError
            As `BatchReader.read` does, or if a column does not fit its recoding.
        """
        if not self.recipe.recode:
            yield from self._read(columns, rows)
            return
        for table in self._recoded(columns, rows):
            for name, reading in self._after.items():
                if name in table.data.column_names:
                    found = reading.parse(table.data.column(name), table.dialect or Dialect())
                    if found is not None:
                        table.cache[PARSED, (name,), True] = found
                        table.cache[PARSED, (name,), False] = found
            yield table if table.dialect is None else _in_dialect(table, self.dialect)

    def _read(self, columns: Sequence[str] | None, rows: int | None) -> Iterator[Table]:
        return self.reader.read(columns) if rows is None else self.reader.read(columns, rows)

    def _recoded(self, columns: Sequence[str] | None, rows: int | None = None) -> Iterator[Table]:
        """Yield recoded tables whose text cells have not been parsed again."""
        for table in self._read(columns, rows):
            there = {name: how for name, how in self.recipe.recode.items() if name in table.schema.names()}
            whole = _in_dialect(self._with_categories(table), self.reader.batches.dialect or table.dialect)
            try:
                yield recode_columns(whole, there) if there else whole
            except ShoalError as error:
                self._refuse(error, list(there))

    @cached_property
    def _after(self) -> dict[str, Reading]:
        """How recoded text cells are read where that depends on all of them: one pass."""
        dialect = self.reader.batches.dialect
        if dialect is None or not self.reader.textual:
            return {}
        readings = {name: Reading.of(self.reader.schema[name], dialect, textual=True) for name in self.recipe.recode}
        found = {name: one for name, one in readings.items() if one.undecided}
        for table in self._recoded(list(found)) if found else ():
            for name, reading in found.items():
                reading.count(table.data.column(name), dialect)
        return found

    @cached_property
    def _categories(self) -> dict[str, pa.Array]:
        """All categories of recoded columns that store an order, from lowest to highest: one pass."""
        arrow, schema = self.reader.batches.arrow, self.reader.schema
        kinds = {name: arrow.field(name).type for name in self.recipe.recode}
        names = [
            name
            for name, kind in kinds.items()
            if pa.types.is_dictionary(kind) and kind.ordered and schema[name].kind is Kind.ORDINAL
        ]
        found: dict[str, dict[object, None]] = {name: {} for name in names}
        for data in self.reader.batches.read(names) if names else ():
            for name, order in found.items():
                for chunk in data.column(name).chunks:
                    order.update(dict.fromkeys(chunk.dictionary.to_pylist()))
        return {name: pa.array(list(order), kinds[name].value_type) for name, order in found.items()}

    def _with_categories(self, table: Table) -> Table:
        """Return a batch whose columns with a stored order list all categories of the table."""
        fresh = {}
        for name, order in self._categories.items():
            if name in table.data.column_names:
                cells = table.data.column(name)
                places = in_one_piece(pc.index_in(cells.cast(cells.type.value_type), value_set=order))
                places = places.cast(cells.type.index_type)
                fresh[name] = pa.chunked_array([pa.DictionaryArray.from_arrays(places, order, ordered=True)])
        return table.changed(with_columns(table.data, fresh), fresh.keys()) if fresh else table

    def _refuse(self, error: ShoalError, names: list[str]) -> NoReturn:
        """Raise the error about a batch as one about all rows of the table, if these columns fit into memory."""
        read, size = list[Table](), 0
        for table in self.reader.read(names):
            read.append(table)
            size += table.data.nbytes
            if size > _MOST:
                raise error
        data = pa.concat_tables([table.data for table in read]).unify_dictionaries()
        dialect = self.reader.batches.dialect if self.reader.textual else None
        recode_columns(Table(data, read[0].schema, dialect), {name: self.recipe.recode[name] for name in names})
        raise error


def _in_dialect(table: Table, dialect: Dialect | None) -> Table:
    """Return a table of the same cells in another dialect; cells that were parsed stay so."""
    return table if table.dialect == dialect else _kept(table, replace(table, dialect=dialect))


def _kept(table: Table, found: Table) -> Table:
    found.cache.update(table.cache)
    return found
