"""Points scaled so that squared distances neither overflow nor vanish."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    pass


def in_range(points: np.ndarray) -> np.ndarray:
    """Scale by a power of two where squares of coordinates would overflow, or all vanish.

    Guarantee: points whose largest magnitude lies in [2⁻⁵⁰⁰, 2⁵⁰⁰] are returned as they are; others come back with
    a largest magnitude in [½, 1).
    """
    largest = max(float(points.max()), -float(points.min()))
    if largest == 0.0 or 2.0**-500 <= largest <= 2.0**500:
        return points
    return np.asarray(np.ldexp(points, -math.frexp(largest)[1]))
