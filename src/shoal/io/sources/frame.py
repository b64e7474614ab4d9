"""Frames in memory: pandas, polars or pyarrow."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import narwhals.dependencies as known
import pyarrow as pa

from shoal.errors import DataError, ParameterError
from shoal.io.sources._file import check_names
from shoal.types import plain


@dataclass(frozen=True)
class Frame:
    """Frames in memory: a DataFrame of pandas or polars, or a Table of pyarrow."""

    def read(self, native: Any) -> tuple[pa.Table, tuple[str, ...]]:
        """Return the columns in Arrow, rows by position, and the names of columns that Arrow cannot hold.

        Raises
        ------
        ParameterError
            If it is not a frame.
        SchemaError
            If column names are not text, empty or duplicated.
        DataError
            If there are no rows or no columns.

        >>> import pyarrow as pa
        >>> table, left_out = Frame().read(pa.table({"age": [31, 44]}))
        >>> table.num_rows, left_out
        (2, ())
        """
        check_names("Frame", _names(native))
        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        if frame.implementation.is_pyarrow():
            return _with_rows(native), ()
        columns: dict[str, Any] = {}
        for name, kind in frame.schema.items():
            if frame.implementation.is_polars() and kind == nw.Object:
                continue  # polars would return memory addresses
            try:
                columns[name] = frame[name].to_arrow()
            except Exception:  # the frame's own library may raise anything, with a value in its message
                continue
        if len(frame) and frame.columns and not columns:
            raise DataError("Frame: no column is of a type that Arrow can hold. Convert the columns.")
        left_out = tuple(name for name in frame.columns if name not in columns)
        return _with_rows(pa.table(columns)), left_out


def index_as_columns(native: Any, names: Collection[str]) -> tuple[Any, list[str], str]:
    """Convert named levels of the index to columns; return the frame, their names and a note on other levels.

    Only pandas has an index. It may name people, so it is not released. An index of row numbers needs no note.
    """
    if not known.is_pandas_dataframe(native):
        return native, [], ""
    taken = [name for name in native.index.names if name in names and name not in native.columns]
    if taken:
        native = native.reset_index(level=taken)
    if type(native.index).__name__ == "RangeIndex":
        return native, taken, ""
    return native, taken, "The index of the frame was removed, because it may identify people."


def _names(native: Any) -> list[object]:
    """Return the names of a frame's columns, before narwhals does, because it refuses duplicates."""
    if known.is_pandas_dataframe(native) or known.is_polars_dataframe(native):
        return list(native.columns)
    if known.is_pyarrow_table(native):
        return list(native.column_names)
    lazy = " Collect it first." if known.is_polars_lazyframe(native) else " Convert it to one of these."
    raise ParameterError(
        "Frame: must be a pandas.DataFrame, a polars.DataFrame, a pyarrow.Table or another Arrow table, "
        f"got {type(native).__module__.partition('.')[0]}.{type(native).__qualname__}.{lazy}"
    )


def _with_rows(table: pa.Table) -> pa.Table:
    for thing, count in (("column", table.num_columns), ("row", table.num_rows)):
        if count == 0:
            raise DataError(f"Frame: must have at least one {thing}, got none. Check how it was made.")
    return plain(table)
