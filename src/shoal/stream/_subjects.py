"""Subjects as numbers: equal ones have equal numbers, whatever wrote them.

Text is numbered by its hash, so nothing is remembered of subjects that left. If two subjects ever had one number, they
would count as one: a class would be larger than it must, never smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.stream_points._cells import MISSING, is_missing, listed
from shoal.types import called

_MOST = 2**63


def numbered(name: str, cells: Any) -> tuple[NDArray[np.int64], list[tuple[int, str]]]:
    """Return a number for each cell's subject, and which cells have none.

    >>> numbered("pid", [7, "7", 7.0, "x", None])[0].tolist()[:3]
    [7, 7, 7]
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "i":
        return cells.astype(np.int64), []
    found, faults = [], []
    for at, cell in enumerate(listed(cells)):
        absent = is_missing(cell)
        if absent:
            faults.append((at, MISSING.format(name=name)))
        found.append(0 if absent else _number(cell))
    return np.array(found, np.int64), faults


def _number(cell: Any) -> int:
    if type(cell) is int and -_MOST <= cell < _MOST:
        return cell
    text = called(cell).strip()
    try:
        number = int(text) if text.lstrip("-").isdecimal() else None
    except ValueError:  # thousands of digits, or signs in between
        number = None
    return number if number is not None and -_MOST <= number < _MOST else hash(text)
