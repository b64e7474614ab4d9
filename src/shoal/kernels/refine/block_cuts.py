"""Space cut into blocks with equally many points, each cut across the widest side."""

from __future__ import annotations

import numpy as np


def cut_blocks(x: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut points into `count` blocks, 1 … n: rows, block after block (int32), and where each begins.

    Points that are to become m > 1 blocks are sorted along the coordinate with the widest range, equal ones by all
    coordinates in turn and then by row, and cut in two: the first ⌊m/2⌋ blocks get their share of the points, rounded
    down, the others the rest. Block b is ``order[bounds[b]:bounds[b + 1]]``.

    Guarantee: n ≥ count · size → every block has at least `size` points. Of distinct points, blocks depend on where
    they lie, not on their rows. Complexity: O(n·d log count) time; besides the result some 30 bytes a point.

    >>> order, bounds = cut_blocks(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    >>> order.tolist(), bounds.tolist()
    ([0, 2, 1, 3], [0, 2, 4])
    """
    n = x.shape[0]
    order = np.arange(n, dtype=np.int32)
    bounds = [n]
    pending = [(0, n, count)]
    while pending:
        begin, end, blocks = pending.pop()
        if blocks == 1:
            bounds.append(begin)
            continue
        first = blocks // 2
        middle = begin + (end - begin) * first // blocks
        _cut(x, order[begin:end], middle - begin)
        pending += [(begin, middle, first), (middle, end, blocks - first)]
    return order, np.array(sorted(bounds), dtype=np.int64)


def _cut(x: np.ndarray, rows: np.ndarray, first: int) -> None:
    """Put the `first` lowest along the widest coordinate to the front of `rows`; on either side their order stays."""
    widest, keys = -1.0, x[:0, 0]
    for j in range(x.shape[1]):  # one coordinate at a time: a copy of all would double the memory
        values = x[rows, j]
        low, high = float(values.min()), float(values.max())
        if high - low > widest:
            widest, keys = high - low, values
    border = np.partition(keys, first)[first]
    below = keys < border
    tied = np.flatnonzero(keys == border)
    missing = first - int(np.count_nonzero(below))
    if missing:
        among = rows[tied]
        below[tied[np.lexsort((among, *x[among].T[::-1]))[:missing]]] = True
    rows[:] = np.concatenate((rows[below], rows[~below]))
