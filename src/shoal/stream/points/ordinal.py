"""Ordered categories: one coordinate of ranks from 0 to 1; the centroid is the median."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.class_means import medians
from shoal.stream.points._names import codes_of, numbered
from shoal.types import Kind
from shoal.types.stream import Known, Taken


@dataclass(frozen=True)
class Ordinal:
    """An attribute of ordered categories, as far apart as their ranks.

    >>> size = Ordinal.of(Known("size", Kind.ORDINAL, categories=("low", "middle", "high")))
    >>> taken = size.take(["high", "low", "huge", "low"])
    >>> size.place(taken.values[:2]).ravel().tolist(), taken.faults[0][0]
    ([1.0, 0.0], 2)
    >>> size.plain(size.centroid(np.array([0, 2, 2, 1]), np.array([4])))
    ['middle']
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.ORDINAL,)

    name: str
    categories: tuple[Any, ...] = field(repr=False)

    @classmethod
    def of(cls, known: Known) -> Ordinal:
        """Take what is known."""
        return cls(known.name, known.categories)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return numbered(self.categories)

    @property
    def middle(self) -> NDArray[np.float64]:
        """Half of the way between the lowest and the highest."""
        return np.full(1, 0.5 if len(self.categories) > 1 else 0.0)

    def fits(self, cell: Any) -> bool:
        """Tell at a glance whether a cell is one of the categories; if not, it may still be read."""
        return type(cell) is str and cell in self._numbers

    def take(self, cells: Any) -> Taken:
        """Read categories; those that are not in the order are faults."""
        return codes_of(self.name, cells, self._numbers, "its order")

    def place(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return one coordinate."""
        found: NDArray[np.float64] = values / float(max(len(self.categories) - 1, 1))
        return found[:, None]

    def centroid(self, values: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the median of each class; of two the lower, so that it is a category."""
        if not len(sizes):
            return np.empty(0, np.int64)
        labels = np.repeat(np.arange(len(sizes)), sizes)
        return medians(values.astype(np.float64), labels, None).astype(np.int64)

    def plain(self, values: NDArray[Any]) -> list[Any]:
        """Return categories as the order writes them."""
        return [self.categories[rank] for rank in values.tolist()]
