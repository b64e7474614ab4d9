"""Columns of tuples, whatever holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.errors import DataError, SchemaError

#: What Arrow says of cells that it cannot hold; the message may hold one.
UNFIT = (ValueError, TypeError, NotImplementedError, OverflowError)


def columns_of(given: Any) -> dict[str, Any]:
    """Return columns by name, of a mapping, or a frame of pandas, polars or Arrow."""
    if isinstance(given, Mapping):
        found = {str(name): _masked(column) for name, column in given.items()}
        odd = [name for name, column in found.items() if not _is_column(column)]
        if odd or len(found) < len(given):
            raise DataError(
                "StreamAnonymizer: columns must be lists or arrays of one dimension, each with its own name, got "
                "others. Push a list for each name."
            )
        return found
    if not hasattr(given, "column_names"):  # a frame of pandas or polars, not a table of Arrow
        import narwhals as nw

        try:
            given = nw.maybe_reset_index(nw.from_native(given, eager_only=True)).to_arrow()  # an index is no field
        except nw.exceptions.DuplicateError:
            raise DataError("StreamAnonymizer: columns must have different names, got one twice. Rename it.") from None
        except TypeError:
            raise DataError(
                "StreamAnonymizer: tuples must come as a list of dicts, a mapping of columns, or a frame of pandas, "
                f"polars or pyarrow, got a {type(given).__name__}."
            ) from None
    if len(set(given.column_names)) < len(given.column_names):
        raise DataError("StreamAnonymizer: columns must have different names, got one twice. Rename it.")
    return {name: given.column(name) for name in given.column_names}


def _masked(column: Any) -> Any:
    """Return a column without what a mask hides."""
    return column.tolist() if isinstance(column, np.ma.MaskedArray) else column


def _is_column(column: Any) -> bool:
    return hasattr(column, "__len__") and not isinstance(column, (str, bytes)) and getattr(column, "ndim", 1) == 1


def as_arrow(column: Any) -> Any:
    """Return a column as an array of Arrow of its own."""
    import pyarrow as pa

    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        coded = pa.types.is_dictionary(column.type)  # the dictionary would leave whole, with values of all others
        return column.cast(column.type.value_type) if coded else column
    return pa.array(np.array(column) if isinstance(column, np.ndarray) else list(column))  # the caller may reuse it


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return columns as rows."""
    import pyarrow as pa

    try:
        return list(pa.table({name: as_arrow(column) for name, column in columns.items()}).to_pylist())
    except UNFIT:  # whose message may hold a cell
        raise SchemaError("StreamAnonymizer: a column mixes what no column can hold. Push tuples as dicts.") from None
