"""Ordered categories: one coordinate of ranks from 0 to 1; the centroid is the median."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.class_statistics import medians
from shoal.stream.points._cells import Categories
from shoal.types import Kind
from shoal.types.stream import Known


@dataclass(frozen=True)
class Ordinal(Categories):
    """An attribute of ordered categories; distances are differences of ranks.

    >>> size = Ordinal.of(Known("size", Kind.ORDINAL, categories=("low", "middle", "high")))
    >>> taken = size.take(["high", "low", "huge", "low"])
    >>> size.place(taken.values[:2]).ravel().tolist(), taken.faults[0][0]
    ([1.0, 0.0], 2)
    >>> size.plain(size.centroid(np.array([0, 2, 2, 1]), np.array([4])))
    ['middle']
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.ORDINAL,)

    @classmethod
    def of(cls, known: Known) -> Ordinal:
        """Make the attribute from its declaration."""
        return cls(known.name, known.categories, "its order")

    @property
    def middle(self) -> NDArray[np.float64]:
        """The midpoint between the lowest and the highest."""
        return np.full(1, 0.5 if len(self.categories) > 1 else 0.0)

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
