"""Orders of categories that a recipe gives, where the column itself cannot say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.types import Column, called
from shoal.types.data.statistical_files import Variable, declared_missing

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


def without_user_missing(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in which the values that its file declares to be missing are missing; as it is, if there is none.

    A refusal coded as −9 is no number: with its declaration it counts as a missing value does, in methods and audits.

    >>> import pyarrow as pa
    >>> pay = Variable("spss", missing=((-9, -9), (900, 999))).onto(pa.field("pay", pa.int64()))
    >>> without_user_missing(pay, pa.chunked_array([[-9, 10, 950]])).to_pylist()
    [None, 10, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    variable = Variable.of(field)
    if variable is None or not variable.missing:
        return column
    flags = declared_missing(variable, column)
    return pc.if_else(flags, pa.scalar(None, column.type), column) if pc.any(flags).as_py() else column
