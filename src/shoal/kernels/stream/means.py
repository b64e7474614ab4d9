"""Means and errors of classes whose members are stored consecutively."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.runtime.jit import kernel

_LOST, _SPREAD = range(2)  # squared errors, and those around the middle of the domain
_PARTS = 2.0**53  # number of units in the range of a class, or fewer …
_MOST = 2.0**62  # … if differences would add up to more
_TINY, _LARGER = 2.0**-600, 2.0**600  # ranges below the first are enlarged by the second, because they are divided by


def means(values: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each class: its lowest member plus the mean difference from it, within the class's range.

    Differences are added as integers, in units of the class's range over 2⁵³: the order of members cannot change a
    digit, and the error of the mean is at most one such unit.

    >>> means(np.array([0.1, 0.1, 0.1, 3.0]), np.array([3, 1])).tolist()
    [0.1, 3.0]
    """
    found = np.empty(len(sizes))
    _means(values, sizes, found)
    return found


def errors(
    points: NDArray[np.float64],
    sizes: NDArray[np.int64],
    centres: NDArray[np.float64],
    middle: NDArray[np.float64],
    steps: Sequence[float] = (),
) -> tuple[float, float]:
    """Return the sum of squared distances of all members from the centre of their class, and from the middle.

    Columns after those of `middle` are codes, and count with their steps; the middle has no codes.
    """
    found = np.zeros(2)
    _errors(points, sizes, centres, middle, np.array(steps, np.float64), found)
    return float(found[_LOST]), float(found[_SPREAD])


def gathered(labels: NDArray[np.int64], classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the members of all classes, grouped by class and ascending in each, and the size of each class.

    >>> [found.tolist() for found in gathered(np.array([1, -1, 0, 1]), 2)]
    [[2, 0, 3], [1, 2]]
    """
    sizes = np.zeros(classes, np.int64)
    members, place = np.empty(len(labels), np.int64), np.empty(classes, np.int64)
    count = int(_gather(labels, sizes, place, members))
    return members[:count], sizes


@kernel
def _means(values: Any, sizes: Any, found: Any) -> None:
    at = 0
    for c in range(len(sizes)):
        size = sizes[c]
        low, high = values[at], values[at]
        for i in range(at + 1, at + size):
            low, high = min(low, values[i]), max(high, values[i])
        if low == high:
            found[c] = low + 0.0
        else:
            parts = _PARTS
            while parts * size > _MOST:
                parts /= 2
            wide = high - low
            scale = 1.0 if wide > _TINY else _LARGER
            units, total = parts / (wide * scale), np.int64(0)
            for i in range(at, at + size):
                total += np.int64((values[i] - low) * scale * units + 0.5)
            found[c] = min(low + total / size / parts * wide, high) + 0.0
        at += size


@kernel
def _errors(points: Any, sizes: Any, centres: Any, middle: Any, steps: Any, found: Any) -> None:
    at, p = 0, middle.shape[0]
    for c in range(len(sizes)):
        lost, spread = 0.0, 0.0
        for i in range(at, at + sizes[c]):
            for j in range(p):
                off, out = points[i, j] - centres[c, j], points[i, j] - middle[j]
                lost += off * off
                spread += out * out
            for j in range(steps.shape[0]):
                lost += 0.0 if points[i, p + j] == centres[c, p + j] else steps[j]
        found[_LOST] += lost
        found[_SPREAD] += spread
        at += sizes[c]


@kernel
def _gather(labels: Any, sizes: Any, place: Any, members: Any) -> int:
    for i in range(len(labels)):
        if labels[i] >= 0:
            sizes[labels[i]] += 1
    at = 0
    for c in range(len(sizes)):
        place[c] = at
        at += sizes[c]
    for i in range(len(labels)):
        if labels[i] >= 0:
            members[place[labels[i]]] = i
            place[labels[i]] += 1
    return at
