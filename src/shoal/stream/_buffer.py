"""Columns of the tuples that wait: they grow at the end, and lose rows anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 256


class Buffer:
    """Several arrays with the same number of rows, in the order in which these came.

    >>> buffer = Buffer([np.empty(0), np.empty((0, 2))])
    >>> buffer.append([np.array([1.0, 2.0]), np.zeros((2, 2))])
    >>> buffer.keep(np.array([False, True]))
    >>> len(buffer), buffer[0].tolist()
    (1, [2.0])
    """

    def __init__(self, empty: Sequence[NDArray[Any]]) -> None:
        self._columns = list(empty)
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, column: int) -> NDArray[Any]:
        """Return one array; it is of use until rows are added or taken away."""
        return self._columns[column][: self._rows]

    def append(self, columns: Sequence[NDArray[Any]]) -> None:
        """Add rows."""
        more = self._rows + len(columns[0])
        for at, (mine, fresh) in enumerate(zip(self._columns, columns, strict=True)):
            room = mine
            if more > len(mine):
                room = np.empty((max(more, 2 * self._rows, _LEAST), *mine.shape[1:]), mine.dtype)
                room[: self._rows] = mine[: self._rows]
            room[self._rows : more] = fresh
            self._columns[at] = room
        self._rows = more

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Take away all rows but some."""
        rows = np.flatnonzero(which)
        self._columns = [column[rows] for column in self._columns]
        self._rows = len(rows)
