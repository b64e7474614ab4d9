"""The members of each class side by side, in the order of their values: sums do not depend on the order of rows."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.runtime.jit import kernel


@dataclass(frozen=True, eq=False)
class Members:
    """Values and weights class after class; within a class by value, and equal values by weight.

    Class c has the positions `starts[c]` to `starts[c + 1]`.

    >>> found = members(np.array([3.0, 1.0, 2.0]), np.array([0, 1, 0]), None)
    >>> found.values.tolist(), found.starts.tolist()
    ([2.0, 3.0, 1.0], [0, 2, 3])
    """

    starts: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)


def members(values: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None) -> Members:
    """Group records by class, and sort each class by value and weight; without weights all weigh 1.

    **Complexity.** O(n) to group them, and a Shell sort of each class, which is fast for the small ones that there are.
    """
    n, sizes = len(labels), np.bincount(labels)
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    weighed = weights is not None
    given = np.asarray(weights if weights is not None else values, np.float64)
    found = Members(starts, np.empty(n), np.empty(n) if weighed else np.ones(n))
    _group(labels, np.ascontiguousarray(values), given, weighed, starts[:-1].copy(), found.values, found.weights)
    _sort(starts, found.values, found.weights)
    return found


@kernel
def _group(labels, values, weights, weighed, places, out_values, out_weights):
    """Write every record to the next free place of its class."""
    for row in range(labels.shape[0]):
        at = places[labels[row]]
        out_values[at] = values[row]
        if weighed:
            out_weights[at] = weights[row]
        places[labels[row]] = at + 1


@kernel
def _sort(starts, values, weights):
    """Sort each class by value, then by weight: a Shell sort, whose gaps are 1, 4, 13, 40, …"""
    for c in range(starts.shape[0] - 1):
        begin, end = starts[c], starts[c + 1]
        gap = 1
        while 3 * gap < end - begin:
            gap = 3 * gap + 1
        while gap > 0:
            for i in range(begin + gap, end):
                value, weight = values[i], weights[i]
                j = i
                while j >= begin + gap and (
                    values[j - gap] > value or (values[j - gap] == value and weights[j - gap] > weight)
                ):
                    values[j] = values[j - gap]
                    weights[j] = weights[j - gap]
                    j -= gap
                values[j] = value
                weights[j] = weight
            gap //= 3
