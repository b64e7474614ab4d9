"""Cells of a stream as numbers, category numbers, or multiples of a step."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.types import called
from shoal.types.stream import StreamAttribute, Taken

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PLAIN = (int, float)

#: The reason for an absent or empty field.
MISSING = "Column {name!r}: must have a value, but is missing. Correct the record."


@dataclass(frozen=True)
class Between(StreamAttribute):
    """A numeric or datetime attribute between two bounds: one coordinate from 0 to 1."""

    name: str
    low: Any
    high: Any

    @property
    def middle(self) -> NDArray[np.float64]:
        """The midpoint between the bounds."""
        return np.full(1, 0.5)

    def place(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the coordinate of each value."""
        found: NDArray[np.float64] = (values - self.low) / float(self.high - self.low)
        return found[:, None]


def is_missing(cell: object) -> bool:
    """Tell whether a cell is missing: None, NaN, blank text, or a value not known to equal itself."""
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
    """Return cells as a list of plain values, from any container."""
    if isinstance(cells, (list, tuple)):
        return cells
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        cells = cells.astype("datetime64[us]")  # Python datetimes have microseconds, not nanoseconds
    for words in ("to_pylist", "tolist", "to_list"):
        if hasattr(cells, words):
            return list(getattr(cells, words)())
    return list(cells)


def each(name: str, cells: Sequence[Any], read: Callable[[Any], Any], wanted: str) -> tuple[list[Any], list[Any]]:
    """Parse cells one by one; `read` returns None for invalid ones. Return values, and faults as sentences."""
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
    """Return cells as float64, and which are not finite numbers; numeric text is accepted."""
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
    """Return cells that are all numeric; None if they must be checked one by one."""
    if isinstance(cells, (list, tuple)):
        types = set(map(type, cells))
        if not types.issubset(_PLAIN):
            return None
        try:
            return np.array(cells, np.float64)
        except OverflowError:  # an integer beyond the range of floats
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


@dataclass(frozen=True)
class Categories(StreamAttribute):
    """An attribute of declared categories, ordered or not."""

    name: str
    categories: tuple[Any, ...] = field(repr=False)
    among: str  #: where they were declared, for messages

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The code of each category by name; blanks count as missing and get no code."""
        return {called(category): at for at, category in enumerate(self.categories) if called(category).strip()}

    def fits(self, cell: Any) -> bool:
        """Tell quickly whether a cell is one of the categories; if not, it may still be parsed."""
        return type(cell) is str and cell in self._numbers

    def take(self, cells: Any) -> Taken:
        """Parse categories; undeclared ones are faults."""
        items, number = listed(cells), self._numbers
        try:
            quick = [number.get(cell, -1) for cell in items]  # text is its own name
        except TypeError:  # a list or table: not a category
            quick = [-1] * len(items)
        if -1 not in quick:
            return Taken(np.array(quick, np.int64), np.zeros(len(items), np.bool_), [])

        def read(cell: Any) -> int | None:
            if isinstance(cell, str):
                return number.get(cell, number.get(cell.strip()))
            return None if isinstance(cell, (list, dict)) else number.get(called(cell))

        sentence = f"must be in {self.among}, got something else. Add it there, or correct the record."
        values, faults = each(self.name, items, read, sentence)
        codes = np.array([0 if value is None else value for value in values], np.int64)
        return Taken(codes, np.zeros(len(items), np.bool_), faults)

    def plain(self, values: NDArray[Any]) -> list[Any]:
        """Return categories as they were declared."""
        return [self.categories[code] for code in values.tolist()]


_EXACT = 2**53  # all integers up to it are exact floats


@dataclass(frozen=True, slots=True)
class Steps:
    """Multiples of a step, which is top / bottom: from `lowest` times to `highest` times.

    **Guarantee.** A value is the float nearest to a multiple of the step as it is written, 0.1 being one tenth, and
    lies within the bounds.

    >>> Steps.between(0.1, 0, 1).round(np.array([0.26, 0.34, 0.96])).tolist()
    [0.3, 0.3, 1.0]
    """

    top: int
    bottom: int
    lowest: int
    highest: int

    @classmethod
    def between(cls, step: float, low: float, high: float) -> Steps:
        """Return the multiples of a step between two bounds, all taken as written in decimal."""
        exact = Fraction(str(step))
        first, last = (Fraction(str(end)) / exact for end in (low, high))
        return cls(exact.numerator, exact.denominator, ceil(first), floor(last))

    @property
    def fault(self) -> str | None:
        """Return why there are no such values, or None."""
        if self.lowest > self.highest:
            return "no multiple of it lies between the bounds. Lower it, or widen the bounds."
        if max(abs(self.lowest), abs(self.highest)) * self.top > _EXACT or self.bottom > _EXACT:
            return "it is finer than floats between the bounds. Raise it."
        return None

    def round(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest multiples; ties go to the even one."""
        times = np.rint(values * self.bottom / self.top)
        return np.asarray(np.clip(times, self.lowest, self.highest) * self.top / self.bottom + 0.0)
