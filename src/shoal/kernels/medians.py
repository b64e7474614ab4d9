"""Lower medians of the classes of a partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PARTS = 2.0**52  # so many parts of a class's weight are told apart
_TIE = 1e-12  # and what lacks so little of a half is one


def medians(
    values: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the lower median of each class: the least value up to which at least half of the weight lies.

    >>> medians(np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 0, 0, 1]), None).tolist()
    [2.0, 5.0]
    """
    order = np.lexsort((values, labels) if weights is None else (weights, values, labels))  # whatever the order of rows
    label, share = labels[order], np.ones(len(order)) if weights is None else weights[order]
    whole = np.bincount(label, share)
    share = np.where(whole[label] > 0, share, 1.0)  # weights that are all 0 count the same
    # in parts of each class's own weight, as integers: sums over all classes may wrap, differences are still exact, so
    # that heavy classes do not swallow light ones
    parts = np.rint(share / np.bincount(label, share)[label] * _PARTS).astype(np.uint64)
    so_far = np.cumsum(parts)
    begins = np.flatnonzero(np.diff(label, prepend=-1))
    before = so_far[begins] - parts[begins]
    all_of = so_far[np.append(begins[1:], len(label)) - 1] - before
    first = np.flatnonzero(so_far - before[label] >= (all_of[label] - np.uint64(_TIE * _PARTS)) / 2)
    found: NDArray[np.float64] = values[order][first[np.unique(label[first], return_index=True)[1]]]
    return found
