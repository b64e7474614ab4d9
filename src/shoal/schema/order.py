"""Orders of categories that a recipe gives, where the column itself cannot say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.types import Column

if TYPE_CHECKING:
    import pyarrow as pa


def in_order(column: Column, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells as ordered categories, where the column has an order; else as they are.

    >>> import pyarrow as pa
    >>> from shoal.types import Kind, Role
    >>> size = Column("size", Role.QUASI, Kind.ORDINAL, order=("low", "high"))
    >>> in_order(size, pa.chunked_array([["high", None, "low"]])).chunk(0).indices.to_pylist()
    [1, None, 0]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not column.order:
        return cells
    text = cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
    text = text.cast(pa.string())
    categories = pa.array(column.order, pa.string())
    places = pc.index_in(text, value_set=categories).combine_chunks()
    if places.null_count > text.null_count:
        records, values = places.null_count - text.null_count, len(text.drop_null().unique())
        strange = values - len(pc.unique(places.drop_null()))
        raise DataError(
            f"Column {column.name!r}: every value must be in its order, {strange:,} of {values:,} are not, in "
            f"{records:,} of {len(text):,} records. Add them to the order."
        )
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, categories, ordered=True)])
