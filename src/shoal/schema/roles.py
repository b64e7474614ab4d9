"""Roles and kinds of columns and orders of categories, from the recipe, the types and the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, SchemaError, raise_all
from shoal.parameters import unknown
from shoal.schema import cells
from shoal.schema.taxonomy_files import taxonomy_of
from shoal.spelling import spelling_groups
from shoal.types import Column, Dialect, Kind, Role, Schema, Taxonomy, called
from shoal.types.statistical_files import Variable, declared_missing

#: A column of text is numeric if at least this share of its cells reads as numbers: the others then count as errors,
#: reported with their rows, and not as a sign that the column holds categories.
NUMERIC_SHARE = 0.5
_SAMPLE = 1000


def kind_of(column: pa.ChunkedArray, dialect: Dialect | None, field: pa.Field | None = None) -> Kind:
    """Infer the kind of a column from its measure, its type, or its cells.

    A measure is the level of measurement that a statistical package stores in the metadata of a field.

    >>> import pyarrow as pa
    >>> kind_of(pa.chunked_array([["1", "2"]]), Dialect()).value
    'integer'
    >>> kind_of(pa.chunked_array([["007", "120"]]), Dialect()).value  # leading zeros: a code
    'nominal'
    """
    if dialect is not None and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return _kind_of_cells(column, dialect)
    noted = Variable.of(field) if field is not None else None
    if noted is not None and (measured := _kind_of_measure(noted, column)) is not None:
        return measured
    return _kind_of_type(column.type)


def _kind_of_type(kind: pa.DataType) -> Kind:
    if pa.types.is_integer(kind):
        return Kind.INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Kind.CONTINUOUS
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Kind.DATETIME
    if pa.types.is_dictionary(kind) and kind.ordered:
        return Kind.ORDINAL
    return Kind.NOMINAL


def _kind_of_measure(variable: Variable, column: pa.ChunkedArray) -> Kind | None:
    """Return the kind by the measure; without one, values that all have a label are categories."""
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if variable.measure == "nominal":
        return Kind.NOMINAL
    if variable.measure == "ordinal":
        return Kind.ORDINAL if numbers else Kind.NOMINAL  # texts have no order of their own
    if variable.measure == "unknown" and numbers and variable.labels:
        values = _present(variable, column).unique().to_pylist()
        labelled = {value for value, _ in variable.labels}
        return Kind.NOMINAL if values and labelled.issuperset(values) else None
    return None


def _present(variable: Variable, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values that are present and not declared missing."""
    return column.filter(pc.invert(declared_missing(variable, column))).drop_null()


def _kind_of_cells(column: pa.ChunkedArray, dialect: Dialect) -> Kind:
    """Infer the kind from the cells, first from a sample: most columns of categories are recognised by then."""
    rows = np.unique(np.linspace(0, len(column) - 1, _SAMPLE).astype(np.int64))
    sample = cells.tidy(column.take(pa.array(rows)), dialect)
    numbers = _count(sample, Kind.CONTINUOUS, dialect)
    if len(sample) < len(column) and (sample.null_count == len(sample) or numbers):
        sample = cells.tidy(column, dialect)
        numbers = _count(sample, Kind.CONTINUOUS, dialect)
    enough = NUMERIC_SHARE * (len(sample) - sample.null_count)
    if enough and numbers >= enough and not _has_codes(sample):
        return Kind.INTEGER if _is_whole(sample, dialect, numbers) else Kind.CONTINUOUS
    return Kind.DATETIME if enough and _count(sample, Kind.DATETIME, dialect) >= enough else Kind.NOMINAL


def _has_codes(read: pa.ChunkedArray) -> bool:
    """Tell whether a cell has a leading zero that a number would not have."""
    digits = pc.utf8_ltrim(read, characters="+-")
    zeros = digits.filter(pc.starts_with(digits, "0"))
    return bool(pc.any(pc.match_substring_regex(zeros, "^0[0-9]")).as_py())


def _is_whole(read: pa.ChunkedArray, dialect: Dialect, numbers: int) -> bool:
    """Tell whether all `numbers` numbers are integers that certainly fit into 64 bits."""
    few = read.slice(0, _SAMPLE)
    if pc.max(pc.utf8_length(read)).as_py() > 18 or _count(few, Kind.INTEGER, dialect) < _count(
        few, Kind.CONTINUOUS, dialect
    ):
        return False
    return _count(read, Kind.INTEGER, dialect) >= numbers


def _count(read: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> int:
    """Return how many cells read as a kind; if all do, without matching each against a pattern."""
    few = read.slice(0, _SAMPLE)  # reading unreadable cells is slow, so try a few first
    if cells.readable(few, kind, dialect) and cells.readable(read, kind, dialect):
        return int(len(read) - read.null_count)
    return int(pc.sum(cells.fits(read, kind, dialect)).as_py() or 0)


def schema_of(
    data: pa.Table,
    roles: Mapping[str, Role],
    kinds: Mapping[str, Kind],
    dialect: Dialect | None = None,
    unread: tuple[str, ...] = (),
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
) -> Schema:
    """Return the schema of a table.

    Parameters
    ----------
    data
        The columns.
    roles
        Roles by column name; an unnamed column is ``other``.
    kinds
        Kinds by column name, where they differ from the inferred ones.
    dialect
        How the cells of a text file are written.
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
    raise_all(SchemaError, [*_faults(data, roles, known, unread), *_misfits(trees, ranks, kinds)])
    found = {**dict.fromkeys(trees, Kind.NOMINAL), **dict.fromkeys(ranks, Kind.ORDINAL), **kinds}
    columns = [
        Column(
            name,
            roles.get(name, Role.OTHER),
            found.get(name) or kind_of(data.column(name), dialect, data.schema.field(name)),
            trees.get(name),
            ranks.get(name, ()),
        )
        for name in data.column_names
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


def _faults(data: pa.Table, roles: Mapping[str, Role], kinds: Mapping[str, Any], unread: tuple[str, ...]) -> list[str]:
    names = [*data.column_names, *unread]
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
        for name in data.column_names
        if pa.types.is_interval(data.schema.field(name).type)
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
            f"Column {column.name!r}: every value must be in its order, {ranks.count(None):,} of {len(ranks):,} are "
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
