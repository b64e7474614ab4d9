"""Orders of categories that a recipe gives, where the column itself cannot say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.types import Column, called

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
