"""Means of the classes of a partition, safe at the ends of the number range and exact where members are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def first_members(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each class the lowest row that belongs to it."""
    first = np.empty(int(labels.max()) + 1, np.int64)
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1)
    return first


def heaviest_members(labels: NDArray[np.int64], weights: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """Return for each class the row of its largest weight; of several the lowest, as where there are no weights."""
    if weights is None:
        return first_members(labels)
    most = np.full(int(labels.max()) + 1, -np.inf)
    np.maximum.at(most, labels, weights)
    rows = np.flatnonzero(weights == most[labels])
    found = np.empty(len(most), np.int64)
    found[labels[rows[::-1]]] = rows[::-1]
    return found


def mean_offsets(
    values: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the (weighted) mean of each class.

    A class whose weights are all zero gets its unweighted mean.
    """
    counts = np.bincount(labels).astype(np.float64)
    plain = np.bincount(labels, weights=values) / counts
    if weights is None:
        return plain
    mass = np.bincount(labels, weights=weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        weighted = np.bincount(labels, weights=values * weights) / mass
    return np.where(mass > 0, weighted, plain)


def class_means(
    values: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the mean of each class as the heaviest member's value plus the mean difference from it.

    Guarantee: members that are equal give exactly their value; no mean lies outside its class's range; no
    overflow up to the largest float. From the heaviest, what rounding loses of a weighted total is small beside the
    total of absolute values, however unequal the weights are.

    >>> class_means(np.array([0.1, 0.1, 0.1, 3.0]), np.array([0, 0, 0, 1])).tolist()
    [0.1, 3.0]
    """
    first = heaviest_members(labels, weights)
    exponent = max(int(np.frexp(np.max(np.abs(values)))[1]) - 1000, 0)  # beyond 2¹⁰⁰⁰ sums may overflow: scale first
    small = np.ldexp(values, -exponent) if exponent else values
    anchor = small[first]
    mean = anchor + mean_offsets(small - anchor[labels], labels, weights)
    low, high = anchor.copy(), anchor.copy()
    np.minimum.at(low, labels, small)
    np.maximum.at(high, labels, small)
    found = np.ldexp(np.clip(mean, low, high), exponent)
    return np.asarray(np.where(low == high, values[first], found) + 0.0)


def class_means_of_integers(
    values: NDArray[np.int64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Return the mean of each class rounded to the nearest integer (halves to even), without leaving 64 bits.

    >>> class_means_of_integers(np.array([2**62, 2**62 + 1, 2**62 + 2]), np.array([0, 0, 0])).tolist()[0] - 2**62
    1
    """
    anchor = values[first_members(labels)]
    low, high = anchor.copy(), anchor.copy()
    np.minimum.at(low, labels, values)
    np.maximum.at(high, labels, values)
    if int(values.max()) - int(values.min()) >= 2**63:  # differences leave 64 bits, those of halves do not
        means = 2 * class_means_of_integers(values >> 1, labels, weights)
    else:
        offsets = (values - anchor[labels]).astype(np.float64)
        means = anchor + np.rint(mean_offsets(offsets, labels, weights)).astype(np.int64)
    return np.clip(means, low, high)
