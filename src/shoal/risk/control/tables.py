"""Quasi-identifiers of three tables: the protected originals, the control, and the release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Tables(NamedTuple):
    """Three tables with the same columns, one row per record; categories are codes from 0, −1 is missing.

    Attributes
    ----------
    original
        The records that were protected, shape (n, m).
    control
        Records of the same population that were not, shape (c, m).
    released
        The release, shape (r, m).
    numeric
        For each column whether it holds numbers.
    """

    original: NDArray[np.float64]
    control: NDArray[np.float64]
    released: NDArray[np.float64]
    numeric: Sequence[bool]

    @property
    def scaled(self) -> Tables:
        """The tables with numbers divided by the originals' standard deviation."""
        spread = np.where(self.numeric, self.original.std(axis=0), 1.0)
        spread[spread == 0] = 1.0
        return Tables(self.original / spread, self.control / spread, self.released / spread, self.numeric)


def finite(*tables: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return tables whose missing numbers lie below all others, at a finite distance.

    >>> [one.tolist() for one in finite(np.array([[5.0]]), np.array([[np.nan]]))]
    [[[5.0]], [[-1.0]]]
    """
    whole = np.concatenate(tables)
    low = np.min(whole, axis=0, where=np.isfinite(whole), initial=0.0) - 1.0
    return [np.where(np.isfinite(table), table, low) for table in tables]


_CELLS = 4_000_000  # distances held at once


def nearest(
    x: NDArray[np.float64], others: NDArray[np.float64], numeric: Sequence[bool], rank: int = 1
) -> NDArray[np.float64]:
    """Return the distance of each row of `x` to the `rank`-th nearest row of `others`.

    Squared differences of numbers are added to 1 for every category that differs. Complexity: O(n·r·m).

    >>> nearest(np.array([[0.0]]), np.array([[1.0], [3.0]]), [True], 2).tolist()
    [3.0]
    """
    found = np.empty(len(x))
    step = max(1, _CELLS // max(len(others), 1))
    for begin in range(0, len(x), step):
        block = x[begin : begin + step]
        squares = np.zeros((len(block), len(others)))
        for j, number in enumerate(numeric):
            a, b = block[:, j, None], others[None, :, j]
            squares += (a - b) ** 2 if number else a != b
        squares.partition(rank - 1, axis=1)
        found[begin : begin + step] = np.sqrt(squares[:, rank - 1])
    return found
