"""Lazy frames and Arrow C streams, read into memory: polars LazyFrames, DuckDB relations, record batch readers."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import narwhals.dependencies as known
import pyarrow as pa

from shoal.errors import DataError, ParameterError


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that hands over a table by the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with an ArrowArrayStream."""


def in_memory(native: Any) -> Any:
    """Return a frame that is in memory: a LazyFrame is collected, any other Arrow stream becomes a pyarrow table.

    Frames of pandas, polars and pyarrow stay as they are, and so does anything that is neither frame nor stream.

    Raises
    ------
    ParameterError
        If it is a Spark DataFrame, which would have to move from its cluster.
    DataError
        If the stream fails or has no rows. The message of its library, which may hold a value, is not repeated.

    >>> reader = pa.table({"age": [31, 44]}).to_reader()
    >>> in_memory(reader).num_rows
    2
    """
    if known.is_pandas_dataframe(native) or known.is_polars_dataframe(native) or known.is_pyarrow_table(native):
        return native
    lazy = known.is_polars_lazyframe(native)
    if not lazy and (not isinstance(native, ArrowStream) or known.is_into_series(native)):
        return native
    kind = f"{type(native).__module__.partition('.')[0]}.{type(native).__qualname__}"
    if kind.startswith("pyspark."):
        raise ParameterError(
            f"Frame: must be in the memory of this machine, got {kind}. Use shoal.spark, which works on its cluster."
        )
    try:
        found = native.collect() if lazy else pa.table(native)
    except Exception as error:  # the stream's own library may raise anything, with a value in its message
        failed = type(error).__name__
    else:
        if len(found):
            return found
        raise DataError(f"Frame: {kind} has no rows. If it is a reader that was read before, make a new one.")
    raise DataError(f"Frame: {kind} cannot be read as a table ({failed}). Run its query by itself to see why.")
