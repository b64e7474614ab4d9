"""Roles of columns: what the recipe says, checked against the columns that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.errors import SchemaError, raise_all
from shoal.parameters import unknown
from shoal.schema.infer import kind_of
from shoal.schema.taxonomy import taxonomy_of
from shoal.types import Column, Dialect, Kind, Role, Schema, Taxonomy

if TYPE_CHECKING:
    import pyarrow as pa


def schema_of(
    data: pa.Table,
    roles: Mapping[str, Role],
    kinds: Mapping[str, Kind],
    dialect: Dialect | None = None,
    unread: tuple[str, ...] = (),
    taxonomies: Mapping[str, Mapping[str, Any]] | None = None,
) -> Schema:
    """Return what every column means.

    Parameters
    ----------
    data
        The columns.
    roles
        Roles by column name; a column that is not named is ``other``.
    kinds
        Kinds by column name, where the inferred one is not meant.
    dialect
        How the cells are written, for a text file.
    unread
        Further columns that Arrow cannot hold; they may only be ``other`` or ``identifier``.
    taxonomies
        Nested groups of values by column name. A column that has some is nominal.

    Raises
    ------
    SchemaError
        Once, with every fault that was found.
    """
    trees = {name: taxonomy_of(name, nested) for name, nested in (taxonomies or {}).items()}
    raise_all(SchemaError, [*_faults(data, roles, {**trees, **kinds}, unread), *_misfits(trees, kinds)])
    found = {**dict.fromkeys(trees, Kind.NOMINAL), **kinds}
    columns = [
        Column(
            name,
            roles.get(name, Role.OTHER),
            found.get(name) or kind_of(data.column(name), dialect),
            trees.get(name),
        )
        for name in data.column_names
    ]
    return Schema((*columns, *(Column(name, roles.get(name, Role.OTHER), Kind.NOMINAL) for name in unread)))


def _misfits(trees: Mapping[str, Taxonomy], kinds: Mapping[str, Kind]) -> list[str]:
    return [
        f"Schema: column {name!r} has a taxonomy and must be nominal, the recipe says {kinds[name]}. Leave out one."
        for name in trees
        if kinds.get(name, Kind.NOMINAL) is not Kind.NOMINAL
    ]


def _faults(data: pa.Table, roles: Mapping[str, Role], kinds: Mapping[str, Any], unread: tuple[str, ...]) -> list[str]:
    names = [*data.column_names, *unread]
    there = set(names)
    faults = [unknown("Schema", "column", n, names) for n in {**roles, **kinds} if n not in there]
    faults += [
        f"Schema: column {name!r} holds values of mixed types and cannot be {roles[name]}. Give it one type."
        for name in unread
        if roles.get(name, Role.OTHER) not in (Role.OTHER, Role.IDENTIFIER)
    ]
    return faults
