"""Records of two tables, matched by a column that names them in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import DataError, SchemaError, raise_all
from shoal.flow.categories import categories
from shoal.parameters import unknown
from shoal.types import Table

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def places_by_key(original: Table, masked: Table, key: str) -> NDArray[np.int64]:
    """Return for each record of the original its row in the masked table; −1 where it is not there.

    Raises
    ------
    SchemaError
        If a table has no such column.
    DataError
        If the key is missing or occurs twice in a table, or a masked record has one that the original has not.
    """
    import numpy as np
    import pyarrow as pa

    tables = {"original": original, "masked": masked}
    raise_all(
        SchemaError,
        [
            unknown(f"Compare, {which} table", "column (key)", key, table.data.column_names)
            for which, table in tables.items()
            if key not in table.data.column_names
        ],
    )
    n = len(original)
    both = pa.chunked_array([_text(key, c) for t in tables.values() for c in t.data.column(key).chunks])
    codes = categories(key, both, "cannot be a key. Name another column.")
    faults = []
    for which, own in (("original", codes[:n]), ("masked", codes[n:])):
        missing = tables[which].data.column(key).null_count
        if missing or len(np.unique(own)) < len(own):
            faults.append(
                f"Column {key!r}: a key must be there and differ for every record, but not in the {which} table. Name "
                f"another column."
            )
    strange = int((~np.isin(codes[n:], codes[:n])).sum())
    if strange:
        faults.append(
            f"Column {key!r}: every masked record must be in the original, {strange:,} of {len(masked):,} are not. "
            f"Give the file that was masked and its masked version."
        )
    raise_all(DataError, faults)
    row = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
    row[codes[n:]] = np.arange(len(codes) - n)
    return np.asarray(row[codes[:n]])


def _text(key: str, chunk: pa.Array) -> pa.Array:
    """Return a key as text: the same number may be a number in one table and text in the other."""
    import pyarrow as pa

    try:
        return chunk.cast(pa.large_string())
    except pa.ArrowException:
        raise DataError(f"Column {key!r}: {chunk.type} cannot be a key. Name another column.") from None
