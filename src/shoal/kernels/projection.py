"""Points put in a row by a projection to one number, and attributes put into blocks by their correlations."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.kernels.in_range import in_range
from shoal.kernels.optimal_cut import cut_labels, optimal_cut
from shoal.kernels.standardise import location_and_spread, place


def standardised(points: np.ndarray) -> np.ndarray:
    """Return the z-scores of every coordinate: mean 0, population deviation 1; zeros where nothing varies.

    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    return np.column_stack([place(column, *location_and_spread(column)) for column in points.T])


def z_score_sum(points: np.ndarray) -> np.ndarray:
    """Return the sum of the z-scores of each record's coordinates.

    Coordinates are added one by one, so that equal records have equal sums wherever they stand.
    """
    return _combined(standardised(points), np.ones(points.shape[1]))


def principal_component(points: np.ndarray) -> np.ndarray:
    """Return each record's place along the axis on which the records vary most.

    Guarantee: the axis points to where its largest component (of several, the first) grows, so that the sign is no
    accident; equal records have equal places. Where nothing varies, all places are 0.
    """
    x = in_range(points)
    centred = x - x.mean(axis=0)
    covariance = np.einsum("ij,ik->jk", centred, centred)  # no threads of a BLAS for so little
    axis = np.linalg.eigh(covariance)[1][:, -1]
    axis = axis * np.copysign(1.0, axis[np.argmax(np.abs(axis))])
    return _combined(centred, axis)


def _combined(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    total = np.zeros(columns.shape[0])
    for j in range(columns.shape[1]):
        total += weights[j] * columns[:, j]
    return total


def projected_labels(points: np.ndarray, places: np.ndarray, k: int) -> np.ndarray:
    """Return the labels of the best cut of the records in the order of their places, over all coordinates.

    Guarantee: classes of k … 2k−1 records, numbered along the projection; equal places in the order of rows.
    Complexity: O(n log n + n·k·d).
    """
    order = np.argsort(places, kind="stable")
    return cut_labels(order, optimal_cut(np.ascontiguousarray(points[order]), k))


def correlations(points: np.ndarray, places: Sequence[Sequence[int]]) -> np.ndarray:
    """Return how strongly attributes go together: |r|, of several coordinates the largest; 0 where nothing varies."""
    z = standardised(points)
    r = np.abs(np.einsum("ij,ik->jk", z, z)) / points.shape[0]
    return np.array([[r[np.ix_(a, b)].max() for b in places] for a in places])


def correlated_blocks(strength: np.ndarray, sizes: Sequence[int]) -> list[list[int]]:
    """Put attributes that go together into blocks of given sizes.

    Greedy: of the attributes left, the pair with the largest strength begins a block; the one with the largest mean
    strength to the block joins until it is full. Ties go to the first attribute. Strengths are compared to nine
    decimals, so that rounding decides nothing.

    >>> r = np.array([[1.0, 0.1, 0.9, 0.2], [0.1, 1.0, 0.3, 0.8], [0.9, 0.3, 1.0, 0.1], [0.2, 0.8, 0.1, 1.0]])
    >>> correlated_blocks(r, [2, 2])
    [[0, 2], [1, 3]]
    """
    r, left, blocks = np.round(strength, 9), list(range(len(strength))), []
    for size in sizes:
        block = [max(left, key=lambda a: max((r[a, b] for b in left if b != a), default=0.0))]
        left.remove(block[0])
        while len(block) < size:
            block.append(max(left, key=lambda a: float(r[a, block].mean())))
            left.remove(block[-1])
        blocks.append(sorted(block))
    return sorted(blocks)


def uncorrelated_blocks(strength: np.ndarray, count: int) -> list[list[int]]:
    """Spread attributes that go together over a number of blocks, so that the blocks go together.

    The j-th block takes the j-th attribute of each group of `count` correlated attributes ([N14] 4.1).

    >>> r = np.array([[1.0, 0.1, 0.9, 0.2], [0.1, 1.0, 0.3, 0.8], [0.9, 0.3, 1.0, 0.1], [0.2, 0.8, 0.1, 1.0]])
    >>> uncorrelated_blocks(r, 2)
    [[0, 1], [2, 3]]
    """
    d = len(strength)
    sizes = [count] * (d // count) + ([d % count] if d % count else [])
    groups = correlated_blocks(strength, sizes)
    return [sorted(group[j] for group in groups if j < len(group)) for j in range(count)]
