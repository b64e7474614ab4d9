"""Recoding: limits, intervals and groups that a recipe declares, applied row by row before classes are formed.

A recoding is a function of one value and of the recipe alone. So recoded records are exchanged like any others, and
nothing about other records shows in a recoded value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import SchemaError, ShoalError, raise_all
from shoal.flow.recoding.categories import grouped
from shoal.flow.recoding.moments import change_of_moments
from shoal.flow.recoding.numbers import change_of_number, change_of_numbers
from shoal.flow.recoding.orders import is_ordered, merged
from shoal.flow.recoding.text import recoded_cells
from shoal.flow.stages.values import as_values
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.recipe.recodes import Recode, recode_of
from shoal.schema.cells import is_text
from shoal.types import Column, Kind, Role, Schema, Table, in_one_piece, with_columns


def recoded(table: Table, recipe: Recipe) -> Table:
    """Return a table with the columns recoded that the recipe names; it keeps the table before as `before`.

    Numbers and dates keep their kind and type: values beyond a limit become the limit or the declared value, others
    the middle of their interval, for whole numbers and dates the lower of two middles. Text cells whose value does not
    change keep their characters, and so do codes that mean "no value". Categories become names of groups, and the
    taxonomy is cut off below these; ordered categories become others of the same order.

    **Guarantee.** A recoded value depends on the value and the recipe only, and the order of rows stays.

    Raises
    ------
    SchemaError, DataError
        Once, for every column that does not fit its recoding.
    """
    if not recipe.recode:
        return table
    refuse_unknown(recipe, table.schema)
    return recode_columns(table, recipe.recode)


def refuse_unknown(recipe: Recipe, schema: Schema) -> None:
    """Refuse to recode columns that a table does not have."""
    names = schema.names()
    raise_all(SchemaError, [unknown("recode", "column", name, names) for name in recipe.recode if name not in names])


def recode_columns(table: Table, recode: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table, or a batch of one, with some columns recoded; it keeps the table before as `before`."""
    cells: dict[str, pa.ChunkedArray] = {}
    columns = {column.name: column for column in table.schema.columns}
    faults: dict[type[ShoalError], list[str]] = {}
    for name, given in recode.items():
        try:
            cells[name], columns[name] = _recoded_column(table, name, recode_of(given))
        except ShoalError as error:
            faults.setdefault(type(error), []).append(str(error))
    for kind, sentences in faults.items():
        raise_all(kind, sentences)
    return replace(table, data=with_columns(table.data, cells), schema=Schema(tuple(columns.values())), before=table)


def _recoded_column(table: Table, name: str, how: Recode) -> tuple[pa.ChunkedArray, Column]:
    column = table.schema[name]
    if name not in table.data.column_names:
        raise SchemaError(f"Column {name!r}: holds values of mixed types and cannot be recoded. Give it one type.")
    if how.level is not None:
        return grouped(table, column, how.level)
    if column.kind is Kind.ORDINAL and is_ordered(table, column):
        return merged(table, column, how), column
    _refuse(column, how)
    if is_text(table.data.column(name)):
        return recoded_cells(table, column, how, change_of_number, change_of_moments), column
    values = as_values(name, table, exact=True)
    values = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    change_of = change_of_moments if column.kind is Kind.DATETIME else change_of_numbers
    change = change_of(column, how, values.type)
    return _kept_codes(table.data.column(name), _mapped(values, change)), column


def _refuse(column: Column, how: Recode) -> None:
    """Refuse groups and limits of columns that cannot have them."""
    if how.groups:
        raise SchemaError(
            f"Column {column.name!r}: groups are for ordered categories, and it has no order of categories. Give it "
            "one (orders), or leave out its groups."
        )
    if column.kind is Kind.NOMINAL:
        raise SchemaError(
            f"Column {column.name!r}: limits and intervals are for numbers and dates, this column is {column.kind}. "
            "Give it a taxonomy and recode it by level, an order (orders), or leave it out of recode."
        )
    if column.kind is Kind.ORDINAL and column.role is Role.QUASI and (how.interval is not None or how.breaks):
        raise SchemaError(
            f"Column {column.name!r}: intervals and breaks release middles, which may not be among the categories of "
            "an ordinal quasi-identifier. Declare it as integer or continuous (--kind), or give it an order (orders) "
            "and recode it by groups."
        )


def _mapped(values: pa.ChunkedArray, change: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    """Apply a change to the distinct values of a column."""
    coded = in_one_piece(values).dictionary_encode(null_encoding="mask")
    return pa.chunked_array([change(coded.dictionary).take(coded.indices)])


def _kept_codes(cells: pa.ChunkedArray, fresh: pa.ChunkedArray) -> pa.ChunkedArray:
    """Keep cells of the same type that are read as missing, such as −9 for a refusal."""
    cells = cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
    return pc.coalesce(fresh, cells) if cells.type == fresh.type else fresh
