"""Levels as a finding holds them: taken as they are written, and never rounded across a limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counting.classes import Classes

_WORST = 5


def written(level: float) -> Fraction:
    """Return a level as it is written: 0.1 is one tenth.

    >>> written(0.1)
    Fraction(1, 10)
    """
    return Fraction(str(level))


def nearest(exact: Fraction) -> float:
    """Return the float nearest to a number ≥ 0; infinity beyond the largest there is."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf


def rounded(exact: Fraction, required: float | None) -> float:
    """Return the float nearest to a level; if it is not what is required, one that is not either.

    >>> rounded(Fraction(1, 10) + Fraction(1, 10**30), 0.1) > 0.1
    True
    """
    if required is None or exact == written(required):
        return nearest(exact)
    return beside(nearest(exact), exact > written(required), required)


def beside(level: float, above: bool, required: float) -> float:
    """Return a rounded level, moved by a rounding if that is needed for it to be above, or below, what is required."""
    if level > required if above else level < required:
        return level
    return math.nextafter(float(required), math.inf if above else -math.inf)


def worst(levels: NDArray[np.floating] | NDArray[np.int64], classes: Classes) -> tuple[tuple[int, float], ...]:
    """Return the classes with the lowest levels, by number, the lowest first."""
    numbers = classes.numbers()
    few = min(_WORST, len(levels))
    low = np.flatnonzero(levels == levels.min())
    if len(low) < few:
        low = np.flatnonzero(levels <= np.partition(levels, few - 1)[few - 1])
    elif len(low) > few:
        low = low[np.argpartition(numbers[low], few - 1)[:few]]
    order = low[np.lexsort((numbers[low], levels[low]))][:few]
    return tuple((int(numbers[i]), levels[i].item()) for i in order)


def least(rough: NDArray[np.float64], error: NDArray[np.float64] | float, exact: Callable[[int], Fraction]) -> Fraction:
    """Return the least of some numbers, exactly: those that may be it, but for errors, are worked out.

    `exact` is asked for as few as possible, given their positions.
    """
    near = np.flatnonzero(rough - error <= (rough + error).min())
    return min(exact(i) for i in near.tolist())
