"""Nearest released records of a target, all of them if several are equally near."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Param
from shoal.types import Coded

Records = NDArray[np.float64] | Coded

#: Parameter of measures that attack a sample of records.
Attempts = Annotated[int, Param("Most records of each table that are attacked.", low=1)]

_CELLS = 4_000_000  # distances held at once
_FARTHEST = 1e150  # coordinates are cut off here, so that squares stay finite
_CLOSE = 1e-9  # distances that differ less, relative to the length of the records, are equal


class Nearest(NamedTuple):
    """For each target its distance to the nearest record, and all records at that distance."""

    distances: NDArray[np.float64]  #: (targets,)
    targets: NDArray[np.int64]  #: (pairs,) sorted
    records: NDArray[np.int64]  #: (pairs,)

    def of(self, number: int) -> list[NDArray[np.int64]]:
        """Return the nearest records of each target."""
        return np.split(self.records, np.searchsorted(self.targets, np.arange(1, number)))


def nearest_records(targets: Records, records: Records) -> Nearest:
    """Find the nearest records of each target.

    Squared differences of numbers are added to the distances of categories: 1, or less within a taxonomy. Complexity:
    O(t·r·d) for d coordinates; a category has one for each of its values.

    >>> found = nearest_records(np.array([[0.0], [5.0]]), np.array([[1.0], [-1.0], [5.5]]))
    >>> found.distances.tolist(), [near.tolist() for near in found.of(2)]
    ([1.0, 0.5], [[0, 1], [2]])
    """
    x = coordinates(targets)
    lengths, best = (x * x).sum(axis=1), np.full(len(x), np.inf)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    step = max(1, _CELLS // max(len(x), 1))
    for begin in range(0, len(records), step):
        y = coordinates(records[begin : begin + step])
        its = (y * y).sum(axis=1)
        squares = lengths[:, None] + its - 2.0 * (x @ y.T)
        slack = _CLOSE * (1.0 + lengths)
        best = np.minimum(best, squares.min(axis=1))
        rows, columns = np.nonzero(squares <= (best + slack)[:, None])
        found.append((rows, columns + begin, squares[rows, columns]))
    rows, columns, squares = (np.concatenate(parts) for parts in zip(*found, strict=True))
    near = squares <= best[rows] + _CLOSE * (1.0 + lengths[rows])
    order = np.lexsort((columns[near], rows[near]))
    close = best <= _CLOSE * (1.0 + lengths)  # equal records, but for rounding
    return Nearest(np.sqrt(np.where(close, 0.0, best)), rows[near][order], columns[near][order])


def coordinates(x: Records) -> NDArray[np.float64]:
    """Return records as coordinates whose squares are finite; a category has one for each of its values and groups."""
    return np.clip(x.embedding() if isinstance(x, Coded) else x, -_FARTHEST, _FARTHEST)


def drawn(n: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw at most `most` of n records, in order."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def distance_of_rank(targets: Records, records: Records, rank: int) -> NDArray[np.float64]:
    """Return the distance of each target to its `rank`-th nearest record.

    >>> distance_of_rank(np.array([[0.0]]), np.array([[1.0], [3.0]]), 2).tolist()
    [3.0]
    """
    y = coordinates(records)
    its, found = (y * y).sum(axis=1), np.empty(len(targets))
    step = max(1, _CELLS // max(len(y), 1))
    for begin in range(0, len(targets), step):
        x = coordinates(targets[begin : begin + step])
        squares = (x * x).sum(axis=1)[:, None] + its - 2.0 * (x @ y.T)
        squares.partition(rank - 1, axis=1)
        found[begin : begin + step] = np.sqrt(np.maximum(squares[:, rank - 1], 0.0))
    return found
