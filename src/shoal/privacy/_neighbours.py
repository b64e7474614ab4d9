"""Classes that lie around a class in the space of the quasi-identifiers, as they were released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.privacy._classes import Classes
from shoal.types import Kind, Release

if TYPE_CHECKING:
    import pyarrow as pa

_NUMERIC = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)


def places(release: Release, attributes: Sequence[str], classes: Classes) -> NDArray[np.float64] | None:
    """Return where each class lies, standardised; None if a column is no number, or misses one.

    Sums are over sorted values, so that the order of rows cannot matter.
    """
    found = []
    for name in attributes:
        if release.schema[name].kind not in _NUMERIC:
            return None
        numbers = _numbers(release.values(name))
        if numbers is None:
            return None
        found.append(_standardised(numbers)[classes.rows[classes.begins]])
    return np.column_stack(found)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    import pyarrow as pa

    if column.null_count:
        return None
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    try:
        numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
    except pa.ArrowException:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _standardised(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = float(np.abs(numbers).max())
    if largest == 0:
        return numbers
    scaled = np.ldexp(numbers, -np.frexp(largest)[1])  # squares neither overflow nor vanish
    rising = np.sort(scaled)
    centred = scaled - rising.mean()
    spread = float(np.sqrt(np.square(np.sort(centred)).mean()))
    return centred / spread if spread > 0 else np.zeros(len(numbers))


def around(places: NDArray[np.float64], sizes: NDArray[np.int64], number: int, records: int) -> NDArray[np.int64]:
    """Return the classes nearest to a class, itself among them, as few as hold so many records.

    Classes that are equally far away are all in, or all out.
    """
    apart = np.square(places - places[number]).sum(axis=1)
    enough = min(-(-records // int(sizes.min())), len(sizes))  # as many classes hold so many records surely
    near = np.argpartition(apart, enough - 1)[:enough] if enough < len(sizes) else np.arange(len(sizes))
    near = near[np.argsort(apart[near])]
    last = min(int(np.searchsorted(np.cumsum(sizes[near]), records)), len(near) - 1)
    return np.flatnonzero(apart <= apart[near[last]])
