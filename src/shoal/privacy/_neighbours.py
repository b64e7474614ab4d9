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

_LEAF = 128
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


class Neighbourhood:
    """Finds the classes nearest to a class, in leaves of a kd-tree: boxes that are too far away are not opened."""

    def __init__(self, places: NDArray[np.float64], sizes: NDArray[np.int64]) -> None:
        self.places, self.sizes = places, sizes
        self.leaves = _leaves(places)
        self.low = np.array([places[leaf].min(axis=0) for leaf in self.leaves])
        self.high = np.array([places[leaf].max(axis=0) for leaf in self.leaves])
        self.records = np.array([sizes[leaf].sum() for leaf in self.leaves])

    def around(self, number: int, records: int) -> NDArray[np.int64]:
        """Return the classes nearest to a class, itself among them, as few as hold so many records.

        Classes that are equally far away are all in, or all out.
        """
        here = self.places[number]
        outside = np.maximum(np.maximum(self.low - here, here - self.high), 0)
        bound = np.square(outside).sum(axis=1) * (1 - 1e-9)  # but for rounding no member is nearer
        order = np.argsort(bound)
        opened = min(int(np.searchsorted(np.cumsum(self.records[order]), records)) + 1, len(order))
        while True:
            near = np.concatenate([self.leaves[leaf] for leaf in order[:opened]])
            apart = np.square(self.places[near] - here).sum(axis=1)
            rising = np.argsort(apart)
            last = min(int(np.searchsorted(np.cumsum(self.sizes[near[rising]]), records)), len(near) - 1)
            reach = apart[rising[last]]
            needed = int(np.searchsorted(bound[order], reach, side="right"))
            if needed <= opened:
                return np.asarray(near[apart <= reach])
            opened = min(needed, 3 * opened)


def _leaves(places: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Halve the classes along their widest coordinate until few are left."""
    found, parts = [], [np.arange(len(places))]
    while parts:
        part = parts.pop()
        spread = np.ptp(places[part], axis=0)
        if len(part) <= _LEAF or not spread.any():
            found.append(part)
            continue
        order = np.argpartition(places[part, int(spread.argmax())], len(part) // 2)
        parts += [part[order[: len(part) // 2]], part[order[len(part) // 2 :]]]
    return found
