"""Data-independent linear order of a domain: of numbers, or of the leaves of a taxonomy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.types.points import Numbers


class Cut(NamedTuple):
    """A cut of a line into cells.

    >>> Cut.into(4)
    Cut(within=0.25, between=0.75, cells=None)
    """

    within: float  #: largest distance between two values of one cell
    between: float  #: total distance from cell to cell along the line
    cells: NDArray[np.int64] | None = None  #: the cell of each position, if positions are numbered

    @classmethod
    def into(cls, strips: int) -> Cut:
        """Return the cut of a numeric line into strips of equal width."""
        return cls(1.0 / strips, (strips - 1) / strips)


@dataclass(frozen=True, eq=False)
class Axis:
    """The domain of an attribute in linear order, and the positions of records in it.

    Attributes
    ----------
    name
        Name of the attribute.
    places
        The position of each record: for numbers from 0 to 1, for categories the number of the leaf.
    span
        The total distance from one end to the other, in steps from position to position. No two values are farther
        apart than 1.
    cuts
        The possible cuts of a line of categories, by number of cells; empty: numbers, any number of strips.
    """

    name: str
    places: NDArray[np.float64] = field(repr=False)
    span: float = 1.0
    cuts: Mapping[int, Cut] = field(default_factory=dict, repr=False)

    def counts(self, most: int) -> tuple[int, ...]:
        """Return the possible numbers of cells: for numbers up to `most`."""
        return tuple(sorted(self.cuts)) or tuple(range(1, most + 1))

    def nearest(self, strips: int) -> int:
        """Return the largest possible number of cells, up to the requested one."""
        return max(count for count in self.counts(strips) if count <= strips)

    def cut(self, count: int) -> Cut:
        """Return the cut into this many cells."""
        return self.cuts[count] if self.cuts else Cut.into(count)

    def cells(self, count: int) -> NDArray[np.int64]:
        """Return the cell of each record."""
        import numpy as np

        of_places = self.cut(count).cells
        if of_places is not None:
            return np.asarray(of_places[self.places.astype(np.int64)])
        return np.minimum(np.floor(self.places * count), count - 1).astype(np.int64)


#: The only text that takes bounds from the data.
FROM_THE_DATA = "from the data, which is not private"


class Domain(NamedTuple):
    """Bounds of an attribute, both included.

    >>> Domain(0.0, 120.0).width
    120.0
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """The largest possible change of a value."""
        return self.high - self.low

    def clamped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Clamp values to the bounds."""
        import numpy as np

        return np.clip(values, self.low, self.high)

    def unit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions of values in the domain: 0 at its lower end, 1 at its upper end."""
        quarter = self.width / 4 or 1.0  # differences of quarters do not overflow
        return (self.clamped(values) / 4 - self.low / 4) / quarter

    def beyond(self, values: NDArray[np.float64]) -> int:
        """Return how many values lie outside the bounds."""
        return int(((values < self.low) | (values > self.high)).sum())


def domains(bounds: Mapping[str, Sequence[float]] | str, attributes: Sequence[Numbers]) -> dict[str, Domain]:
    """Return the domain of each attribute: as given, or from its values if the user said so."""
    if isinstance(bounds, str):
        return {a.name: Domain(float(a.values.min()), float(a.values.max())) for a in attributes}
    return {a.name: Domain(float(bounds[a.name][0]), float(bounds[a.name][1])) for a in attributes}
