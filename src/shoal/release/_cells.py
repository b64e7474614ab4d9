"""The cells that noise is added to: numbers within their bounds, and categories of a taxonomy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.release._categories import chosen, codes_of, mean_distances
from shoal.release._noise import Noise, noisy
from shoal.release._representative import Near, StandIns, off_mean
from shoal.types import Block, Domain, Table, Taxonomy

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Cells:
    """The quasi-identifiers of a table, and their domains.

    Attributes
    ----------
    table
        With cells as values.
    numbers
        The values of each attribute of numbers.
    limits
        Its bounds.
    """

    table: Table
    numbers: Mapping[str, NDArray[np.float64]] = field(repr=False)
    limits: Mapping[str, Domain]

    def width(self, name: str) -> float:
        """How far two values can be apart: two categories by 1 at most."""
        return self.limits[name].width if name in self.limits else 1.0

    def mechanism(self, name: str) -> str:
        """What draws a value."""
        return "laplace" if name in self.limits else "exponential"

    def near(self, block: Block) -> Near:
        """Return for each attribute of a block the ranks of values, and how far each record is from its class."""
        found = {}
        for name in block.attributes:
            if name in self.limits:
                unit = self.limits[name].unit(self.numbers[name])
                found[name] = unit, off_mean(unit, block.labels)
            else:
                codes = codes_of(self.table.data.column(name), self._taxonomy(name))
                far = mean_distances(codes, self._taxonomy(name), block)
                found[name] = codes.astype(np.float64), far[block.labels, codes]
        return found

    def drawn(
        self, name: str, stand: StandIns, cost: tuple[NDArray[np.float64], float], noise: Noise
    ) -> tuple[NDArray[np.float64] | pa.Array, NDArray[np.float64]]:
        """Return the value of each class with noise, and the scale of the noise of each.

        `cost` is by how much the value of each class can change (or, as one number, the list of all), and ε.
        """
        if name in self.limits:
            return noisy(self.numbers[name][stand.rows], stand.block.labels, self.limits[name], cost, noise)
        column = self.table.data.column(name).take(stand.rows)
        return chosen(column, self._taxonomy(name), stand.block, cost, noise)

    def _taxonomy(self, name: str) -> Taxonomy:
        found = self.table.schema[name].taxonomy
        assert found is not None  # or it was refused
        return found
