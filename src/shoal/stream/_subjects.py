"""Subjects as numbers: equal ones have equal numbers, whatever wrote them.

Text is numbered by its hash, so nothing is remembered of subjects that left. If two subjects ever had one number, they
would count as one: a class would be larger than it must, never smaller.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.stream_points._cells import MISSING, is_missing, listed
from shoal.types import called

_MOST, _DIGITS = 2**63, 20
_SEVERAL = (list, tuple, dict, set, np.ndarray)
_NOBODY = "Column {name!r}: must be text or a number, got a list or a table. Correct the record."


def numbered(name: str, cells: Any) -> tuple[NDArray[np.int64], list[tuple[int, str]]]:
    """Return a number for each cell's subject, and which cells have none.

    >>> numbered("pid", [7, "7", 7.0, "7.0", "x", None])[0].tolist()[:4]
    [7, 7, 7, 7]
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "i":
        return cells.astype(np.int64), []
    found, faults = [], []
    for at, cell in enumerate(listed(cells)):
        fault = MISSING if is_missing(cell) else _NOBODY if isinstance(cell, _SEVERAL) else None
        if fault is not None:
            faults.append((at, fault.format(name=name)))
        found.append(0 if fault is not None else _number(cell))
    return np.array(found, np.int64), faults


def _number(cell: Any) -> int:
    if type(cell) is int and -_MOST <= cell < _MOST:
        return cell
    text = called(cell).strip()
    number = _read(text) if text[:1].isdecimal() or text[:1] in "+-._" else None
    if number is None:
        return hash(text)
    whole = number.adjusted() < _DIGITS and number == number.to_integral_value()
    return int(number) if whole and -_MOST <= number < _MOST else hash(number)  # which is equal for equal numbers


def _read(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
