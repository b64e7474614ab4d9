"""Categories of released columns of pandas and polars: only those that occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.types.released_column import released_column


def pandas_released(frame: Any, *, attrs: Mapping[Any, Any], keep: bool, whole: Mapping[str, Sequence[Any]]) -> Any:
    """Return a frame of pandas whose columns have the categories that occur, or those of `whole`.

    Ordered categories stay in their order; others are sorted, so that their order says nothing about that of rows. With
    `keep` the frame has these attrs, and its columns keep their common name.
    """
    import narwhals as nw

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
    import pyarrow as pa

    return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])


def _pandas_categories(column: Any, whole: Sequence[Any] | None) -> Any:
    if whole is not None:
        return column.set_categories(list(whole))
    column = column.remove_unused_categories()
    return column if column.ordered else column.reorder_categories(_sorted(column.categories))


def _sorted(categories: Any) -> Any:
    """Return categories in order; those of several types by type, and then as Python writes them."""
    try:
        return categories.sort_values()
    except TypeError:
        return sorted(categories, key=lambda value: (type(value).__name__, repr(value)))


def polars_released(frame: Any, *, keep: bool, whole: Mapping[str, Sequence[Any]]) -> Any:
    """Return a frame of polars whose Enums have the categories that occur, or those of `whole`, in their order.

    A Categorical needs nothing: whatever other categories polars has in memory, files, pickles and Arrow tables get
    those that occur, in the order of the rows. Named sets of categories become the unnamed one, unless `keep`.
    """
    import polars as pl

    fresh = []
    for column in frame.get_columns():
        given = whole.get(column.name)
        kind = pl.Enum(list(given)) if given is not None and _is_enum(column.dtype) else _polars_type(column, keep)
        if kind != column.dtype:
            fresh.append(column.cast(_as_text(kind)).cast(kind))  # inside arrays polars casts texts only
    return frame.with_columns(fresh)


def _as_text(kind: Any) -> Any:
    """Return a type of polars with texts for categories."""
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


def _is_enum(kind: Any) -> bool:
    import polars as pl

    return isinstance(kind, pl.Enum)


def _polars_type(column: Any, keep: bool) -> Any:
    """Return the type of a column with the categories that occur, also inside lists and records."""
    import polars as pl

    kind = column.dtype
    if isinstance(kind, pl.Enum):
        used = set(column.unique().to_list())
        return pl.Enum([name for name in kind.categories if name in used])
    if isinstance(kind, pl.Categorical):
        named = getattr(kind, "categories", None)  # which older versions of polars have not
        return kind if keep or named is None or named.is_global() else pl.Categorical()
    if isinstance(kind, pl.List):
        return pl.List(_polars_type(column.drop_nulls().explode(), keep))
    if isinstance(kind, pl.Array):
        return pl.Array(_polars_type(column.drop_nulls().explode(), keep), kind.size)
    if isinstance(kind, pl.Struct):
        inside = [pl.Field(one.name, _polars_type(column.struct.field(one.name), keep)) for one in kind.fields]
        return pl.Struct(inside)
    return kind
