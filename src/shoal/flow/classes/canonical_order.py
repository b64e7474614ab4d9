"""Records in the order of their values: the order of rows decides nothing, not even ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.types import Comparison, Partition, Points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: Ties go to the lowest row, as in the literature: labels of this method are compared with those of other programs.
_BY_ROW = "mdav"
_KEYS = 16  # more coordinates than these are compared as bytes


@dataclass(frozen=True)
class Canonical:
    """Sorts the points by their coordinates, lets a method partition them, and gives the classes back row by row.

    **Guarantee.** If two records change places, so do their labels; where they are equal in all coordinates, which of
    them is in which class still depends on the order of rows.
    """

    method: Any

    def settled(self, points: Points) -> Canonical:
        """Let the method find in all points what must not differ from stratum to stratum."""
        return replace(self, method=self.method.settled(points)) if hasattr(self.method, "settled") else self

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of the records in the order of their coordinates."""
        import numpy as np

        order = _by_value(points.coordinates)
        found: Partition = self.method.partition(_in_order(points, order), rng)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return replace(
            found,
            blocks=tuple(
                replace(block, labels=block.labels[back], values=None if block.values is None else block.values[back])
                for block in found.blocks
            ),
        )


def canonical(method: Any, plain: Any, key: str) -> Any:
    """Return a method and what follows it for which the order of rows does not matter; MDAV alone stays as it is."""
    return method if key == _BY_ROW and method is plain else Canonical(method)


def in_order_of_values(comparison: Comparison) -> Comparison:
    """Return a comparison whose records are in the order of their values, before and after.

    So every measure of quasi-identifiers, samples among them, reads the same to the last bit when two members of a
    class change places in the input.
    """
    import numpy as np

    return comparison.rows(_by_value(np.column_stack((comparison.original, comparison.masked))))


def _by_value(coordinates: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows in an order that depends on their coordinates only; equal ones stay in theirs."""
    import numpy as np

    if coordinates.shape[1] <= _KEYS:
        return np.lexsort(coordinates.T[::-1])
    whole = np.ascontiguousarray(coordinates).view(np.dtype((np.void, coordinates.itemsize * coordinates.shape[1])))
    return np.argsort(whole[:, 0], kind="stable")


def _in_order(points: Points, order: NDArray[np.int64]) -> Points:
    """Return the points in another order of records, with all that methods ask of them."""
    axes = tuple(replace(axis, places=axis.places[order]) for axis in points.axes)
    found = points.rows(order)
    return replace(found, axes=axes, subjects=None if found.subjects is None else _numbered(found.subjects))


def _numbered(subjects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return subjects numbered in the order in which they come."""
    import numpy as np

    _, first, own = np.unique(subjects, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[own], np.int64)
