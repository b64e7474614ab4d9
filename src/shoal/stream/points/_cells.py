"""Cells of any kind as numbers, and attributes of numbers between two bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PLAIN = (int, float)

#: A field that is not there, or holds nothing.
MISSING = "Column {name!r}: must have a value, got none. Correct the record."


@dataclass(frozen=True)
class Between:
    """An attribute of numbers or moments between two bounds: one coordinate from 0 to 1."""

    name: str
    low: Any
    high: Any

    @property
    def middle(self) -> NDArray[np.float64]:
        """Half of the way between the bounds."""
        return np.full(1, 0.5)

    def place(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the coordinate of each value."""
        found: NDArray[np.float64] = (values - self.low) / float(self.high - self.low)
        return found[:, None]


def is_missing(cell: object) -> bool:
    """Tell whether a cell holds nothing: none, NaN, text of blanks, or what is not known to be equal to itself."""
    if cell is None or cell is np.ma.masked:
        return True
    if isinstance(cell, (str, bytes)):
        return not cell.strip()
    try:
        return bool(cell != cell)  # noqa: PLR0124  NaN, NaT
    except ValueError:  # several values, in an array
        return False
    except (TypeError, ArithmeticError):  # NA of pandas, signalling NaN
        return True


def listed(cells: Any) -> Sequence[Any]:
    """Return cells as a list of plain values, whatever holds them."""
    if isinstance(cells, (list, tuple)):
        return cells
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        cells = cells.astype("datetime64[us]")  # of which Python has moments; of nanoseconds it has not
    for words in ("to_pylist", "tolist", "to_list"):
        if hasattr(cells, words):
            return list(getattr(cells, words)())
    return list(cells)


def each(name: str, cells: Sequence[Any], read: Callable[[Any], Any], wanted: str) -> tuple[list[Any], list[Any]]:
    """Read cells one by one; `read` returns None for what it cannot. Return values, and faults as sentences."""
    values: list[Any] = []
    faults: list[tuple[int, str]] = []
    for at, cell in enumerate(cells):
        value = None if is_missing(cell) else read(cell)
        if value is None:
            reason = MISSING.format(name=name) if is_missing(cell) else f"Column {name!r}: {wanted}"
            faults.append((at, reason))
        values.append(value)
    return values, faults


def numbers(name: str, cells: Any, wanted: str) -> tuple[NDArray[np.float64], list[tuple[int, str]]]:
    """Return cells as float64, and which of them are no finite numbers; text that reads as a number is one."""
    quick = _quick(cells)
    if quick is not None:
        odd = np.flatnonzero(~np.isfinite(quick))
        faults = []
        for at in odd.tolist():
            nan = bool(np.isnan(quick[at]))
            faults.append((at, MISSING.format(name=name) if nan else f"Column {name!r}: {wanted}"))
        return quick, faults
    values, faults = each(name, listed(cells), _number, wanted)
    return np.array([np.nan if value is None else value for value in values], np.float64), faults


def _quick(cells: Any) -> NDArray[np.float64] | None:
    """Return what is numbers throughout, and None for what must be looked at one by one."""
    if isinstance(cells, (list, tuple)):
        types = set(map(type, cells))
        if not types.issubset(_PLAIN):
            return None
        try:
            return np.array(cells, np.float64)
        except OverflowError:  # an integer beyond all floats
            return None
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
        return np.asarray(cells, np.float64)
    if hasattr(cells, "null_count") and hasattr(cells, "type"):  # Arrow
        import pyarrow as pa

        if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
            whole = cells.cast(pa.float64(), safe=False)
            whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
            return np.asarray(whole.to_numpy(zero_copy_only=False), np.float64)
    return None


def _number(cell: Any) -> float | None:
    if isinstance(cell, (bool, np.bool_)):
        return None
    try:
        if isinstance(cell, str):
            text = cell.strip()
            value = float(text) if _NUMBER.fullmatch(text) else None
        elif isinstance(cell, (int, float, Decimal, np.number)):
            value = float(cell)
        else:
            value = None
    except (OverflowError, ValueError):
        return None
    return value if value is not None and np.isfinite(value) else None
