"""Rounding of noisy numbers: to the nearest multiple of a resolution inside the bounds.

The resolution comes from the recipe or from the kind of the column, never from the data. So rounding is
post-processing: it costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.types import Domain, Kind

if TYPE_CHECKING:
    import pyarrow as pa


_LARGEST = 2**62  # int64 holds it, and so does a double
_EXACT = 2**53  # a double holds every integer up to it


@dataclass(frozen=True)
class Grid:
    """The multiples of a resolution inside the bounds of an attribute.

    Attributes
    ----------
    step
        The resolution.
    first, last
        The lowest and the highest multiple inside the bounds, in steps.
    domain
        The bounds.
    whole
        Whether values are released as int64.
    """

    step: Fraction
    first: int
    last: int
    domain: Domain
    whole: bool

    @classmethod
    def of(cls, name: str, step: float, domain: Domain, *, whole: bool) -> Grid:
        """Return the grid of an attribute.

        Raises
        ------
        ParameterError
            If the bounds hold no multiple of the resolution.

        >>> grid = Grid.of("age", 5, Domain(0.5, 99.5), whole=True)
        >>> grid.rounded(np.array([0.5, 12.4, 99.5])).to_pylist()
        [5, 10, 95]
        """
        exact = Fraction(str(step))
        low, high = (Fraction(str(float(end))) for end in domain)
        if whole:
            low, high = max(low, Fraction(-_LARGEST)), min(high, Fraction(_LARGEST))
        first, last = math.ceil(low / exact), math.floor(high / exact)
        if first > last:
            raise ParameterError(
                f"Laplace: the bounds of {name!r} must hold a multiple of its resolution, {step:g}; they hold none. "
                f"Widen the bounds, or give a finer resolution."
            )
        return cls(exact, first, last, domain, whole)

    def rounded(self, values: NDArray[np.float64]) -> pa.Array:
        """Return the nearest multiple of each value, with no more digits than the resolution has."""
        import pyarrow as pa

        with np.errstate(over="ignore"):  # a step may be far smaller than the values
            steps = np.clip(np.rint(values / float(self.step)), float(self.first), float(self.last))
        if self.whole:
            return pa.array(np.clip(steps.astype(np.int64), self.first, self.last) * int(self.step))
        if self.step.denominator > _EXACT:
            return pa.array(self.domain.clamped(steps * float(self.step)))
        # steps × numerator is a whole number, so the quotient is rounded once: 0.3, not 0.30000000000000004
        return pa.array(self.domain.clamped(steps * self.step.numerator / self.step.denominator))


def step_of(kind: Kind, resolution: float | str | None) -> float | None:
    """Return the step of an attribute's released values: as declared, or 1 for integers; None: all digits.

    >>> step_of(Kind.INTEGER, None), step_of(Kind.CONTINUOUS, None), step_of(Kind.CONTINUOUS, 0.5)
    (1, None, 0.5)
    """
    if resolution is not None:
        assert not isinstance(resolution, str)  # or it was refused
        return resolution
    return 1 if kind is Kind.INTEGER else None
