"""Source → Table + Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.parameters import build, declarations
from shoal.recipe import Recipe
from shoal.types import Dialect, Role, Schema, Table

if TYPE_CHECKING:
    import pyarrow as pa


def open_source(path: Path, text: Mapping[str, Any]) -> Any:
    """Return the source that reads a file, told what was said about text files if it is one."""
    from shoal.sources import source_for

    source = source_for(path)
    return build(source, text) if declarations(source) else source()


def read_table(path: Path, recipe: Recipe, *, textual: bool) -> Table:
    """Read a file with its schema. For an output that is not text, cells become values from the start."""
    from shoal.schema.cells import values

    data, dialect = open_source(path, recipe.text).read(path)
    schema = schema_for(data, recipe, dialect)
    if dialect is None or textual:
        return Table(data, schema, dialect)
    columns = [values(data.column(c.name), c.name, c.kind, dialect) for c in schema.columns]
    import pyarrow as pa

    return Table(pa.table(columns, names=data.column_names), schema)


def schema_for(data: pa.Table, recipe: Recipe, dialect: Dialect | None, unread: tuple[str, ...] = ()) -> Schema:
    """Return what a recipe and the columns themselves say of a table."""
    from shoal.schema.roles import schema_of

    roles = {name: role for role in Role for name in recipe.columns(role)}
    return schema_of(data, roles, recipe.kinds, dialect, unread)


def schema_of_columns(data: pa.Table, names: Sequence[str], dialect: Dialect | None) -> Schema:
    """Return the schema of a table in which only some columns matter."""
    from shoal.schema.roles import schema_of

    return schema_of(data, dict.fromkeys(names, Role.QUASI), {}, dialect)
