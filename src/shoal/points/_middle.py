"""Middle of a class: weights by which the mean of its members is their trimmed mean or their median."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MEDIAN = 0.5  #: the share trimmed at each end that leaves the median

_PARTS = 2.0**52  # resolution of a class's weights
_TIE = 1e-12  # a sum that differs from a limit by less, relative to the class, counts as equal


def middle_weights(
    values: NDArray[Any], labels: NDArray[np.int64], weights: NDArray[np.float64] | None, trim: float
) -> NDArray[np.float64] | None:
    """Return the weight of each record in the trimmed mean of its class; with a trim of ½, in its median.

    From each end of a class, the records are dropped whose weights together are at most `trim` of the class's weight:
    without weights ⌊trim · m⌋ of m records. The median is the mean of the lower and the upper median. Records count in
    the order of their values, then of their weights, so that the order of rows does not matter; a class whose weights
    are all 0 counts its records equally.

    >>> labels = np.zeros(5, np.int64)
    >>> middle_weights(np.array([9.0, 1.0, 2.0, 3.0, 4.0]), labels, None, 0.2).tolist()
    [0.0, 0.0, 1.0, 1.0, 1.0]
    >>> middle_weights(np.array([1, 1, 2, 3]), labels[:4], None, MEDIAN).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    if trim == 0.0:
        return weights
    order = np.lexsort((values, labels) if weights is None else (weights, values, labels))
    label, share = labels[order], np.ones(len(order)) if weights is None else weights[order]
    share = np.where(np.bincount(label, share)[label] > 0, share, 1.0)
    begins = np.flatnonzero(np.diff(label, prepend=-1))
    own = np.cumsum(np.diff(label, prepend=label[:1]) != 0)  # the position of each record's class in `begins`
    below, above, whole = _sums(label, share, begins, own)
    if trim < MEDIAN:
        limit = whole * trim + _TIE * _PARTS
        kept = np.where((below > limit) & (above > limit), share, 0.0)
    else:
        half = (whole - _TIE * _PARTS) / 2
        kept = np.zeros(len(order))
        low, high = np.flatnonzero(below >= half), np.flatnonzero(above >= half)
        kept[low[np.unique(own[low], return_index=True)[1]]] = 1.0  # the first of each class
        kept[high[::-1][np.unique(own[high[::-1]], return_index=True)[1]]] = 1.0  # the last of each class
    found = np.empty(len(order))
    found[order] = kept
    return found


def _sums(
    label: NDArray[np.int64], share: NDArray[np.float64], begins: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight up to each record of its class, from each record on, and of the class.

    Sums are of integers, in units of each class's own weight: those over all classes may wrap around, but their
    differences stay exact, so that heavy classes do not swallow light ones.
    """
    parts = np.rint(share / np.bincount(label, share)[label] * _PARTS).astype(np.uint64)
    so_far = np.cumsum(parts)
    before = so_far[begins] - parts[begins]
    whole = so_far[np.append(begins[1:], len(label)) - 1] - before
    below = so_far - before[own]
    above = whole[own] - below + parts
    return below.astype(np.float64), above.astype(np.float64), whole[own].astype(np.float64)
