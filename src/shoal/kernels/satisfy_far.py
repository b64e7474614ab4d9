"""Where a class may find a value that it lacks, if no neighbour has one to spare.

The records of an attribute are looked through in an order that begins with what is hard to come by: the rarest values,
or the lowest and highest where range or variance is asked for.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.arrangement import Arrangement
from shoal.kernels.gap import gap
from shoal.kernels.jit import kernel, part
from shoal.kernels.roster import Roster, excess_of
from shoal.kernels.rules import KIND, METRIC, NUMBERS, REACH, SPREAD, Rules

FOUND = 16  #: classes that are found for each
_LOOKS = 16  # records looked at for each of the table, all classes together, …
_LEAST_LOOKS, _MOST_LOOKS = 256, 1 << 14  # … and for each class


def far_classes(a: Arrangement, r: Roster, broken: np.ndarray) -> np.ndarray:
    """Return for each of some classes others that can spare a record with a value that it lacks, the nearest first.

    Returns
    -------
    near : (classes, FOUND) int64
        −1 where there are no more.

    Complexity: O(n log n), then at most 16·n looks at records, or 256 for each class if that is more.
    """
    assert r.rules is not None  # t alone is seen to by mergers
    order = np.array([_hardest_first(r.c.codes[at], r.rules, at) for at in range(len(r.close))])
    looks = min(max(_LOOKS * order.shape[1] // len(broken), _LEAST_LOOKS), _MOST_LOOKS)
    near = np.full((len(broken), FOUND), -1, np.int64)
    _look(a, r, broken, order, looks, near, np.empty(FOUND))
    return near


def _hardest_first(codes: np.ndarray, rules: Rules, at: int) -> np.ndarray:
    """Return the records of an attribute in the order in which they are looked through."""
    for q in range(rules.begin[at], rules.begin[at + 1]):
        kind, metric = rules.whole[q, KIND], rules.whole[q, METRIC]
        if kind == REACH or (kind == SPREAD and metric == NUMBERS):
            up = np.argsort(codes, kind="stable")
            return np.asarray(np.stack([up, up[::-1]], axis=1).ravel()[: len(up)], np.int32)  # from both ends
    return np.lexsort((codes, np.bincount(codes)[codes])).astype(np.int32)


@part
def _has(a, r, at, b, code):
    low, high = 0, a.size[b]
    while low < high:
        middle = (low + high) // 2
        if r.code[at, b, middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < a.size[b] and r.code[at, b, low] == code


@part
def _keep(near, apart, distance, c):
    """Put a class among the nearest, once; tell whether there was a place."""
    place = near.shape[0] - 1
    for p in range(near.shape[0]):
        if near[p] == c:
            if apart[p] <= distance:
                return
            place = p
            break
        if near[p] < 0:
            place = p
            break
    while place > 0 and apart[place - 1] > distance:
        near[place], apart[place] = near[place - 1], apart[place - 1]
        place -= 1
    near[place], apart[place] = c, distance


@kernel
def _look(a, r, broken, order, looks, near, apart):
    last = near.shape[1] - 1
    for q in range(broken.shape[0]):
        b = broken[q]
        for at in range(order.shape[0]):
            if r.rules.begin[at] == r.rules.begin[at + 1]:
                continue
            for p in range(min(looks, order.shape[1])):
                y = order[at, p]
                c = a.label[y]
                if c == b or _has(a, r, at, b, r.c.codes[at, y]):
                    continue
                distance = gap(a.x, y, a.mean, b)
                if near[q, last] >= 0 and distance >= apart[last]:
                    continue
                if excess_of(a, r, c, y, -1) <= r.excess[c]:
                    _keep(near[q], apart, distance, c)
