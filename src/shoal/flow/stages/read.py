"""Input reading: Source → Table + Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from shoal.errors import DataError, ParameterError, SchemaError, listing, raise_all
from shoal.locations import Place
from shoal.parameters import build, shown, unknown
from shoal.recipe.recipe import Recipe
from shoal.types import Dialect, Kind, Role, Schema, Table, with_columns
from shoal.types.protocols import Source


def listed(field: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return names as a tuple; refuse a bare string, which would be split into letters, and a column of values."""
    if isinstance(names, str) or not isinstance(names, Iterable) or _is_series(names):
        what = "names" if field in ("measures", "only") else "column names"
        raise ParameterError(f"{field} must be a list of {what}, got {shown(names)}. Put the names in a list.")
    found = tuple(names)
    if not found and field == "columns":
        raise ParameterError("columns must name at least one column, got none. Name those to compare.")
    return found


def _is_series(given: object) -> bool:
    """Tell whether something is a column of a table: its items are cells, which no message may show."""
    if isinstance(given, (list, tuple)):
        return False
    import narwhals.dependencies as known

    return bool(known.is_into_series(given))


def open_source(place: Place, text: Mapping[str, Any]) -> Source:
    """Return the source for a place, with the text settings; only text sources take them."""
    from shoal import registry

    source = registry.for_place("io.sources", place.at)
    if source.textual:
        return build(source, {**text, **place.options})
    if text:
        raise ParameterError(
            f"{_name(place)}: is not a text file, so {listing(list(text))} cannot be set. Leave it out."
        )
    return build(source, place.options)


def is_textual(place: Place) -> bool:
    """Tell whether a place is a text file, which needs settings that other formats store themselves."""
    from shoal import registry

    return registry.for_place("io.sources", place.at).textual


def _name(place: Place) -> str:
    return str(getattr(place.at, "name", place))


def read_table(place: Place, recipe: Recipe, *, textual: bool) -> Table:
    """Read a table with its schema. For an output that is not text, cells are parsed from the start.

    If the input is not text, the text settings apply to the output.
    """
    if textual and recipe.text and not is_textual(place):
        from shoal.io.sources.csv import Csv

        data, _ = open_source(place, {}).read(place.at)
        return Table(data, schema_for(data, recipe, None), build(Csv, recipe.text).dialect())
    data, dialect = open_source(place, recipe.text).read(place.at)
    table = Table(data, schema_for(data, recipe, dialect), dialect, notes=() if dialect is None else dialect.notes)
    _refuse_unread(table)
    return table if dialect is None or textual else _as_values(table, dialect)


def _as_values(table: Table, dialect: Dialect) -> Table:
    """Return the table with parsed cells; a column that parsing would change stays text."""
    from shoal.flow.stages.values import as_values
    from shoal.schema.cells import lossless, tidy, values, without_missing

    typed = {}
    for column in table.schema.columns:
        cells = table.data.column(column.name)
        if column.role is Role.QUASI and column.kind in (Kind.NOMINAL, Kind.ORDINAL):  # some of these may be missing
            typed[column.name] = tidy(cells, dialect) if column.order else as_values(column.name, table, exact=True)
        elif column.role in (Role.QUASI, Role.WEIGHT) or lossless(cells, column.kind, dialect):
            typed[column.name] = values(cells, column.name, column.kind, dialect)
        elif column.role is Role.CONFIDENTIAL and column.kind is Kind.NOMINAL:
            typed[column.name] = without_missing(cells, dialect)
    return Table(with_columns(table.data, typed), table.schema, notes=table.notes)


def _refuse_unread(table: Table) -> None:
    """Refuse confidential numbers and dates that would be compared as categories; `encode` checks quasi-identifiers."""
    from shoal.schema.conventions import refusal

    columns = [table.schema[name] for name in table.schema.names(Role.CONFIDENTIAL)]
    found = [refusal(column, table.data.column(column.name), table.dialect) for column in columns]
    raise_all(DataError, [said for said in found if said])


def schema_for(data: pa.Table, recipe: Recipe, dialect: Dialect | None, unread: tuple[str, ...] = ()) -> Schema:
    """Return the schema of a table from the recipe and the columns themselves."""
    from shoal.schema.roles import schema_of

    names = [*data.column_names, *unread]
    raise_all(SchemaError, [unknown("Schema", "column", n, names) for n in recipe.reviewed if n not in names])
    return schema_of(data, recipe.roles, recipe.kinds, dialect, unread, recipe.taxonomies, recipe.orders)
