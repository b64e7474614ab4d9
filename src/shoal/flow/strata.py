"""Strata: classes never cross their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, listing
from shoal.flow.categories import categories
from shoal.types import Partition, Points, Role, Table, with_columns

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def strata_of(table: Table) -> NDArray[np.int64] | None:
    """Return the stratum of each record, from 0; None if no column names them."""
    import numpy as np

    names = table.schema.names(Role.STRATA)
    if not names:
        return None
    strata = np.zeros(len(table), np.int64)
    for name in names:
        codes = categories(name, table.data.column(name), "cannot be strata. Give it another role.")
        strata = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return strata


def refuse_small(table: Table, strata: NDArray[np.int64] | None, k: int) -> None:
    """Refuse strata that no class of k records fits into."""
    import numpy as np

    if strata is None:
        return
    sizes, names = np.bincount(strata), table.schema.names(Role.STRATA)
    if sizes.min() < k:
        raise DataError(
            f"Strata of {listing([repr(n) for n in names])}: every stratum must hold at least k = {k} records, "
            f"{int((sizes < k).sum()):,} of {len(sizes):,} hold fewer (the smallest {int(sizes.min())}). "
            f"Let them be merged (small_strata = merge), or lower k."
        )


def merge_small(
    points: Points, strata: NDArray[np.int64], k: int, subjects: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Merge strata that hold fewer than k records, of k different subjects where these are named, with the nearest.

    While there is such a stratum: the smallest (of several the first) joins the one whose mean point is nearest.

    **Guarantee.** Every stratum that is returned holds k, or is the only one; each is a union of strata that were
    given, one of which held fewer than k if there are several.

    **Complexity.** O(s²d) for s strata of points in d coordinates.

    >>> import numpy as np
    >>> merge_small(Points(np.array([[0.0], [0.1], [9.0], [5.0], [5.2]])), np.array([0, 0, 1, 2, 2]), 2, None).tolist()
    [0, 0, 1, 1, 1]
    """
    import numpy as np

    count = np.bincount(strata)
    exponent = int(np.frexp(abs(points.coordinates).max(initial=0.0))[1])  # squares must not overflow
    total = np.zeros((len(count), points.coordinates.shape[1]))
    np.add.at(total, strata, np.ldexp(points.coordinates, -exponent))
    members = None if subjects is None else [set(subjects[strata == s].tolist()) for s in range(len(count))]
    size = count.copy() if members is None else np.array([len(one) for one in members])
    into = np.arange(len(count))
    there = np.ones(len(count), np.bool_)
    while there.sum() > 1 and size[there].min() < k:
        small = int(np.flatnonzero(there)[size[there].argmin()])
        others = np.flatnonzero(there & (np.arange(len(there)) != small))
        means = total[others] / count[others, None]
        nearest = int(others[((means - total[small] / count[small]) ** 2).sum(axis=1).argmin()])
        total[nearest] += total[small]
        count[nearest] += count[small]
        if members is not None:
            members[nearest] |= members[small]
        size[nearest] = count[nearest] if members is None else len(members[nearest])
        there[small], into[into == small] = False, nearest
    return np.asarray(np.unique(into[strata], return_inverse=True)[1], np.int64)


def merged_note(before: NDArray[np.int64], after: NDArray[np.int64], k: int) -> str:
    """Say how many strata were merged; nothing if none was."""
    import numpy as np

    pairs = np.unique(np.column_stack((after, before)), axis=0)
    held = np.bincount(pairs[:, 0])
    if held.max() == 1:
        return ""
    return (
        f"{int(held[held > 1].sum()):,} of {len(pairs):,} strata were merged into {int((held > 1).sum()):,}, because "
        f"some held fewer than k = {k}; those that were merged leave as one"
    )


def with_strata(data: pa.Table, names: Sequence[str], strata: NDArray[np.int64]) -> pa.Table:
    """Return a table whose columns of strata say the strata as they were merged, and nothing else."""
    import numpy as np
    import pyarrow as pa

    columns = {name: pa.array(np.zeros(len(strata), np.int64)) for name in names}
    return with_columns(data, {**columns, names[0]: pa.array(strata)})


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
    rows = np.split(np.argsort(strata, kind="stable"), np.cumsum(np.bincount(strata))[:-1])
    return Partition.joined([method.partition(points.rows(where), rng) for where in rows], rows)
