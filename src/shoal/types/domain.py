"""The domain of an attribute: between which bounds its values may lie, whatever the data are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.types.points import Numbers

#: The only words by which bounds may be taken from the data.
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
        """By how much a value can change at most."""
        return self.high - self.low

    def clamped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of which none lies beyond the bounds: those that do are moved to the nearer one."""
        import numpy as np

        return np.clip(values, self.low, self.high)

    def unit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where values lie in the domain: at its lower end at 0, at its upper end at 1."""
        quarter = self.width / 4 or 1.0  # differences of quarters do not overflow
        return (self.clamped(values) / 4 - self.low / 4) / quarter

    def beyond(self, values: NDArray[np.float64]) -> int:
        """Return how many values lie beyond the bounds."""
        return int(((values < self.low) | (values > self.high)).sum())


def domains(bounds: Mapping[str, Sequence[float]] | str, attributes: Sequence[Numbers]) -> dict[str, Domain]:
    """Return the domain of each attribute: as it was given, or from its values where the user said so."""
    if isinstance(bounds, str):
        return {a.name: Domain(float(a.values.min()), float(a.values.max())) for a in attributes}
    return {a.name: Domain(float(bounds[a.name][0]), float(bounds[a.name][1])) for a in attributes}
