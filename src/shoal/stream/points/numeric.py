"""Numbers, continuous and integer: one coordinate from 0 to 1 between the bounds; the centroid is the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.stream.means import means
from shoal.stream.points._cells import Between, Steps, numbers
from shoal.types import Kind
from shoal.types.stream import Known, Taken


@dataclass(frozen=True)
class Numeric(Between):
    """A numeric attribute between two bounds.

    >>> age = Numeric.of(Known("age", Kind.INTEGER, 0, 100))
    >>> taken = age.take([30, "40", 140, None, 1.5, "x"])
    >>> age.place(taken.values[:3]).ravel().tolist(), taken.clamped.tolist()[:3], [at for at, _ in taken.faults]
    ([0.3, 0.4, 1.0], [False, False, True], [3, 4, 5])
    >>> age.plain(age.centroid(taken.values[:2], np.array([2])))
    [35.0]
    >>> age = Numeric.of(Known("age", Kind.INTEGER, 0, 100, resolution=10))
    >>> age.plain(age.centroid(np.array([31.0, 38.0, 36.0]), np.array([3])))
    [40]
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)

    integer: bool
    steps: Steps | None  #: multiples that means are rounded to; None: no rounding

    @classmethod
    def of(cls, known: Known) -> Numeric:
        """Make the attribute from its declaration."""
        step = known.resolution
        steps = Steps.between(step, known.low, known.high) if isinstance(step, int | float) else None
        return cls(known.name, float(known.low), float(known.high), known.kind is Kind.INTEGER, steps)

    def fits(self, cell: Any) -> bool:
        """Tell quickly whether a cell is a number between the bounds; if not, it may still be parsed."""
        return type(cell) in (int, float) and self.low <= cell <= self.high and (not self.integer or cell % 1 == 0)

    def take(self, cells: Any) -> Taken:
        """Parse cells; numbers outside the bounds are clamped to them."""
        wanted = "an integer" if self.integer else "a finite number"
        sentence = f"must be {wanted}, got something else. Correct the record, or give it another kind."
        values, faults = numbers(self.name, cells, sentence)
        with np.errstate(invalid="ignore"):
            clamped = (values < self.low) | (values > self.high)
            if self.integer and (odd := np.flatnonzero(np.isfinite(values) & (values != np.rint(values)))).size:
                faults = sorted(faults + [(int(at), f"Column {self.name!r}: {sentence}") for at in odd])
        return Taken(np.clip(values, self.low, self.high) + 0.0, clamped, faults)

    def centroid(self, values: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the mean of each class, to the nearest multiple of the resolution."""
        found = means(values, sizes)
        return found if self.steps is None else self.steps.round(found)

    def plain(self, values: NDArray[Any]) -> list[Any]:
        """Return floats, or integers if these have a resolution."""
        found: list[Any] = values.tolist()
        return [int(value) for value in found] if self.integer and self.steps is not None else found
