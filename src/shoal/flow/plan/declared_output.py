"""Declared output: the table as the recipe declares it, if ε is claimed for original records.

Then everything about the output except the noisy values comes from the recipe, never from the data: the columns and
their order, kinds, digits and categories, the number of rows, and the text format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, SchemaError, listing, raise_all
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.schema import cells as cellwise
from shoal.schema.roles import schema_of, without_user_missing
from shoal.types import FROM_THE_DATA, Column, Dialect, Domain, Kind, Role, Schema, Table, Taxonomy

_NUMERIC = (Kind.INTEGER, Kind.CONTINUOUS)


def undeclared(recipe: Recipe) -> list[str]:
    """Return what the recipe lacks, as one sentence to copy from, and which of its declarations cannot hold.

    >>> noise = {"release": "laplace", "epsilon": 1.0, "claim": "original"}
    >>> undeclared(Recipe(quasi=["age"], bounds={"age": [0, 120]}, **noise))[0].partition("Add ")[2]
    'kinds = { age = "integer" } (--kind age=integer; or continuous, for decimals).'
    """
    found = [
        f"Laplace: with claim = original the kind of {name!r} must be integer, continuous, or nominal with a taxonomy; "
        f"the recipe says {kind}. Change it, or remove the column from quasi."
        for name in recipe.quasi
        if (kind := _kind(recipe, name)) is not None and kind not in (*_NUMERIC, Kind.NOMINAL)
    ]
    if lacking := [part for part in (_kinds(recipe), _bounds(recipe), _taxonomies(recipe)) if part]:
        found.append(
            "Laplace: with claim = original the recipe must declare what the output looks like, because nothing but "
            f"the noisy values may depend on the data. Add {'; '.join(lacking)}."
        )
    if recipe.when_missing == "fill" and recipe.bounds == FROM_THE_DATA:
        found.append(
            "Laplace: with claim = original when_missing = fill needs bounds, got those of the data: missing values "
            "become the middle of the bounds. Declare bounds."
        )
    return found + _roles(recipe)


def completed(recipe: Recipe) -> Recipe:
    """Complete the recipe with missing kinds, inferred from the bounds: whole-number bounds mean integers.

    >>> noise = {"release": "laplace", "epsilon": 1.0, "claim": "original"}
    >>> completed(Recipe(quasi=["pay"], bounds={"pay": [0, 99.5]}, **noise)).kinds["pay"].value
    'continuous'
    """
    kinds = {name: _by_bounds(recipe, name) for name in recipe.quasi if _kind(recipe, name) is None}
    return recipe.override(kinds={**recipe.kinds, **kinds}) if kinds else recipe


def _kind(recipe: Recipe, name: str) -> Kind | None:
    implied = Kind.NOMINAL if name in recipe.taxonomies else Kind.ORDINAL if name in recipe.orders else None
    kind: Kind | None = recipe.kinds.get(name, implied)
    return kind


def _by_bounds(recipe: Recipe, name: str) -> Kind:
    ends = recipe.bounds.get(name, (0, 1)) if isinstance(recipe.bounds, Mapping) else (0, 1)
    return Kind.INTEGER if all(float(end).is_integer() for end in ends) else Kind.CONTINUOUS


def _kinds(recipe: Recipe) -> str:
    lacking = {n: _by_bounds(recipe, n).value for n in recipe.quasi if _kind(recipe, n) is None}
    said = " ".join(f"--kind {name}={kind}" for name, kind in lacking.items())
    kinds = _table("kinds", {name: f'"{kind}"' for name, kind in lacking.items()})
    return f"{kinds} ({said}; or continuous, for decimals)" if lacking else ""


def _bounds(recipe: Recipe) -> str:
    if not isinstance(recipe.bounds, Mapping):
        return ""
    numbers = [name for name in recipe.quasi if _kind(recipe, name) in (None, *_NUMERIC)]
    return _table("bounds", {name: "[LOW, HIGH]" for name in numbers if name not in recipe.bounds})


def _taxonomies(recipe: Recipe) -> str:
    nominal = [name for name in recipe.quasi if _kind(recipe, name) is Kind.NOMINAL]
    return _table("taxonomies", {name: '"FILE.csv"' for name in nominal if name not in recipe.taxonomies})


def _table(field: str, entries: Mapping[str, str]) -> str:
    """Return a field of the recipe in TOML syntax."""
    inner = ", ".join(f"{_key(name)} = {value}" for name, value in entries.items())
    return f"{field} = {{ {inner} }}" if entries else ""


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _roles(recipe: Recipe) -> list[str]:
    """Return what is wrong with columns that would be released without noise, or that distinguish records."""
    found: list[str] = []
    kept: list[Any] = [*recipe.confidential, *recipe.strata]
    if kept:
        found.append(
            f"Laplace: with claim = original only quasi-identifiers are released, got {', '.join(map(repr, kept))} as "
            f"confidential or strata. Remove them from the recipe: other columns are removed from the output."
        )
    found += [
        f"Laplace: there must be no column of role {role}, got one: ε is for single records, all of the same weight. "
        f"Remove it from the recipe."
        for role in (Role.WEIGHT, Role.SUBJECT)
        if recipe.columns(role)
    ]
    return found


def declared_schema(recipe: Recipe) -> Schema:
    """Return the schema of the quasi-identifiers from the recipe, in its order; no cell is read."""

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
    """Return the quasi-identifiers of a table, in the order and types that the recipe declares.

    Numbers are float64; integers are whole. Categories are a dictionary of all categories in the taxonomy, sorted by
    name. With ``when_missing = "fill"``, a cell that is missing, unreadable or not in the taxonomy becomes the midpoint
    of the bounds, or the first category in the taxonomy's line. The table depends on the data only in its values, and
    each value depends on one cell.

    Parameters
    ----------
    data
        Columns as they were read.
    recipe
        Kinds, bounds and taxonomies of all quasi-identifiers.
    dialect
        How the cells of a text file are written.
    mixed
        Quasi-identifiers with values of mixed types, which Arrow cannot hold.

    Raises
    ------
    SchemaError
        If the recipe names columns that the table does not have.
    DataError
        If cells are missing, unreadable or unknown, and the recipe does not say to fill them.
    """
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
    """Return the numbers of a column, and whether every cell has one."""
    found = cellwise.numbers(cells, dialect or Dialect())
    missing = np.isnan(found)
    if isinstance(recipe.bounds, Mapping):  # otherwise they come from the data, and nothing is promised
        domain = Domain(*map(float, recipe.bounds[meant.name]))
        found = np.where(missing, domain.low + domain.width / 2, found)
    return pa.array(np.rint(found) if meant.kind is Kind.INTEGER else found), not missing.any()


def _categories(
    meant: Column, cells: pa.ChunkedArray, recipe: Recipe, dialect: Dialect | None
) -> tuple[pa.Array, bool]:
    """Return the categories of a column, and whether every cell has one."""
    assert meant.taxonomy is not None
    names = sorted(meant.taxonomy.paths)
    found = cellwise.categories(cells, names, dialect)
    codes = np.where(found < 0, names.index(_first(meant.taxonomy)), found).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string())), not (found < 0).any()


def _first(taxonomy: Taxonomy) -> str:
    from shoal.points.nominal import line_of

    return line_of(taxonomy)[0][0]
