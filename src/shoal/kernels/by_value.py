"""Records without a class by the confidential value they have, so that the few with a rare value are found directly."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import part
from shoal.kernels.remaining import WIDTH


class ByValue(NamedTuple):
    """Rows, value after value; of each value those that have a class stand behind the others."""

    code: np.ndarray  # (n,) the value of each row
    row: np.ndarray  # (n,)
    place: np.ndarray  # (n,) where each row stands
    first: np.ndarray  # (values,) where the rows of a value begin
    left: np.ndarray  # (values,) how many have no class


def by_value(code: np.ndarray, values: int) -> ByValue:
    """Return all records, none of which has a class."""
    row = np.argsort(code, kind="stable")
    place = np.empty_like(row)
    place[row] = np.arange(row.shape[0])
    left = np.bincount(code, minlength=values)
    return ByValue(code, row, place, np.cumsum(left) - left, left)


@part
def _swap(b, i, j):
    b.row[i], b.row[j] = b.row[j], b.row[i]
    b.place[b.row[i]], b.place[b.row[j]] = i, j


@part
def leave(b, row):
    """Note that a record has a class."""
    code = b.code[row]
    b.left[code] -= 1
    _swap(b, b.place[row], b.first[code] + b.left[code])


@part
def come_back(b, row):
    """Note that a record that had a class has none."""
    code = b.code[row]
    _swap(b, b.place[row], b.first[code] + b.left[code])
    b.left[code] += 1


@part
def nearest_of_value(a, b, code, best, best_row):
    """Return the distance and row of the record of a value nearest to where the class started, if it beats the best."""
    x, q = a.remaining.x, a.finder.search.q
    a.counts[3] += b.left[code]
    for i in range(b.first[code], b.first[code] + b.left[code]):
        row = b.row[i]
        block, lane, total = a.slot_of[row] // WIDTH, a.slot_of[row] % WIDTH, 0.0
        for j in range(q.shape[0]):
            t = x[block, j, lane] - q[j]
            total += t * t
        if total < best or (total == best and row < best_row):
            best, best_row = total, row
    return best, best_row
