"""Strata: classes never cross their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, listing
from shoal.types import Partition, Points, Role, Table

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def strata_of(table: Table, k: int) -> NDArray[np.int64] | None:
    """Return the stratum of each record; a stratum smaller than k cannot be served."""
    import numpy as np

    names = table.schema.names(Role.STRATA)
    if not names:
        return None
    strata = np.zeros(len(table), np.int64)
    for name in names:
        codes = _codes(name, table.data.column(name))
        strata = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    sizes = np.bincount(strata)
    if sizes.min() < k:
        raise DataError(
            f"Strata of {listing([repr(n) for n in names])}: every stratum must hold at least k = {k} records, "
            f"{int((sizes < k).sum()):,} of {len(sizes):,} hold fewer (the smallest {int(sizes.min())}). "
            f"Join small strata before, or lower k."
        )
    return strata


def _codes(name: str, column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a number for each different value of a column, a missing one among them."""
    import numpy as np
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowException:
        raise DataError(f"Column {name!r}: {column.type} cannot be strata. Give it another role.") from None
    return np.asarray(encoded.indices.to_numpy(), np.int64)


def partition_strata(
    points: Points, method: Any, strata: NDArray[np.int64] | None, rng: np.random.Generator
) -> Partition:
    """Partition the points, stratum by stratum where there are strata."""
    import numpy as np

    if strata is None:
        whole: Partition = method.partition(points, rng)
        return whole
    if hasattr(method, "settled"):  # what is found in the points must not differ from stratum to stratum
        method = method.settled(points)
    rows = [np.flatnonzero(strata == stratum) for stratum in range(int(strata.max()) + 1)]
    return Partition.joined([method.partition(points.rows(where), rng) for where in rows], rows)
