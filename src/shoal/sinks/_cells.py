"""Columns of any type → the text of their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, raise_all

if TYPE_CHECKING:
    import pyarrow as pa

#: From the first on Arrow writes doubles with an exponent; people expect digits, up to the second.
_EXPONENT_FROM, _EXPONENT_WANTED = 1e10, 1e16


def to_text(table: pa.Table, decimal: str) -> pa.Table:
    """Return the table with every column as text, null where it is null.

    Floats have the fewest digits that read back as the same number, and -0.0 is 0; times are ISO 8601.

    Raises
    ------
    DataError
        If columns hold lists, records, bytes or other things that a cell of text cannot.

    >>> import pyarrow as pa
    >>> to_text(pa.table({"age": [31.5, None]}), ",")["age"].to_pylist()
    ['31,5', None]
    """
    import pyarrow as pa

    raise_all(
        DataError,
        [
            f"Csv: column {field.name!r} must be of numbers, texts, truth values or times, got {field.type}. "
            "Drop the column, or write Parquet."
            for field in table.schema
            if not _is_plain(field.type)
        ],
    )
    columns = [_text(column, decimal) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=pa.schema([(name, pa.string()) for name in table.column_names]))


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    if isinstance(kind, _extension()):
        return _is_plain(kind.storage_type)
    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    times = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind)
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(texts or times or numbers or types.is_boolean(kind) or types.is_null(kind))


def _extension() -> type[Any]:
    import pyarrow as pa

    kind: type[Any] = pa.BaseExtensionType
    return kind


def _text(column: Any, decimal: str) -> Any:
    """Return a column as text."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if isinstance(kind, _extension()):
        return _text(column.cast(kind.storage_type), decimal)
    if types.is_dictionary(kind):
        return _text(column.cast(kind.value_type), decimal)
    if types.is_floating(kind) or types.is_timestamp(kind) or types.is_decimal(kind):
        return _each_value_once(column, decimal)
    if types.is_date64(kind):
        column = column.cast(pa.date32())
    return _trimmed(column.cast(pa.string()), "$") if types.is_time(kind) else column.cast(pa.string())


def _each_value_once(column: Any, decimal: str) -> Any:
    """Return a column as text, each different value rendered once: a release has few in each column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 + 0.0 is 0.0
    encoded = column.dictionary_encode()
    chunks, done = [], None
    for chunk in encoded.chunks:
        if done is None or chunk.dictionary is not done[0]:
            done = (chunk.dictionary, _rendered(chunk.dictionary, decimal))
        chunks.append(done[1].take(chunk.indices))
    return pa.chunked_array(chunks, pa.string())


def _rendered(values: Any, decimal: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(values.type):
        if values.type.tz is None:
            return _trimmed(pc.strftime(values, "%Y-%m-%dT%H:%M:%S"), "$")
        text = _trimmed(pc.strftime(values, "%Y-%m-%dT%H:%M:%S%Ez"), "[+-]..:..$")
        return pc.replace_substring_regex(text, r"[+-]00:00$", "Z")
    text = values.cast(pa.string())
    if pa.types.is_float64(values.type):
        size = pc.abs(values)
        large: Any = pc.and_(
            pc.greater_equal(size, pa.scalar(_EXPONENT_FROM)), pc.less(size, pa.scalar(_EXPONENT_WANTED))
        )
        large = pc.fill_null(large, False)
        if pc.any(large).as_py():
            digits = [repr(value.as_py()).removesuffix(".0") for value in values.filter(large)]
            text = pc.replace_with_mask(text, large, pa.array(digits, pa.string()))
    return text if decimal == "." else pc.replace_substring(text, ".", decimal)


def _trimmed(text: Any, end: str) -> Any:
    """Return times without the zeros that end their fractions of a second."""
    import pyarrow.compute as pc

    text = pc.replace_substring_regex(text, rf"(\.[0-9]*[1-9])0+({end})", r"\1\2")
    return pc.replace_substring_regex(text, rf"\.0+({end})", r"\1")
