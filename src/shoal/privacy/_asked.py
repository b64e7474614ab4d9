"""Cells of a confidential field as numbers of bins, read by the witness of a stream for itself."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isfinite, lcm
from typing import Any

from shoal.errors import GuaranteeError
from shoal.types import called

_BINS, _SINGLE = 32, 64
_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Asked:
    """A model at its levels, of one field; for t-closeness also what is known of the field."""

    model: str
    field: str
    levels: Mapping[str, float]
    categories: tuple[str, ...] = ()  #: their names, of an ordinal field in their order
    ordered: bool = False
    cuts: tuple[float, ...] = ()  #: where bins of numbers begin, but for the first
    bounds: tuple[Any, Any] | None = None  #: without cuts: the two ends of numbers or moments
    whole: bool = False  #: whether numbers are integers
    shares: tuple[float, ...] = ()  #: what classes must be close to; empty: what came so far


class Reader:
    """Reads cells of one field as numbers of bins."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.ordered = asked.ordered or not asked.categories
        self.names = {name: at for at, name in enumerate(asked.categories)}
        self.edges: list[Any] = [] if asked.categories else [float(cut) for cut in asked.cuts] or self._between()
        self.count = len(asked.categories) or len(self.edges) + 1
        if asked.shares and len(asked.shares) != self.count:
            raise GuaranteeError(f"Stream: the shares of {asked.field!r} are not as many as its bins.")
        exact = [Fraction(str(share)) for share in asked.shares]
        scale = lcm(*(share.denominator for share in exact))
        self.shares = [int(share * scale) for share in exact]

    def _between(self) -> list[Any]:
        if self.asked.bounds is None:
            raise GuaranteeError(f"Stream: nothing is known of the domain of {self.asked.field!r}.")
        low, high = (self._end(end) for end in self.asked.bounds)
        if self.asked.whole and high - low < _SINGLE:
            return [low + i for i in range(1, floor(high - low) + 1)]
        edges = [Fraction(low) + (Fraction(high) - Fraction(low)) * i / _BINS for i in range(1, _BINS)]
        return [floor(edge) if isinstance(self.asked.bounds[0], str) else float(edge) for edge in edges]

    def _end(self, end: Any) -> Any:
        found = _moment(end) if isinstance(end, str) else _number(end)
        if found is None:
            raise GuaranteeError(f"Stream: a bound of {self.asked.field!r} cannot be read.")
        return found

    def bin(self, cell: Any) -> int:
        """Return the bin of a cell; a cell without one fails."""
        if self.names:
            told = cell if isinstance(cell, str) else called(cell)
            found = self.names.get(told, self.names.get(told.strip()))
        else:
            dated = self.asked.bounds is not None and isinstance(self.asked.bounds[0], str)
            number = _moment(cell) if dated else _number(cell)
            found = None if number is None else bisect_right(self.edges, number)
        if found is None:
            raise GuaranteeError(f"Stream: a value of {self.asked.field!r} that leaves is not in its domain.")
        return found


def _number(cell: Any) -> float | None:
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _moment(cell: Any) -> int | None:
    """Return microseconds since 1970 of text or a moment."""
    if isinstance(cell, str):
        try:
            cell = dt.datetime.fromisoformat(cell.strip())
        except ValueError:
            return None
    if not isinstance(cell, dt.date):
        return None
    if not isinstance(cell, dt.datetime):
        cell = dt.datetime(cell.year, cell.month, cell.day)
    if cell.tzinfo is not None:
        cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
    return int((cell - _EPOCH) // dt.timedelta(microseconds=1))
