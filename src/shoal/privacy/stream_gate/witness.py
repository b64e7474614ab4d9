"""Witness of a stream: checks every class before its release, with its own counts of the tuples that arrived.

It shares no code with what forms classes: it reads cells, numbers bins, counts and compares independently, in
fractions.
"""

from __future__ import annotations

import datetime as dt
import json
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import floor, inf, isfinite, lcm
from typing import Any

from shoal.errors import GuaranteeError
from shoal.privacy.counting.histograms import at_least
from shoal.privacy.counting.spelling import same_value
from shoal.types import called

_BINS, _SINGLE = 32, 64
_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Asked:
    """Model at its levels, for one field; for t-closeness also the domain of the field."""

    model: str
    field: str
    levels: Mapping[str, float]
    categories: tuple[str, ...] = ()  #: their names, in order for an ordinal field
    ordered: bool = False
    cuts: tuple[float, ...] = ()  #: lower ends of numeric bins, except the first
    bounds: tuple[Any, Any] | None = None  #: without cuts: the two ends of numbers, dates or times
    whole: bool = False  #: whether numbers are integers
    shares: tuple[float, ...] = ()  #: reference shares for classes; empty: the tuples that arrived so far


class Reader:
    """Reader of the cells of one field as bin numbers."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.ordered = asked.ordered or not asked.categories
        self.names = {name: at for at, name in enumerate(asked.categories)}
        self.edges: list[Any] = [] if asked.categories else [float(cut) for cut in asked.cuts] or self._between()
        self.count = len(asked.categories) or len(self.edges) + 1
        if asked.shares and len(asked.shares) != self.count:
            raise GuaranteeError(f"Stream: the shares of {asked.field!r} differ in number from its bins.")
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
        """Return the bin of a cell; a cell without a bin fails."""
        if self.names:
            told = cell if isinstance(cell, str) else called(cell)
            found = self.names.get(told, self.names.get(told.strip()))
        else:
            dated = self.asked.bounds is not None and isinstance(self.asked.bounds[0], str)
            number = _moment(cell) if dated else _number(cell)
            found = None if number is None else bisect_right(self.edges, number)
        if found is None:
            raise GuaranteeError(f"Stream: a released value of {self.asked.field!r} is not in its domain.")
        return found


def _number(cell: Any) -> float | None:
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _moment(cell: Any) -> int | None:
    """Return microseconds since 1970 for text, a date or a time."""
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


@dataclass
class Witness:
    """Check of every class against every demand: a class that fails is not released.

    Call `came` for every tuple that arrives, in order, and `look` for every class, in the order in which classes
    formed.

    >>> witness = Witness([Asked("p_sensitivity", "ill", {"p": 2})])
    >>> witness.look(3, {"ill": ["flu", "gout", "flu"]})
    >>> witness.look(7, {"ill": ["flu", "flu "]})  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    shoal.errors.GuaranteeError: Stream: a class formed at tuple 7 does not reach p_sensitivity of 'ill'. It was not
    released.
    """

    asked: Sequence[Asked]
    so_far: Mapping[str, Sequence[int]] = field(default_factory=dict)  #: the state stored in a cursor

    def __post_init__(self) -> None:
        self._readers = {one.field: Reader(one) for one in self.asked if one.model == "t_closeness"}
        self._counts: dict[str, list[int]] = {}
        for name, reader in self._readers.items():
            if not reader.asked.shares:
                counts = list(self.so_far.get(name, [0] * reader.count))
                if len(counts) != reader.count:
                    raise GuaranteeError(f"Stream: the stored counts of {name!r} have another number of bins.")
                self._counts[name] = counts
        self._coming: deque[tuple[int, tuple[int, ...]]] = deque()  # position, and the bin in each counted field

    def came(self, positions: Sequence[int], columns: Mapping[str, Sequence[Any]]) -> None:
        """Record arriving tuples: valid ones only, ascending, with their original fields.

        All classes that formed before these arrived must have been checked before.
        """
        if not self._counts:
            return
        if self._coming:
            self._count(self._coming[-1][0])  # no class can form any more at a tuple that arrived before these
        bins = [[self._readers[name].bin(cell) for cell in columns[name]] for name in self._counts]
        self._coming.extend(zip(positions, zip(*bins, strict=True), strict=True))

    def look(self, moment: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """Check a class that formed when the tuple at position `moment` arrived; its fields are as released."""
        self._count(moment)
        for one in self.asked:
            if not self._holds(one, list(columns[one.field])):
                raise GuaranteeError(
                    f"Stream: a class formed at tuple {moment} does not reach {one.model} of {one.field!r}. It was "
                    "not released."
                )

    def _count(self, moment: int) -> None:
        while self._coming and self._coming[0][0] <= moment:
            for counts, own in zip(self._counts.values(), self._coming.popleft()[1], strict=True):
                counts[own] += 1

    def _holds(self, one: Asked, cells: list[Any]) -> bool:
        level = {name: Fraction(str(value)) for name, value in one.levels.items()}
        if not cells:
            return False
        if one.model == "t_closeness":
            reader = self._readers[one.field]
            base = reader.shares or self._counts[one.field]
            return _close([reader.bin(cell) for cell in cells], base, reader.ordered, level["t"])
        counts = sorted(Counter(_told(cell) for cell in cells).values(), reverse=True)
        if one.model == "entropy_l_diversity":
            return _uncertain(tuple(counts), level["l"])
        if one.model == "recursive_l_diversity":
            return counts[0] < level["c"] * sum(counts[max(int(level["l"]), 1) - 1 :])
        if one.model in ("p_sensitivity", "distinct_l_diversity"):
            return len(counts) >= max(level.values())
        return False  # an unknown model fails


@lru_cache(maxsize=4096)
def _uncertain(counts: tuple[int, ...], l: Fraction) -> bool:  # noqa: E741 - the literature's name
    """Tell whether values with these counts are as uncertain as l equally frequent values, exactly."""
    return at_least(counts, l)


def _close(codes: list[int], base: Sequence[int], ordered: bool, t: Fraction) -> bool:
    """Tell whether the earth mover's distance of a class from counts is at most t; from no counts it never is."""
    mine, s, n, work, running = Counter(codes), len(codes), sum(base), 0, 0
    for u, theirs in enumerate(base):
        off = mine[u] * n - theirs * s  # the difference of shares, times n and s
        running += off
        work += abs(running) if ordered else abs(off)
    steps = len(base) - 1 if ordered else 2
    return n > 0 and work * t.denominator <= t.numerator * n * s * steps


def _told(cell: Any) -> Any:
    """Return the comparison key of a cell: its number, if it reads as one; None, NaN and blanks are one value."""
    if _absent(cell):
        return ""
    if isinstance(cell, (bool, list, dict)):
        return str(cell).lower() if isinstance(cell, bool) else _nested(cell)
    text = same_value(str(cell))
    try:
        number = float(text) if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError):
        return text
    except OverflowError:  # an integer beyond the range of floats: as text it reads as infinite
        number = inf if cell > 0 else -inf
    return "" if number != number else number  # noqa: PLR0124


def _absent(cell: Any) -> bool:
    try:
        return cell is None or bool(cell != cell) or (isinstance(cell, str) and not cell.strip())  # noqa: PLR0124
    except (TypeError, ArithmeticError):  # NA, for which equality to itself is unknown
        return True


def _nested(cell: Any) -> str:
    try:
        return json.dumps(cell, sort_keys=True, default=str)
    except (TypeError, ValueError):  # names without an order
        return str(cell)
