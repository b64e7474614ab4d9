"""Any column as numbers of its different values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


def categories(name: str, column: pa.ChunkedArray, otherwise: str) -> NDArray[np.int64]:
    """Return a number for each different value of a column, a missing one among them.

    `otherwise` is what to say of a column of lists or structures: what it cannot do, and what to do about it.
    """
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowException:
        raise DataError(f"Column {name!r}: {column.type} {otherwise}") from None
    return np.asarray(encoded.indices.to_numpy(), np.int64)
