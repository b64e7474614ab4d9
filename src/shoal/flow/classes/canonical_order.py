"""Canonical record order: the order of rows decides nothing, not even ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from shoal.types import Comparison, Partition, Points
from shoal.types.contracts.components import Partitioner

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: In this method ties go to the lowest row, as in the literature, so that its labels match those of other programs.
_BY_ROW = "mdav"
_KEYS = 16  # with more coordinates than this, records are compared as bytes


@dataclass(frozen=True)
class Canonical(Partitioner):
    """Sorts the points by their coordinates, lets a method partition them, and returns the classes in row order.

    **Guarantee.** If two records swap rows, so do their labels. Among records that are equal in all coordinates, the
    order of rows still decides which of them is in which class.
    """

    method: Partitioner

    @property
    def k(self) -> int:
        """Smallest number of records in a class."""
        return self.method.k

    def settled(self, points: Points) -> Self:
        """Let the method determine from all points what must be the same in every stratum."""
        return replace(self, method=self.method.settled(points))

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Partition the records, sorted by their coordinates."""
        import numpy as np

        order = _by_value(points.coordinates)
        found = self.method.partition(_in_order(points, order), rng)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return replace(
            found,
            blocks=tuple(
                replace(block, labels=block.labels[back], values=None if block.values is None else block.values[back])
                for block in found.blocks
            ),
        )


def canonical(method: Partitioner, plain: Partitioner, key: str) -> Partitioner:
    """Make a method and its improvement independent of row order; MDAV itself stays unchanged."""
    return method if key == _BY_ROW and method is plain else Canonical(method)


def in_order_of_values(comparison: Comparison) -> Comparison:
    """Return a comparison with its records sorted by value, before and after.

    Every measure of quasi-identifiers, including sampled ones, is then identical to the last bit when two members of a
    class swap rows in the input.
    """
    import numpy as np

    return comparison.rows(_by_value(np.column_stack((comparison.original, comparison.masked))))


def _by_value(coordinates: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows sorted by their coordinates only; equal records keep their order."""
    import numpy as np

    if coordinates.shape[1] <= _KEYS:
        return np.lexsort(coordinates.T[::-1])
    whole = np.ascontiguousarray(coordinates).view(np.dtype((np.void, coordinates.itemsize * coordinates.shape[1])))
    return np.argsort(whole[:, 0], kind="stable")


def _in_order(points: Points, order: NDArray[np.int64]) -> Points:
    """Return the points in another record order, with everything that methods need."""
    axes = tuple(replace(axis, places=axis.places[order]) for axis in points.axes)
    found = points.rows(order)
    return replace(found, axes=axes, subjects=None if found.subjects is None else _numbered(found.subjects))


def _numbered(subjects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return subjects numbered by first appearance."""
    import numpy as np

    _, first, own = np.unique(subjects, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[own], np.int64)
