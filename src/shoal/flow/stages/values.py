"""Values of columns: text cells parsed once, categories coded, incomplete records excluded, records grouped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, raise_all
from shoal.recipe.recipe import Recipe
from shoal.schema.cells import is_text, readable, tidy, values
from shoal.schema.roles import in_order, without_user_missing
from shoal.types import Dialect, Kind, Release, Role, Table, with_columns, without_unused
from shoal.types.table import PARSED


def categories(name: str, column: pa.ChunkedArray, otherwise: str) -> NDArray[np.int64]:
    """Return a code for each distinct value of a column; a missing value has its own code.

    `otherwise` completes the error for a column of lists or structures: the refusal and the remedy.
    """
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowException:
        raise DataError(f"Column {name!r}: {column.type} {otherwise}") from None
    return np.asarray(encoded.indices.to_numpy(), np.int64)


_READ = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)


def as_values(name: str, table: Table, *, exact: bool = False) -> pa.ChunkedArray:
    """Return a column with parsed cells: numbers or dates according to its kind, and missing values.

    An integer quasi-identifier is parsed as floats, because its means may have decimals; with `exact` it keeps its own
    type. Each column is parsed once.
    """
    return table.once((PARSED, (name,), exact), lambda: _parsed(name, table, exact=exact))


def _parsed(name: str, table: Table, *, exact: bool) -> pa.ChunkedArray:
    column = without_user_missing(table.data.schema.field(name), table.data.column(name))
    dialect = table.dialect or Dialect()
    role, kind = table.schema[name].role, table.schema[name].kind
    if not is_text(column):
        return in_order(table.schema[name], column)
    if role is Role.QUASI and kind is Kind.INTEGER and not exact:
        kind = Kind.CONTINUOUS  # means of integers are released unrounded
    if kind in _READ:
        return values(column, name, kind, dialect)
    read = column if table.dialect is None else tidy(column, dialect)
    if table.schema[name].order:
        return in_order(table.schema[name], read)
    for number in (Kind.INTEGER, Kind.CONTINUOUS) if kind is Kind.ORDINAL else ():  # 1 is released as 1, not 1.0
        if readable(tidy(column, dialect), number, dialect):
            return values(column, name, number, dialect)
    return read


def with_values(release: Release, names: Sequence[str]) -> Release:
    """Return a release with some columns also parsed as values, for audits that need values."""
    table = Table(release.data, release.schema, release.dialect)
    unread = [name for name in names if name not in release.read]
    if not unread:
        return release  # keeps the audit results cached on it
    return release.reading({name: as_values(name, table) for name in unread})


def complete_rows(table: Table, recipe: Recipe) -> NDArray[np.int64] | None:
    """Return the rows of released records if some are excluded; None if all are released."""
    if recipe.when_missing != "exclude":
        return None
    lacking = lacking_a_value(table)
    if not lacking.any():
        return None
    if lacking.all():
        raise DataError(
            f"Recipe: when_missing must leave records, but all {len(table):,} lack a quasi-identifier and would be "
            "excluded. Choose another when_missing, or other quasi-identifiers."
        )
    return np.flatnonzero(~lacking)


def lacking_a_value(table: Table) -> NDArray[np.bool_]:
    """Tell for each record whether a quasi-identifier is missing."""
    from shoal.schema.cells import without_nan

    lacking, faults = np.zeros(len(table), np.bool_), []
    for name in table.schema.names(Role.QUASI):
        try:  # as it will be encoded
            lacking |= np.asarray(without_nan(as_values(name, table, exact=True)).is_null().to_numpy())
        except DataError as error:
            faults.append(str(error))
    raise_all(DataError, faults)  # now, while row numbers are those of the file
    return lacking


def only_rows(table: Table, rows: NDArray[np.int64] | None) -> Table:
    """Return the table of some records, or of all if None; categories of other records are dropped."""
    if rows is None:
        return table
    data = table.data.take(rows)
    return replace(
        table,
        data=with_columns(data, {name: without_unused(data.column(name)) for name in data.column_names}),
        before=None if table.before is None else only_rows(table.before, rows),
    )


def subjects_of(table: Table, *, exact: bool = False) -> NDArray[np.int64] | None:
    """Return the subject number of each record; None without a subject column.

    Spellings that probably denote one subject are merged, unless `exact`; records without a subject share one number.
    """
    names = table.schema.names(Role.SUBJECT)
    if not names:
        return None
    otherwise = "cannot be a subject. Give it another role."
    return table.once(
        ("subjects", names, exact), lambda: categories(names[0], told_apart(table, names[0], exact=exact), otherwise)
    )


def named(data: pa.Table, name: str | None) -> pa.ChunkedArray | None:
    """Return the subject of each record for audits; no-answer codes count as missing. None: no such column."""
    from shoal.schema.roles import without_user_missing

    return None if name is None else without_user_missing(data.schema.field(name), data.column(name))


def told_apart(table: Table, name: str, *, exact: bool = False) -> pa.ChunkedArray:
    """Return a column in which spellings of one subject are equal; a record without a subject is missing.

    With `exact`, every non-blank spelling is a separate subject.
    """
    return table.once(("people", (name,), exact), lambda: _told_apart(table, name, exact=exact))


def people_in(table: Table, name: str | None, *, exact: bool = False) -> NDArray[np.int64] | None:
    """Return the number of each record's person or group; records without one share a number. None: no column."""
    if name is None:
        return None
    column = told_apart(table, name, exact=exact).combine_chunks()
    return np.asarray(column.dictionary_encode(null_encoding="encode").indices.to_numpy(), np.int64)


def _told_apart(table: Table, name: str, *, exact: bool) -> pa.ChunkedArray:
    from shoal.spelling import people

    column = named(table.data, name)
    assert column is not None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    column = _bytes_as_text(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if exact:
            blank = pc.equal(pc.utf8_trim_whitespace(column), "")
            return pc.if_else(blank, pa.scalar(None, column.type), column)
        encoded = column.combine_chunks().dictionary_encode()
        return pa.chunked_array([people(encoded.dictionary).take(encoded.indices)])
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def respelled(table: Table, recipe: Recipe) -> str:
    """Return a sentence on spellings that were merged into the same group; empty if none was merged.

    It is appended to refusals, which the merging may have caused.
    """
    name = recipe.counted
    if name is None or recipe.subject_exact:
        return ""
    apart, together = (set(told_apart(table, name, exact=exact).unique().to_pylist()) for exact in (True, False))
    count = len(apart - {None}) - len(together - {None})
    if count <= 0:
        return ""
    what = (
        "1 name was treated as another spelling" if count == 1 else f"{count:,} names were treated as other spellings"
    )
    return f" In column {name!r} {what} of the same one; if they differ, set subject_exact = true."


def _bytes_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert text stored as bytes or views to text, and other bytes to their digits: value by value.

    So batches of a table agree with each other.
    """
    kind = column.type
    stored = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_string_view)
    if not any(test(kind) for test in stored):
        return column
    try:
        return column.cast(pa.large_string())
    except pa.ArrowException:  # some bytes are not text
        encoded = column.combine_chunks().dictionary_encode()
        names = [None if value is None else _text_or_digits(value) for value in encoded.dictionary.to_pylist()]
        return pa.chunked_array([pa.array(names, pa.large_string()).take(encoded.indices)])


def _text_or_digits(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"bytes {value.hex()}"


def strata_of(table: Table) -> NDArray[np.int64] | None:
    """Return the stratum of each record, from 0; None without strata columns."""
    names = table.schema.names(Role.STRATA)
    return table.once(("strata", names, None), lambda: _strata(table, names)) if names else None


def _strata(table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    strata = np.zeros(len(table), np.int64)
    for name in names:
        codes = categories(name, table.data.column(name), "cannot be strata. Give it another role.")
        strata = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return strata


def read_as_missing(field: pa.Field, column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Tell for each value whether it is a code that its file declares as missing."""
    there = without_user_missing(field, column)
    return np.asarray(pc.and_(there.is_null(), column.is_valid()).to_numpy())


def refuse_codes(lost: Mapping[str, int], records: int) -> None:
    """Refuse released values that are codes for missing values, given in how many records of each column they are."""
    raise_all(
        DataError,
        [
            f"Column {name!r}: the value of a class must not be a code that its file declares as missing; in "
            f"{count:,} of {records:,} records it is. Choose another k or method, or other codes."
            for name, count in lost.items()
            if count
        ],
    )
