"""An order of the domain, as an ox ploughs, and how far one record moves what is cut along it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.types import Axis, Points

_ROUNDING = 2.0**-40  # cells are cut in floats: some are wider than 1/s by a few units in the last place
_SWEEPS = 4


def axes_of(points: Points) -> tuple[Axis, ...]:
    """Return the domains of the coordinates: by the bounds, or by the range of the points where there are none."""
    if points.axes:
        return points.axes
    quarters = points.coordinates / 4  # the width of a range must not overflow
    if points.widths is None or points.lows is None:
        lows, widths = quarters.min(axis=0), np.ptp(quarters, axis=0)
    else:
        lows, widths = points.lows / 4, points.widths / 4
    places = np.clip((quarters - lows) / np.where(widths > 0, widths, 1.0), 0.0, 1.0)
    return numbers(places)


def numbers(places: NDArray[np.float64]) -> tuple[Axis, ...]:
    """Return the axes of numbers between 0 and 1, a column each."""
    return tuple(Axis(str(j), column) for j, column in enumerate(places.T))


def ploughed(axes: Sequence[Axis], strips: Sequence[int]) -> NDArray[np.int64]:
    """Return the rows in the order of the cells, as an ox ploughs."""
    last = axes[-1].places
    odd = np.zeros(len(last), np.bool_)  # whether the cell of the axes so far has an odd number
    keys: list[NDArray[np.float64]] = []
    for axis, count in zip(axes[:-1], strips, strict=False):
        cell = axis.cells(count)
        step = np.where(odd, count - 1 - cell, cell)
        keys.append(step)
        # the number of the cell is (number so far) · count + step: only whether it is odd matters from here on
        odd = ((odd & (count % 2 == 1)) ^ (step % 2 == 1)).astype(np.bool_)
    keys.append(np.where(odd, -last, last))
    keys += [axis.places for axis in axes[:-1]]
    return np.asarray(np.lexsort(keys[::-1]), np.int64)


def moves(classes: int, strips: Sequence[int], axes: Sequence[Axis] = ()) -> tuple[float, ...]:
    """Return for each axis how far the records that change classes move at most, added up; without axes, of numbers.

    >>> [round(step, 6) for step in moves(100, (10, 1))]
    [10.9, 10.0]
    """
    axes = axes or numbers(np.empty((0, len(strips))))
    found, before = [], 1
    for axis, count in zip(axes[:-1], strips, strict=False):
        within, between, _ = axis.cut(count)
        found.append(min(float(classes), classes * within + before * between))
        before *= count
    found.append(min(float(classes), before * axes[-1].span))
    return tuple(step * (1.0 + _ROUNDING) for step in found)


def least_noise(classes: int, axes: Sequence[Axis]) -> tuple[int, ...]:
    """Return the strips of each axis for which the squares of `moves` add up to little; from sizes and domains alone.

    >>> least_noise(100, numbers(np.empty((0, 2)))), least_noise(7, numbers(np.empty((0, 1))))
    ((10, 1), (1,))
    """
    strips = [1] * len(axes)
    best = sum(step * step for step in moves(classes, strips, axes))
    for _ in range(_SWEEPS):
        before = list(strips)
        for j, axis in enumerate(axes[:-1]):
            for count in axis.counts(int(classes**0.5) + 1):
                tried = [*strips[:j], count, *strips[j + 1 :]]
                cost = sum(step * step for step in moves(classes, tried, axes))
                if cost < best:
                    best, strips = cost, tried
        if strips == before:
            break
    return tuple(strips)
