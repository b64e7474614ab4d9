"""Class means, medians and costs (SSE): independent of the order of rows, and without overflow."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.category_groups import add_costs, groups_of
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.types.coded import Coded


@dataclass(frozen=True, eq=False)
class Members:
    """Values and weights sorted by class, then by value, then by weight.

    Class c occupies positions `starts[c]` to `starts[c + 1]`.

    >>> found = members(np.array([3.0, 1.0, 2.0]), np.array([0, 1, 0]), None)
    >>> found.values.tolist(), found.starts.tolist()
    ([2.0, 3.0, 1.0], [0, 2, 3])
    """

    starts: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)


def members(values: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None) -> Members:
    """Group records by class, and sort each class by value and weight; without weights, every record has weight 1.

    **Complexity.** O(n) to group, plus a Shell sort of each class, which is fast because classes are small.
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
    """Write every record to the next free position of its class."""
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


def class_means(
    values: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the mean of each class as the heaviest member's value plus the mean difference from it.

    **Guarantee.** Equal members give exactly their value; no mean lies outside its class's range; nothing overflows
    up to the largest float. The order of rows does not matter: members are added in order of value. Measured from the
    heaviest member, the rounding error of a weighted total is small relative to the total of absolute values, however
    unequal the weights are. A class whose weights are all zero gets its unweighted mean.

    >>> class_means(np.array([0.1, 0.1, 0.1, 3.0]), np.array([0, 0, 0, 1])).tolist()
    [0.1, 3.0]
    """
    largest = np.maximum(np.max(values), -np.min(values))
    exponent = max(int(np.frexp(largest)[1]) - 1000, 0)  # beyond 2¹⁰⁰⁰ sums may overflow: scale first
    small = np.ldexp(values, -exponent) if exponent else values
    found = members(small, labels, weights)
    anchors, offsets = np.empty(len(found.starts) - 1), np.empty(len(found.starts) - 1)
    _means(found.starts, found.values, found.weights, anchors, offsets)
    low, high = _ends(found)
    means = np.clip(anchors + offsets, low, high)
    if not exponent:
        return np.asarray(means + 0.0)
    equal = low == high  # scaling may have cost the value itself a bit
    exact = np.empty(len(means))
    exact[labels] = values
    return np.asarray(np.where(equal, exact, np.ldexp(means, exponent)) + 0.0)


def class_means_of_integers(
    values: NDArray[np.int64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Return the mean of each class rounded to the nearest integer (halves to even), within 64 bits throughout.

    The order of rows does not matter, as for :func:`class_means`.

    >>> class_means_of_integers(np.array([2**62, 2**62 + 1, 2**62 + 2]), np.array([0, 0, 0])).tolist()[0] - 2**62
    1
    """
    low = np.full(int(labels.max()) + 1, np.iinfo(np.int64).max)
    high = np.full(len(low), np.iinfo(np.int64).min)
    np.minimum.at(low, labels, values)
    np.maximum.at(high, labels, values)
    if int(values.max()) - int(values.min()) >= 2**63:  # differences would overflow 64 bits; those of halves do not
        means = 2 * class_means_of_integers(values >> 1, labels, weights)
    else:
        offsets = (values - low[labels]).astype(np.float64)
        means = low + np.rint(class_means(offsets, labels, weights)).astype(np.int64)
    return np.clip(means, low, high)


def class_sums(values: NDArray[np.float64], labels: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """Return the sum of each class, added from the lowest value to the highest, so that row order does not matter.

    >>> class_sums(np.array([0.1, 1e16, 0.2, -1e16]), np.array([0, 0, 0, 0]), 2).tolist()
    [0.0, 0.0]
    """
    order = np.argsort(values, kind="stable")
    return np.asarray(np.bincount(labels[order], values[order], classes), np.float64)


def _ends(found: Members) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and the largest member of each class."""
    last = len(found.values) - 1
    return found.values[np.minimum(found.starts[:-1], last)], found.values[found.starts[1:] - 1]


@kernel
def _means(starts, values, weights, anchors, offsets):
    """Write each class's heaviest member's value (ties to the lowest) and the mean difference from it."""
    for c in range(starts.shape[0] - 1):
        begin, end = starts[c], starts[c + 1]
        if begin == end:
            anchors[c], offsets[c] = 0.0, np.nan
            continue
        mass, heaviest = 0.0, begin
        for i in range(begin, end):
            mass += weights[i]
            if weights[i] > weights[heaviest]:
                heaviest = i
        anchor, total = values[heaviest], 0.0
        for i in range(begin, end):
            total += (values[i] - anchor) * (weights[i] if mass > 0.0 else 1.0)
        anchors[c] = anchor
        offsets[c] = total / (mass if mass > 0.0 else end - begin)


_PARTS = 2.0**52  # resolution of a class's weights
_TIE = 1e-12  # a sum that falls short of half by less counts as half


def medians(
    values: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the lower median of each class: the smallest value at or below which at least half of the weight lies.

    >>> medians(np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 0, 0, 1]), None).tolist()
    [2.0, 5.0]
    """
    order = np.lexsort((values, labels) if weights is None else (weights, values, labels))  # row order must not matter
    label, share = labels[order], np.ones(len(order)) if weights is None else weights[order]
    whole = np.bincount(label, share)
    share = np.where(whole[label] > 0, share, 1.0)  # weights that are all 0 count equally
    # as integers, in units of each class's own weight: sums over all classes may wrap around, but differences stay
    # exact, so that heavy classes do not swallow light ones
    parts = np.rint(share / np.bincount(label, share)[label] * _PARTS).astype(np.uint64)
    so_far = np.cumsum(parts)
    begins = np.flatnonzero(np.diff(label, prepend=-1))
    before = so_far[begins] - parts[begins]
    all_of = so_far[np.append(begins[1:], len(label)) - 1] - before
    first = np.flatnonzero(so_far - before[label] >= (all_of[label] - np.uint64(_TIE * _PARTS)) / 2)
    found: NDArray[np.float64] = values[order][first[np.unique(label[first], return_index=True)[1]]]
    return found


class Classes(NamedTuple):
    """Candidate classes: class c holds the records ``members[bounds[c]:bounds[c + 1]]`` and costs ``costs[c]``."""

    members: np.ndarray  # int64, rows
    bounds: np.ndarray  # (classes + 1,) int64
    costs: np.ndarray  # (classes,) float64: SSE

    def take(self, chosen: np.ndarray) -> Classes:
        """Return some of the classes, in the order given."""
        sizes = np.diff(self.bounds)[chosen]
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        source = np.repeat(self.bounds[:-1][chosen] - bounds[:-1], sizes) + np.arange(bounds[-1])
        return Classes(self.members[source], bounds, self.costs[chosen])


@kernel
def _costs(x, members, bounds, out):
    """Write the SSE of each class, from differences to its first member, which stay accurate far from the origin."""
    for c in range(out.shape[0]):
        begin, end = bounds[c], bounds[c + 1]
        total = 0.0
        for j in range(x.shape[1]):
            anchor = x[members[begin], j]
            first, second = 0.0, 0.0
            for at in range(begin + 1, end):
                t = x[members[at], j] - anchor
                first += t
                second += t * t
            total += max(second - first * first / (end - begin), 0.0)
        out[c] = total


@part
def root(parent, i):
    """Return the root of a tree of joined records, halving the path to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def class_costs(points: np.ndarray | Coded, members: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the SSE of each class.

    >>> class_costs(np.array([[0.0], [2.0], [5.0]]), np.array([0, 1, 2]), np.array([0, 2, 3])).tolist()
    [2.0, 0.0]
    """
    announce(_costs)
    out = np.empty(bounds.shape[0] - 1)
    _costs(points.numbers if isinstance(points, Coded) else points, members, bounds, out)
    if isinstance(points, Coded):
        groups = groups_of(points)
        add_costs(groups, members, bounds, np.zeros(int(groups.groups.max()), np.int64), out)
    return out


def classes_of(points: np.ndarray | Coded, labels: np.ndarray) -> Classes:
    """Return the classes of a partition with their costs; members ascend."""
    members = np.argsort(labels, kind="stable")
    bounds = np.concatenate(([0], np.flatnonzero(np.diff(labels[members])) + 1, [len(labels)]))
    return Classes(members, bounds, class_costs(points, members, bounds))


def labels_of(n: int, classes: Classes) -> np.ndarray:
    """Return the class of each record; classes are numbered by their first rows."""
    order = np.argsort([classes.members[begin] for begin in classes.bounds[:-1]], kind="stable")
    ordered = classes.take(order)
    labels = np.empty(n, np.int64)
    labels[ordered.members] = np.repeat(np.arange(len(order)), np.diff(ordered.bounds))
    return labels


def sse(points: np.ndarray | Coded, labels: np.ndarray) -> float:
    """Return the sum over all records of squared distances to the means of their classes.

    >>> sse(np.array([[0.0], [2.0], [9.0], [9.0]]), np.array([0, 0, 1, 1]))
    2.0
    """
    return float(classes_of(points, labels).costs.sum())
