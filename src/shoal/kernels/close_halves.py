"""Halves of a class, and halves of these, that have nearly the confidential values of the whole."""

from __future__ import annotations

import numpy as np

from shoal.kernels.demands import Demands


def halved(x: np.ndarray, labels: np.ndarray, d: Demands, most: int) -> np.ndarray:
    """Halve classes of more than `most` records until none is left.

    Of two records that follow each other in value one goes to either half, so that halves have nearly the values of the
    whole; which goes where is decided along the axis on which the class is widest. Records follow each other by the
    first attribute, those of equal value by the second, and so on.
    """
    out, fresh = labels.copy(), int(labels.max()) + 1
    rank = np.empty(len(x), np.int64)
    rank[np.lexsort(d.c.codes[::-1])] = np.arange(len(x))
    waiting = [int(number) for number in np.flatnonzero(np.bincount(labels) > most)]
    while waiting:
        number = waiting.pop()
        inside = np.flatnonzero(out == number)
        inside = inside[np.argsort(rank[inside])]
        axis = int(np.argmax(x[inside].std(axis=0)))
        pairs = inside[: len(inside) // 2 * 2].reshape(-1, 2)
        side = np.argmin(x[pairs, axis], axis=1)
        out[pairs[np.arange(len(pairs)), side]] = fresh
        waiting += [one for one, size in ((number, len(inside) - len(pairs)), (fresh, len(pairs))) if size > most]
        fresh += 1
    return out
