"""Subjects as numbers: equal ones have equal numbers, however they are spelled.

Text is numbered by its hash, so nothing is remembered of subjects that left. If two subjects ever had one number, they
would count as one: a class would be larger than it must, never smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import spelling
from shoal.stream_points._cells import MISSING, is_missing, listed

_MOST, _DIGITS = 2**63, 19
_SEVERAL = (list, tuple, dict, set, np.ndarray)
_NOBODY = "Column {name!r}: must be text or a number, got a list or a table. Correct the record."


def numbered(name: str, cells: Any, *, exact: bool = False) -> tuple[NDArray[np.int64], list[tuple[int, str]]]:
    """Return a number for each cell's subject, and which cells have none.

    Spellings that may well be one subject are one, unless `exact`.

    >>> numbered("pid", [7, "7", 7.0, "07.0", "x", None])[0].tolist()[:4]
    [7, 7, 7, 7]
    """
    key = _as_written if exact else spelling.person
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "i":
        return cells.astype(np.int64), []
    found, faults = [], []
    for at, cell in enumerate(listed(cells)):
        fault = MISSING if is_missing(cell) else _NOBODY if isinstance(cell, _SEVERAL) else None
        if fault is not None:
            faults.append((at, fault.format(name=name)))
        found.append(0 if fault is not None else _number(cell, key))
    return np.array(found, np.int64), faults


def _number(cell: Any, key: Callable[[str], str]) -> int:
    if type(cell) is int and -_MOST <= cell < _MOST:
        return cell
    text = key(cell) if isinstance(cell, str) else spelling.person(_text(cell))
    whole = text.removeprefix("-")
    if whole.isascii() and whole.isdigit() and len(whole) <= _DIGITS and str(int(whole)) == whole:
        number = int(text)
        return number if -_MOST <= number < _MOST else hash(text)
    return hash(text)


def _text(cell: Any) -> str:
    if isinstance(cell, (float, np.floating, Decimal)):
        return spelling.written(cell if isinstance(cell, Decimal) else float(cell))
    return str(cell)


def _as_written(text: str) -> str:
    return text
