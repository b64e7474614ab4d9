"""Strata: classes never cross their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, listing
from shoal.flow.categories import categories
from shoal.types import Partition, Points, Role, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def strata_of(table: Table, k: int) -> NDArray[np.int64] | None:
    """Return the stratum of each record; a stratum smaller than k cannot be served."""
    import numpy as np

    names = table.schema.names(Role.STRATA)
    if not names:
        return None
    strata = np.zeros(len(table), np.int64)
    for name in names:
        codes = categories(name, table.data.column(name), "cannot be strata. Give it another role.")
        strata = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    sizes = np.bincount(strata)
    if sizes.min() < k:
        raise DataError(
            f"Strata of {listing([repr(n) for n in names])}: every stratum must hold at least k = {k} records, "
            f"{int((sizes < k).sum()):,} of {len(sizes):,} hold fewer (the smallest {int(sizes.min())}). "
            f"Join small strata before, or lower k."
        )
    return strata


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
