"""Where a column lies and how far it spreads, without overflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.total import orderless_total


def location_and_spread(values: NDArray[np.float64]) -> tuple[float, float, int]:
    """Return mean and population standard deviation of values · 2⁻ᵉ, and e, so that squares cannot overflow.

    A constant column has spread 0 exactly. The order of rows does not change a bit of the result.

    >>> location_and_spread(np.array([1.0, 3.0]))
    (0.5, 0.25, 2)
    """
    exponent = int(np.frexp(np.max(np.abs(values)))[1])
    small = np.ldexp(values, -exponent)
    low, high = float(small.min()), float(small.max())
    if low == high:
        return low, 0.0, exponent
    mean = orderless_total(small) / len(small)
    return mean, float(np.sqrt(orderless_total((small - mean) ** 2) / len(small))), exponent


def extent(values: NDArray[np.float64]) -> tuple[float, float, int]:
    """Return minimum and range of values · 2⁻ᵉ, and e."""
    exponent = int(np.frexp(np.max(np.abs(values)))[1])
    low, high = np.ldexp(values.min(), -exponent), np.ldexp(values.max(), -exponent)
    return float(low), float(high - low), exponent


def place(values: NDArray[np.float64], location: float, spread: float, exponent: int) -> NDArray[np.float64]:
    """Return (values · 2⁻ᵉ − location) / spread, or zeros where there is no spread."""
    if spread == 0.0:
        return np.zeros(len(values))
    return np.asarray((np.ldexp(values, -exponent) - location) / spread)
