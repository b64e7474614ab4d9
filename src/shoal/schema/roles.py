"""Roles of columns: what the recipe says, checked against the columns that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shoal.errors import SchemaError, raise_all
from shoal.parameters import unknown
from shoal.schema.infer import kind_of
from shoal.types import Column, Dialect, Kind, Role, Schema

if TYPE_CHECKING:
    import pyarrow as pa


def schema_of(
    data: pa.Table,
    roles: Mapping[str, Role],
    kinds: Mapping[str, Kind],
    dialect: Dialect | None = None,
    unread: tuple[str, ...] = (),
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

    Raises
    ------
    SchemaError
        Once, with every fault that was found.
    """
    raise_all(SchemaError, _faults(data, roles, kinds, unread))
    columns = [
        Column(name, roles.get(name, Role.OTHER), kinds.get(name) or kind_of(data.column(name), dialect))
        for name in data.column_names
    ]
    return Schema((*columns, *(Column(name, roles.get(name, Role.OTHER), Kind.NOMINAL) for name in unread)))


def _faults(data: pa.Table, roles: Mapping[str, Role], kinds: Mapping[str, Kind], unread: tuple[str, ...]) -> list[str]:
    names = [*data.column_names, *unread]
    there = set(names)
    faults = [unknown("Schema", "column", n, names) for n in {**roles, **kinds} if n not in there]
    faults += [
        f"Schema: column {name!r} holds values of mixed types and cannot be {roles[name]}. Give it one type."
        for name in unread
        if roles.get(name, Role.OTHER) not in (Role.OTHER, Role.IDENTIFIER)
    ]
    return faults
