"""Roles of columns and orders of categories, from the recipe; kinds that it does not name are inferred."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, SchemaError, raise_all
from shoal.parameters import unknown
from shoal.schema.kinds import kind_of
from shoal.schema.taxonomy_files import taxonomy_of
from shoal.spelling import spelling_groups
from shoal.types import Column, Dialect, Kind, Role, Schema, Taxonomy, called
from shoal.types.statistical_files import Variable, declared_missing


def schema_of(
    data: pa.Table,
    roles: Mapping[str, Role],
    kinds: Mapping[str, Kind],
    dialect: Dialect | None = None,
    unread: tuple[str, ...] = (),
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
) -> Schema:
    """Return the schema of a table; see :func:`schema_from` for the other parameters.

    Parameters
    ----------
    data
        The columns.
    dialect
        How the cells of a text file are written.
    """

    def kind(name: str) -> Kind:
        return kind_of(data.column(name), dialect, data.schema.field(name))

    return schema_from(data.schema, kind, roles, kinds, unread, taxonomies, orders)


def schema_from(
    arrow: pa.Schema,
    kind: Callable[[str], Kind],
    roles: Mapping[str, Role],
    kinds: Mapping[str, Kind],
    unread: tuple[str, ...] = (),
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
) -> Schema:
    """Return the schema of columns from their types alone.

    Parameters
    ----------
    arrow
        The columns.
    kind
        Infers the kind of a column that `kinds` does not name.
    roles
        Roles by column name; an unnamed column is ``other``.
    kinds
        Kinds by column name, where they differ from the inferred ones.
    unread
        Further columns that Arrow cannot hold; they may only be ``other`` or ``identifier``.
    taxonomies
        Nested groups of values, or a file with them, by column name. A column with a taxonomy is nominal.
    orders
        Categories from the lowest to the highest, by column name. A column with an order is ordinal.

    Raises
    ------
    SchemaError
        Once, with every error found.
    """
    trees = {name: taxonomy_of(name, nested) for name, nested in (taxonomies or {}).items()}
    ranks = {name: tuple(map(called, order)) for name, order in (orders or {}).items()}
    known = {**trees, **ranks, **kinds}
    raise_all(SchemaError, [*_faults(arrow, roles, known, unread), *_misfits(trees, ranks, kinds)])
    found = {**dict.fromkeys(trees, Kind.NOMINAL), **dict.fromkeys(ranks, Kind.ORDINAL), **kinds}
    columns = [
        Column(
            name,
            roles.get(name, Role.OTHER),
            found.get(name) or kind(name),
            trees.get(name),
            ranks.get(name, ()),
            declared=name in found,
        )
        for name in arrow.names
    ]
    return Schema((*columns, *(Column(name, roles.get(name, Role.OTHER), Kind.NOMINAL) for name in unread)))


def _misfits(
    trees: Mapping[str, Taxonomy], ranks: Mapping[str, tuple[str, ...]], kinds: Mapping[str, Kind]
) -> list[str]:
    faults = [
        f"Schema: column {name!r} has an order and must be ordinal, but the recipe declares it "
        f"{'nominal, by a taxonomy' if name in trees else kinds[name]}. Leave out one."
        for name in ranks
        if name in trees or kinds.get(name, Kind.ORDINAL) is not Kind.ORDINAL
    ]
    listed = {name: ("taxonomy", list(tree.paths)) for name, tree in trees.items()}
    listed.update({name: ("order", list(order)) for name, order in ranks.items() if len(set(order)) == len(order)})
    faults += [
        f"Schema: the {what} of column {name!r} must list every value once, but lists two spellings of one value "
        "(differing in case, spaces or invisible characters). Remove one, and correct the cells that have it."
        for name, (what, values) in listed.items()
        if spelling_groups(values) is not None
    ]
    faults += [
        f"Schema: the order of column {name!r} must name each category once. Name it once."
        for name, order in ranks.items()
        if len(set(order)) < len(order)
    ]
    return faults + [
        f"Schema: column {name!r} has a taxonomy and must be nominal, but the recipe declares it "
        f"{kinds[name]}. Leave out one."
        for name in trees
        if kinds.get(name, Kind.NOMINAL) is not Kind.NOMINAL
    ]


def _faults(
    arrow: pa.Schema, roles: Mapping[str, Role], kinds: Mapping[str, Any], unread: tuple[str, ...]
) -> list[str]:
    names = [*arrow.names, *unread]
    there = set(names)
    faults = [unknown("Schema", "column", n, names) for n in {**roles, **kinds} if n not in there]
    faults += [
        f"Schema: column {name!r} holds values of mixed types and cannot be {roles[name]}. Give it one type."
        for name in unread
        if roles.get(name, Role.OTHER) not in (Role.OTHER, Role.IDENTIFIER)
    ]
    faults += [
        f"Schema: column {name!r} holds intervals of months, which have no fixed length, and cannot be "
        f"{roles[name]}. Give it another role, or convert it to a number in a query."
        for name in arrow.names
        if pa.types.is_interval(arrow.field(name).type)
        and roles.get(name, Role.OTHER) not in (Role.OTHER, Role.IDENTIFIER)
    ]
    return faults


def in_order(column: Column, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells as ordered categories if the column has an order, otherwise unchanged.

    >>> import pyarrow as pa
    >>> from shoal.types import Kind, Role
    >>> size = Column("size", Role.QUASI, Kind.ORDINAL, order=("low", "high"))
    >>> in_order(size, pa.chunked_array([["high", None, "low"]])).chunk(0).indices.to_pylist()
    [1, None, 0]
    """
    if not column.order:
        return cells
    plain = cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
    encoded = plain.combine_chunks().dictionary_encode(null_encoding="mask")
    rank = {name: at for at, name in enumerate(column.order)}
    ranks = [rank.get(called(value)) for value in encoded.dictionary.to_pylist()]
    places = pa.array(ranks, pa.int32()).take(encoded.indices)
    if None in ranks:
        raise DataError(
            f"Column {column.name!r}: every value must be in its order; {ranks.count(None):,} of {len(ranks):,} are "
            f"not, in {places.null_count - plain.null_count:,} of {len(plain):,} records. Add them to the order."
        )
    names = pa.array(column.order, pa.string())
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, names, ordered=True)])


def without_user_missing(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace the values that a file declares to be missing by missing values; return other columns unchanged.

    A refusal coded as −9 is not a number: with its declaration, methods and audits treat it as missing.

    >>> import pyarrow as pa
    >>> pay = Variable("spss", missing=((-9, -9), (900, 999))).onto(pa.field("pay", pa.int64()))
    >>> without_user_missing(pay, pa.chunked_array([[-9, 10, 950]])).to_pylist()
    [None, 10, None]
    """
    variable = Variable.of(field)
    if variable is None or not variable.missing:
        return column
    flags = declared_missing(variable, column)
    return pc.if_else(flags, pa.scalar(None, column.type), column) if pc.any(flags).as_py() else column
