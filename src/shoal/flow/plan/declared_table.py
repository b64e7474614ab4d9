"""The input as the recipe declares it, where ε is claimed for original records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, SchemaError, listing, raise_all
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.schema import cellwise
from shoal.schema.order import without_user_missing
from shoal.schema.roles import schema_of
from shoal.types import Column, Dialect, Domain, Kind, Role, Schema, Table, Taxonomy

if TYPE_CHECKING:
    import pyarrow as pa


def declared_schema(recipe: Recipe) -> Schema:
    """Return what the recipe says of the quasi-identifiers, in its order; no cell is looked at."""
    import pyarrow as pa

    def of_quasi(said: Mapping[str, Any]) -> dict[str, Any]:
        return {name: said[name] for name in recipe.quasi if name in said}

    blank = pa.table({name: pa.nulls(0) for name in recipe.quasi})
    roles = dict.fromkeys(recipe.quasi, Role.QUASI)
    return schema_of(blank, roles, of_quasi(recipe.kinds), None, (), of_quasi(recipe.taxonomies), {})


def declared_table(
    data: pa.Table,
    recipe: Recipe,
    dialect: Dialect | None,
    mixed: Mapping[str, Sequence[Any]] | None = None,
) -> Table:
    """Return the quasi-identifiers of a table, in the order and in the types that the recipe declares.

    Numbers are float64, and integers among them whole. Categories are a dictionary of all that the
    taxonomy has, by name. With ``when_missing = "fill"``, a cell that is missing, cannot be read or is no category of
    the taxonomy becomes the middle of the bounds, or the first category in the line of the taxonomy. The table depends
    on the data in its values only, and each value on one cell.

    Parameters
    ----------
    data
        Columns as they were read.
    recipe
        Kinds, bounds and taxonomies of all quasi-identifiers.
    dialect
        How the cells of a text file are written.
    mixed
        Quasi-identifiers that Arrow cannot hold, because their values are of several types.

    Raises
    ------
    SchemaError
        If the recipe names columns that the table does not have.
    DataError
        If cells are missing, unreadable or unknown, and the recipe does not say to fill them.
    """
    import pyarrow as pa

    mixed = mixed or {}
    names = [*data.column_names, *mixed]
    said = {**recipe.roles, **recipe.kinds, **recipe.taxonomies}
    raise_all(SchemaError, [unknown("Schema", "column", name, names) for name in said if name not in names])
    schema = declared_schema(recipe)
    columns, lacking = {}, []
    for meant in schema.columns:
        name, numeric = meant.name, meant.taxonomy is None
        if name in mixed:
            cells = cellwise.of_mixed_types(mixed[name], numeric=numeric)
        else:
            cells = without_user_missing(data.schema.field(name), data.column(name))
        column, complete = (_numbers if numeric else _categories)(meant, cells, recipe, dialect)
        columns[name] = column
        lacking += [] if complete else [name]
    if lacking and recipe.when_missing != "fill":
        raise DataError(
            f"Laplace: with claim = original every cell of the quasi-identifiers must hold a number, or a category of "
            f"the taxonomy; some of {listing(lacking)} do not. Correct them, or set when_missing = fill: they become "
            f"the middle of the bounds, or the first category."
        )
    return Table(pa.table(columns), schema)


def _numbers(meant: Column, cells: pa.ChunkedArray, recipe: Recipe, dialect: Dialect | None) -> tuple[pa.Array, bool]:
    """Return the numbers of a column, and whether all cells hold one."""
    import numpy as np
    import pyarrow as pa

    found = cellwise.numbers(cells, dialect or Dialect())
    missing = np.isnan(found)
    if isinstance(recipe.bounds, Mapping):  # else they come from the data, and nothing is promised
        domain = Domain(*map(float, recipe.bounds[meant.name]))
        found = np.where(missing, domain.low + domain.width / 2, found)
    return pa.array(np.rint(found) if meant.kind is Kind.INTEGER else found), not missing.any()


def _categories(
    meant: Column, cells: pa.ChunkedArray, recipe: Recipe, dialect: Dialect | None
) -> tuple[pa.Array, bool]:
    """Return the categories of a column, and whether all cells hold one."""
    import numpy as np
    import pyarrow as pa

    assert meant.taxonomy is not None
    names = sorted(meant.taxonomy.paths)
    found = cellwise.categories(cells, names, dialect)
    codes = np.where(found < 0, names.index(_first(meant.taxonomy)), found).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string())), not (found < 0).any()


def _first(taxonomy: Taxonomy) -> str:
    from shoal.points.taxonomy_line import line_of

    return line_of(taxonomy)[0][0]
