"""Categories by their numbers become a column again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def as_column(places: NDArray[np.int64], values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return some of the values as a column of a type; −1: missing."""
    import pyarrow as pa

    if not pa.types.is_dictionary(kind):
        return values.take(pa.array(places, mask=places < 0)).cast(kind)
    most = np.iinfo(kind.index_type.to_pandas_dtype()).max
    index = kind.index_type if len(values) <= most else pa.int32()  # an order may name more than the column had
    indices = pa.array(np.maximum(places, 0), mask=places < 0).cast(index)
    return pa.DictionaryArray.from_arrays(indices, values.cast(kind.value_type), ordered=kind.ordered)
