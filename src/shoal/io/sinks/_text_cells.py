"""Conversion of columns of any type to text cells."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from shoal.errors import DataError, raise_all
from shoal.types import Dialect
from shoal.types.statistical_files import untagged

#: From the first number on Arrow writes doubles with an exponent; readers expect plain digits, up to the second.
_EXPONENT_FROM, _EXPONENT_WANTED = 1e10, 1e16


def to_text(table: pa.Table, dialect: Dialect) -> pa.Table:
    """Return the table with every column as text; nulls stay null.

    Floats have the fewest digits that parse as the same number, and -0.0 is 0; times are ISO 8601.

    Raises
    ------
    DataError
        If columns hold lists, records, bytes or other values that a text cell cannot.

    >>> import pyarrow as pa
    >>> to_text(pa.table({"age": [31.5, None]}), Dialect(decimal=","))["age"].to_pylist()
    ['31,5', None]
    """
    if table.num_columns == 0:
        raise DataError("Csv: there must be at least one column, got none. Release at least one.")
    raise_all(
        DataError,
        [
            f"Csv: column {field.name!r} must hold numbers, text, booleans, dates or times, got {field.type}. Drop "
            "the column, or write Parquet."
            for field in table.schema
            if not _is_plain(field.type)
        ],
    )
    columns = [_text(untagged(*pair), dialect) for pair in zip(table.schema, table.columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema([(name, pa.string()) for name in table.column_names]))


def _is_plain(kind: Any) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return _is_plain(kind.storage_type)
    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    times = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind)
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(texts or times or numbers or types.is_boolean(kind) or types.is_null(kind))


def _text(column: Any, dialect: Dialect) -> Any:
    """Return a column as text."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _text(column.cast(kind.storage_type), dialect)
    if types.is_dictionary(kind):
        return _text(column.cast(kind.value_type), dialect)
    if types.is_floating(kind) or types.is_decimal(kind):
        return _number(column, dialect.decimal)
    if types.is_date(kind) or types.is_timestamp(kind):
        return _moment(column, dialect)
    return _trimmed(column.cast(pa.string()), "$") if types.is_time(kind) else column.cast(pa.string())


def _number(column: Any, decimal: str) -> Any:
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 + 0.0 is 0.0
    text = column.cast(pa.string())
    if pa.types.is_float64(column.type):
        size = pc.abs(column)
        large: Any = pc.and_(
            pc.greater_equal(size, pa.scalar(_EXPONENT_FROM)), pc.less(size, pa.scalar(_EXPONENT_WANTED))
        )
        if pc.any(large).as_py():
            digits = [repr(value.as_py()).removesuffix(".0") for value in column.filter(large)]
            large = pc.fill_null(large, False).combine_chunks()
            text = pc.replace_with_mask(text.combine_chunks(), large, pa.array(digits, pa.string()))
            text = pa.chunked_array([text])
    return text if decimal == "." else pc.replace_substring(text, ".", decimal)


def _moment(column: Any, dialect: Dialect) -> Any:
    if pa.types.is_date64(column.type):
        column = column.cast(pa.date32())
    dated = pa.types.is_date(column.type)
    if dialect.datetime is not None:
        whole = column if dated else column.cast(pa.timestamp("s", column.type.tz), safe=False)
        return pc.strftime(whole, dialect.datetime)
    text = column.cast(pa.string())
    if dated:
        return text
    text = pc.replace_substring(text, " ", dialect.moment, max_replacements=1)
    if column.type.tz is not None:
        text = pc.replace_substring_regex(text, r"([+-][0-9]{2})([0-9]{2})$", r"\1:\2")
        text = pc.replace_substring_regex(text, r"[+-]00:00$", "Z")
    return text if column.type.unit == "s" else _trimmed(text, "Z|[+-]..:..|$")


def _trimmed(text: Any, end: str) -> Any:
    """Return times without trailing zeros in their fractions of a second."""
    text = pc.replace_substring_regex(text, rf"(\.[0-9]*[1-9])0+({end})", r"\1\2")
    return pc.replace_substring_regex(text, rf"\.0+({end})", r"\1")
