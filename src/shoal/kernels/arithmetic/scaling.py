"""Scaling of points and columns, without overflow or underflow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.sums import orderless_total

if TYPE_CHECKING:
    pass


def in_range(points: np.ndarray) -> np.ndarray:
    """Scale by a power of two where squares of coordinates would overflow, or would all underflow to zero.

    Guarantee: points whose largest magnitude lies in [2⁻⁵⁰⁰, 2⁵⁰⁰] are returned unchanged; others are returned with a
    largest magnitude in [½, 1).
    """
    largest = max(float(points.max()), -float(points.min()))
    if largest == 0.0 or 2.0**-500 <= largest <= 2.0**500:
        return points
    return np.asarray(np.ldexp(points, -math.frexp(largest)[1]))


def location_and_spread(values: NDArray[np.float64]) -> tuple[float, float, int]:
    """Return mean and population standard deviation of values · 2⁻ᵉ, and e, so that squares cannot overflow.

    A constant column has spread exactly 0. The result does not depend on the order of rows.

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
