"""Arrow stream of a protected table: the columns that were audited, whatever library holds them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from shoal.errors import DataError, ParameterError, listing


def reader_of(data: Any) -> pa.RecordBatchReader:
    """Return a reader of a frame, or of a released file that is larger than memory.

    >>> reader_of(pa.table({"age": [40, 40]})).read_all().num_rows
    2
    """
    if isinstance(data, ds.Dataset):
        return data.scanner().to_reader()
    if type(data).__module__.startswith("pyspark."):
        raise ParameterError(
            "Protected: data must be in memory for an Arrow stream; this is on a cluster. Use done.data."
        )
    from shoal.io.sources.frame import Frame

    table, unread = Frame().read(data)
    if unread:
        raise DataError(f"Protected: Arrow cannot hold the columns {listing(unread)}. Use done.data.")
    return table.to_reader()
