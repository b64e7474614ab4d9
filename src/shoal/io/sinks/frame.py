"""Frames in memory: pandas, polars or pyarrow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.types import as_it_was, plain, with_columns, without_unused
from shoal.types.released import released, released_column


def pandas_released(frame: Any, *, attrs: Mapping[Any, Any], keep: bool, whole: Mapping[str, Sequence[Any]]) -> Any:
    """Return a pandas frame with only the categories that occur, or those of `whole`.

    Ordered categories keep their order; others are sorted, so that their order does not reveal that of rows. With
    `keep` the frame has these attrs, and its columns keep their common name.
    """
    pd = nw.get_native_namespace(frame)
    fresh = {}
    for place, (name, kind) in enumerate(frame.dtypes.items()):
        column = frame.iloc[:, place]
        if isinstance(kind, pd.CategoricalDtype):
            fresh[name] = _pandas_categories(column.array, whole.get(name))
        elif isinstance(kind, pd.ArrowDtype):
            cells = column.array.__arrow_array__()
            fresh[name] = pd.arrays.ArrowExtensionArray(released_column(_chunked(cells), whole=whole.get(name)))
    frame = frame.copy(deep=False)
    for name, values in fresh.items():
        frame[name] = values
    if not keep:
        frame.columns = frame.columns.rename(None)
    frame.attrs = dict(attrs) if keep else {}
    return frame


def _chunked(cells: Any) -> Any:
    return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])


def _pandas_categories(column: Any, whole: Sequence[Any] | None) -> Any:
    if whole is not None:
        return column.set_categories(list(whole))
    column = column.remove_unused_categories()
    return column if column.ordered else column.reorder_categories(_sorted(column.categories))


def _sorted(categories: Any) -> Any:
    """Sort categories; those of several types by type, then by their Python text."""
    try:
        return categories.sort_values()
    except TypeError:
        return sorted(categories, key=lambda value: (type(value).__name__, repr(value)))


def polars_released(frame: Any, *, keep: bool, whole: Mapping[str, Sequence[Any]]) -> Any:
    """Return a polars frame whose Enums have only the categories that occur, or those of `whole`, in their order.

    A Categorical needs no change: whatever other categories polars has in memory, files, pickles and Arrow tables get
    those that occur, in row order. Named sets of categories become unnamed, unless `keep`.
    """
    import polars as pl

    fresh = []
    for column in frame.get_columns():
        given = whole.get(column.name) if isinstance(column.dtype, pl.Enum) else None
        kind = _polars_type(column, keep) if given is None else pl.Enum(list(given))
        if kind != column.dtype:
            fresh.append(column.cast(_as_text(kind)).cast(kind))  # inside arrays polars casts only from text
    return frame.with_columns(fresh)


def _as_text(kind: Any) -> Any:
    """Return a polars type with text in place of categories."""
    import polars as pl

    if isinstance(kind, pl.Enum | pl.Categorical):
        return pl.String()
    if isinstance(kind, pl.List):
        return pl.List(_as_text(kind.inner))
    if isinstance(kind, pl.Array):
        return pl.Array(_as_text(kind.inner), kind.size)
    if isinstance(kind, pl.Struct):
        return pl.Struct([pl.Field(one.name, _as_text(one.dtype)) for one in kind.fields])
    return kind


def _polars_type(column: Any, keep: bool) -> Any:
    """Return the type of a column with only the categories that occur, also inside lists and records."""
    import polars as pl

    kind = column.dtype
    if isinstance(kind, pl.Enum):
        used = set(column.unique().to_list())
        return pl.Enum([name for name in kind.categories if name in used])
    if isinstance(kind, pl.Categorical):
        named = getattr(kind, "categories", None)  # missing in older versions of polars
        return kind if keep or named is None or named.is_global() else pl.Categorical()
    if isinstance(kind, pl.List):
        return pl.List(_polars_type(column.drop_nulls().explode(), keep))
    if isinstance(kind, pl.Array):
        return pl.Array(_polars_type(column.drop_nulls().explode(), keep), kind.size)
    if isinstance(kind, pl.Struct):
        inside = [pl.Field(one.name, _polars_type(column.struct.field(one.name), keep)) for one in kind.fields]
        return pl.Struct(inside)
    return kind


@dataclass(frozen=True)
class Frame:
    """Frames in memory: a DataFrame of pandas or polars, or a Table of pyarrow."""

    def rows(self, native: Any, positions: NDArray[np.int64]) -> Any:
        """Return a frame of some of the rows of another, by position, in their order.

        Categories of other rows are dropped, except in polars, which shares them among all frames.
        """
        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        if frame.implementation.is_pyarrow():
            return _pyarrow_rows(native, positions)
        found = frame[positions.tolist(), :].to_native()
        if frame.implementation.is_pandas():
            categories = nw.get_native_namespace(native).CategoricalDtype
            for name in [name for name, kind in found.dtypes.items() if isinstance(kind, categories)]:
                found[name] = found[name].cat.remove_unused_categories()
        return found

    def fresh(self, native: Any, columns: pa.Table) -> Any:
        """Return a new frame of the same library with these columns, and nothing from the old one.

        Integers are int64, numbers float64; categories are the whole dictionary of a column, in its order.

        >>> import pyarrow as pa
        >>> Frame().fresh(pa.table({"id": [1]}), pa.table({"age": [31.5, 44.0]})).to_pydict()
        {'age': [31.5, 44.0]}
        """
        backend = nw.from_native(native, eager_only=True).implementation
        if backend.is_pyarrow():
            return columns
        if backend.is_pandas():
            return columns.to_pandas()
        frame = nw.from_arrow(columns, backend=backend)
        lists = {
            field.name: columns.column(field.name).unify_dictionaries().chunk(0).dictionary.to_pylist()
            for field in columns.schema
            if pa.types.is_dictionary(field.type)
        }
        return frame.with_columns(
            *(nw.col(name).cast(nw.String).cast(nw.Enum(names)) for name, names in lists.items())
        ).to_native()

    def in_order(self, native: Any, names: Sequence[str]) -> Any:
        """Return a frame with its columns in this order."""
        return nw.from_native(native, eager_only=True).select(*names).to_native()

    def write(self, native: Any, columns: pa.Table, drop: Collection[str]) -> Any:
        """Return a copy of a frame with new values in some columns, others dropped, and the rest unchanged.

        Rows are matched by position. The index and the attrs of pandas are removed: they could name people. A new
        column comes last. The given frame is not changed, and no Arrow memory is shared with it, which could hold more
        than the column shows.

        Parameters
        ----------
        native
            A frame of pandas, polars or pyarrow.
        columns
            The new values, one row for each of the frame's.
        drop
            Names of columns to remove.

        >>> import pyarrow as pa
        >>> frame = pa.table({"id": [1, 2], "age": [31, 44], "sex": ["f", "m"]})
        >>> Frame().write(frame, pa.table({"age": [37.5, 37.5]}), ["id"]).to_pydict()
        {'age': [37.5, 37.5], 'sex': ['f', 'm']}
        """
        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        if columns.num_columns and columns.num_rows != len(frame):
            raise DataError(
                f"Frame: there must be one new value for each of the {len(frame):,} rows, "
                f"got {columns.num_rows:,}. Give the frame that was read."
            )
        gone = [name for name in frame.columns if name in drop]
        if frame.implementation.is_pyarrow():
            return _pyarrow(native, columns, gone)
        if frame.implementation.is_pandas():
            new = {name: _pandas(native, name, columns.column(name)) for name in columns.column_names}
            return _with_new(native.drop(columns=gone).copy(), {**_arrow_copies(native, {*gone, *new}), **new})
        fresh = nw.from_arrow(columns, backend=frame.implementation)
        every = np.arange(len(frame))  # polars copies rows taken by position
        return frame.drop(gone)[every, :].with_columns(*fresh.iter_columns()).to_native()

    def released(
        self,
        native: Any,
        unchanged: Collection[str],
        *,
        attrs: Mapping[Any, Any] | None = None,
        keep: bool = False,
        whole: Mapping[str, Sequence[Any]] | None = None,
    ) -> Any:
        """Return a frame ready to be returned: only categories that occur, no metadata; for pyarrow also copied.

        Parameters are those of :func:`shoal.types.released.released`; with `keep`, a pandas frame has these
        `attrs`.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"sex": pd.Categorical(["m", "f"], ["m", "other", "f"])})
        >>> Frame().released(frame, ())["sex"].cat.categories.tolist()
        ['f', 'm']
        """
        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        if frame.implementation.is_pyarrow():
            return released(native, unchanged, keep=keep, whole=whole)
        if frame.implementation.is_polars():
            return polars_released(native, keep=keep, whole=whole or {})
        return pandas_released(native, attrs=attrs or {}, keep=keep, whole=whole or {})


def _pyarrow_rows(table: pa.Table, positions: NDArray[np.int64]) -> pa.Table:
    """Return some rows of a table, also of types that Arrow's take does not support."""
    found = plain(table).take(positions)
    columns = {field.name: as_it_was(without_unused(found.column(field.name)), field.type) for field in table.schema}
    return with_columns(found, columns)


def _pyarrow(table: pa.Table, columns: pa.Table, drop: list[str]) -> pa.Table:
    """Return the table with new columns, keeping the metadata of existing ones."""
    table = table.drop_columns(drop)
    for field, column in zip(columns.schema, columns.columns, strict=True):
        place = table.schema.get_field_index(field.name)
        if place < 0:
            table = table.append_column(field, column)
        else:
            old = table.schema.field(place)
            fresh, kept = as_it_was(column, old.type), field.metadata or old.metadata
            table = table.set_column(place, field.with_type(fresh.type).with_metadata(kept), fresh)
    notes = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"pandas"}
    return table.replace_schema_metadata(notes or None)  # pandas notes the names of all columns


def _arrow_copies(frame: Any, but: Collection[str]) -> dict[str, Any]:
    """Copy the columns that pandas stores in Arrow, which it would share with the given frame."""
    pd = nw.get_native_namespace(frame)
    found = {}
    for name, kind in frame.dtypes.items():
        if name in but:
            continue
        if isinstance(kind, pd.ArrowDtype):
            found[name] = pd.arrays.ArrowExtensionArray(released_column(frame[name].array.__arrow_array__()))
        elif getattr(kind, "storage", "") == "pyarrow":
            found[name] = frame[name].array.take(np.arange(len(frame)))
    return found


def _with_new(frame: Any, new: dict[str, Any]) -> Any:
    """Return the frame with new columns and rows numbered from 0: an index could name people like any column.

    So could the attrs of a frame.
    """
    frame = frame.reset_index(drop=True)
    for name, values in new.items():
        frame[name] = values
    frame.attrs = {}
    return frame


def _pandas(native: Any, name: str, column: Any) -> Any:
    """Return the column as a pandas array, stored like the column it replaces."""
    pd = nw.get_native_namespace(native)
    old = native.dtypes[name] if name in native.columns else None
    if isinstance(old, pd.ArrowDtype):
        return pd.arrays.ArrowExtensionArray(column)
    if getattr(old, "na_value", None) is pd.NA:
        return column.to_pandas(types_mapper=_nullable(pd).get).array
    return column.to_pandas().array


def _nullable(pd: Any) -> dict[Any, Any]:
    """Return the nullable pandas types for Arrow types."""
    names = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
    found = {getattr(pa, name.lower())(): getattr(pd, f"{name}Dtype")() for name in names}
    return found | {
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
        pa.large_string(): pd.StringDtype(),
    }
