"""Conversion of text cells to values and back, in the dialect of a file: column by column, or cell by cell.

Under the claim ``original``, one record must not change how the cells of others are read. So the type of a column,
which often depends on all of its cells, does not matter here: 51, 51.0 and "51" are the same number, and an unreadable
cell is missing.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, data_rows
from shoal.schema.thousands import ungrouped
from shoal.types import Dialect, Kind, called, without_unused

_INTEGER = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)
_OFFSET = r"(Z|[+-][0-9]{2}:?[0-9]{2})$"
_ZONED = r"T?[0-9]{2}:.*(Z|[+-][0-9]{2}:?[0-9]{2})$"
_UNITS = {"s": 19, "ms": 23, "us": 26, "ns": 29}  # by the length of the longest cell
LOSSLESS_DIGITS = 15
_TOO_LATE, _CENTURY = dt.datetime(2030, 1, 1), dt.timedelta(days=36_525)  # Arrow reads years as 1969 to 2068
WORDS = {Kind.INTEGER: "an integer", Kind.CONTINUOUS: "a number", Kind.DATETIME: "a date or time"}


def is_text(column: pa.ChunkedArray) -> bool:
    """Tell whether a column holds text."""
    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def moment_sign(cells: pa.ChunkedArray) -> str:
    """Return the separator between date and time in the first cell that has both."""
    return " " if pc.any(pc.match_substring_regex(cells, "[0-9] [0-9]")).as_py() else "T"


def lossless(cells: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> bool:
    """Tell whether values would keep everything in the cells: no excess digits, no time zone, nothing unreadable."""
    read = tidy(cells, dialect)
    if kind not in WORDS or not readable(read, kind, dialect):
        return False
    if kind is Kind.CONTINUOUS:
        return bool((pc.max(digits_in(read)).as_py() or 0) <= LOSSLESS_DIGITS)
    return kind is Kind.INTEGER or not pc.any(pc.match_substring_regex(read, _ZONED)).as_py()


def tidy(cells: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Return cells without surrounding blanks; empty cells and those that mean "no value" become missing."""
    trimmed = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    absent = pc.is_in(trimmed, value_set=pa.array(["", *dialect.missing], pa.string()))
    return pc.if_else(absent, pa.scalar(None, pa.string()), trimmed)


def without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with NaN, and categories that are NaN, as missing; unchanged if there is nothing to replace."""
    if pa.types.is_dictionary(column.type):
        return _without_empty(column)
    if not pa.types.is_floating(column.type) or not pc.any(pc.is_nan(column)).as_py():
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def _without_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return categories without missing values or NaN; records that had one become missing."""
    empty = pc.is_null(column.cast(column.type.value_type), nan_is_null=True)
    if pc.sum(empty).as_py() in (None, column.null_count):
        return column
    return without_unused(pc.if_else(empty, pa.scalar(None, column.type), column))


def without_missing(cells: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Return cells unchanged, except that those that mean "no value" become missing."""
    return pc.if_else(pc.is_null(tidy(cells, dialect)), pa.scalar(None, cells.type), cells)


def with_point(cells: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Return cells with a decimal point and no thousands separators; a cell with another point is not a number."""
    cells = ungrouped(cells, dialect)
    if dialect.decimal == ".":
        return cells
    return pc.replace_substring(pc.replace_substring(cells, ".", "·"), dialect.decimal, ".")


def fits(cells: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> pa.ChunkedArray:
    """Tell for each tidy cell whether it reads as a value of this kind; missing where the cell is."""
    if kind is Kind.INTEGER:
        return pc.match_substring_regex(ungrouped(cells, dialect), _INTEGER)
    if kind is Kind.CONTINUOUS:
        return pc.match_substring_regex(with_point(cells, dialect), _NUMBER)
    if kind is Kind.DATETIME and dialect.datetime is not None:
        read = _parsed(cells, dialect.datetime, error_is_null=True)
        again = pc.strftime(read, format=dialect.datetime)  # Arrow reads 30 February as 1 March
        same = pc.fill_null(pc.equal(_bare(again), _bare(cells)), False)
        if "%Y" in dialect.datetime:  # Arrow reads 45 as the year 45
            same = pc.and_(same, pc.fill_null(pc.match_substring_regex(cells, "[0-9]{4}"), False))
        return pc.if_else(pc.is_null(cells), pa.scalar(None, pa.bool_()), same)
    if kind is Kind.DATETIME:
        return pc.match_substring_regex(cells, _MOMENT)
    return pc.is_valid(cells)


def _parsed(cells: pa.ChunkedArray, pattern: str, **options: bool) -> pa.ChunkedArray:
    """Parse dates in a format, two-digit years as 1930 to 2029: most dates in data about people are past."""
    read = pc.strptime(cells, format=pattern, unit="s", **options)
    if not any(year in pattern for year in ("%y", "%x")):
        return read
    late = pc.greater_equal(read, pa.scalar(_TOO_LATE, read.type))
    return pc.if_else(late, pc.subtract(read, pa.scalar(_CENTURY, pa.duration("s"))), read)


def _bare(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Normalise dates by removing leading zeros and capitals."""
    return pc.utf8_lower(pc.replace_substring_regex(texts, "(^|[^0-9])0+([0-9])", r"\1\2"))


def readable(read: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> bool:
    """Tell whether all tidy cells read as values of a kind."""
    try:
        _cast(read, kind, dialect)
    except pa.ArrowInvalid:
        return False
    return True


def misfits(cells: pa.ChunkedArray, name: str, kind: Kind, dialect: Dialect) -> str:
    """Return the sentence about cells that do not read as a kind; empty if all do."""
    if kind not in WORDS or readable(read := tidy(cells, dialect), kind, dialect):
        return ""
    return _misfits(read, name, kind, dialect)


def values(cells: pa.ChunkedArray, name: str, kind: Kind, dialect: Dialect) -> pa.ChunkedArray:
    """Read cells as values of a kind: float64, int64, date32 or timestamp; text for the other kinds.

    Raises
    ------
    DataError
        If cells do not read as that kind: the column, the count and the row numbers, never the cells.
    """
    if kind not in WORDS:
        return cells
    read = tidy(cells, dialect)
    try:
        return _cast(read, kind, dialect)
    except pa.ArrowInvalid:
        raise DataError(_misfits(read, name, kind, dialect)) from None


def _cast(read: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> pa.ChunkedArray:
    if kind is Kind.INTEGER:
        return _integers(read, dialect)
    if kind is Kind.CONTINUOUS:
        return _numbers(read, dialect)
    if not _all(fits(read, kind, dialect)):
        raise pa.ArrowInvalid("misfits")
    if dialect.datetime is not None:
        moments = _parsed(read, dialect.datetime)
        return moments if _has_time(dialect.datetime) else pc.cast(moments, pa.date32())
    return pc.cast(read, moments_in(read).type)


@dataclass(frozen=True)
class Moments:
    """Spellings of dates and times in ISO 8601, which determine their type; those of batches are merged."""

    days: bool = True  #: all are dates without a time
    zoned: bool = True  #: all have a time zone
    unzoned: bool = True  #: none has a time zone
    longest: int = 0  #: characters of the longest, without its time zone

    @property
    def type(self) -> pa.DataType:
        """The type of a column of these dates and times."""
        if self.days:
            return pa.date32()
        unit = next((unit for unit, length in _UNITS.items() if self.longest <= length), "ns")
        return pa.timestamp(unit, tz="UTC" if self.zoned else None)

    def merged(self, other: Moments) -> Moments:
        """Return how the cells of two batches together are written."""
        return Moments(
            self.days and other.days,
            self.zoned and other.zoned,
            self.unzoned and other.unzoned,
            max(self.longest, other.longest),
        )


def moments_in(read: pa.ChunkedArray) -> Moments:
    """Return how tidy cells write dates and times."""
    if _all(pc.match_substring_regex(read, _DATE)):
        return Moments(zoned=read.null_count == len(read), longest=10)
    zoned = pc.match_substring_regex(read, _ZONED)
    longest = pc.max(pc.utf8_length(pc.replace_substring_regex(read, _OFFSET, ""))).as_py() or 0
    return Moments(False, _all(zoned), not pc.any(zoned).as_py(), longest)


def digits_in(read: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the number of digits of each number, without its exponent."""
    return pc.utf8_length(pc.replace_substring_regex(read, "[eE].*|[^0-9]", ""))


def as_flags(flags: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return flags as an array; missing ones are false."""
    found = pc.fill_null(flags, False).combine_chunks().to_numpy(zero_copy_only=False)
    return np.asarray(found, np.bool_)


def _integers(read: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Read integers with Arrow, which is fast, except hexadecimal ones; also accept a plus sign."""
    read = ungrouped(read, dialect)
    try:
        found = pc.cast(read, pa.int64())
        plain = not any(pc.any(pc.match_substring(read, mark)).as_py() for mark in "xX")
    except pa.ArrowInvalid:
        plain = False
    if plain:
        return found
    if not _all(fits(read, Kind.INTEGER, dialect)):
        raise pa.ArrowInvalid("misfits")
    return pc.cast(pc.utf8_ltrim(read, characters="+"), pa.int64())


def _numbers(read: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Read numbers with Arrow, which is fast, except the words for NaN and infinities."""
    found = pc.cast(with_point(read, dialect), pa.float64())
    if not _all(pc.is_finite(found)):
        raise pa.ArrowInvalid("misfits")
    return found


def _all(flags: pa.ChunkedArray) -> bool:
    return pc.all(flags).as_py() is not False


def _has_time(pattern: str) -> bool:
    return any(f"%{letter}" in pattern for letter in "HIMSTRcXpf")


def _misfits(read: pa.ChunkedArray, name: str, kind: Kind, dialect: Dialect) -> str:
    """Return the sentence about cells that do not read as a kind."""
    from shoal.schema.conventions import SHARE, count_conventions, count_negatives, likely, remedy

    bad = as_flags(pc.invert(fits(read, kind, dialect)))
    if not bad.any():  # the pattern matches but the value is invalid: 31 February, an integer beyond 64 bits
        bad = np.zeros(len(read), bool)
        bad[unreadable_rows(read, kind, dialect)] = True
    rows = np.flatnonzero(bad).tolist()
    odd = read.filter(pa.array(bad))
    options = remedy(likely(count_conventions(odd, dialect), SHARE * len(rows)), dialect)
    return misfit_sentence(name, kind, len(rows), len(read), rows, options, count_negatives(odd))


def misfit_sentence(
    name: str, kind: Kind, count: int, total: int, first: Sequence[int], options: str, negatives: int = 0
) -> str:
    """Return the sentence about `count` of `total` cells that cannot be read as a kind.

    `first` are the first of their rows. `options` would read most of these cells; it may be empty. `negatives` of the
    cells look like negative numbers.
    """
    if not count:  # each cell is readable alone, but not all together
        return f"Column {name!r}: mixes times with and without a time zone. Write all of them one way."
    more = f" and {count - len(first):,} more" if count > len(first) else ""
    return (
        f"Column {name!r}: every cell must be {WORDS[kind]}; {count:,} of {total:,} cannot be read as one, "
        f"in {data_rows(first)}{more}. " + (_another_way(options) if options else _remedy(count, negatives))
    )


def _another_way(options: str) -> str:
    return f"Most of these can be read with {options}; if the others cannot, write all cells of the column one way."


def _remedy(count: int, negatives: int) -> str:
    if 2 * negatives >= count:
        return "Most of these look like negative numbers: write them with a hyphen before the number, like -5."
    cells, them = ("the cell", "it") if count == 1 else ("the cells", "them")
    return f"Correct {cells}, declare {them} missing (--missing), or give the column another role."


def unreadable_rows(read: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> list[int]:
    """Return the rows of unreadable cells, by bisection."""
    found, spans = [], [(0, len(read))]
    while spans:
        start, length = spans.pop()
        try:
            _cast(read.slice(start, length), kind, dialect)
        except pa.ArrowInvalid:
            half = length // 2
            if length == 1:
                found.append(start)
            else:
                spans += [(start, half), (start + half, length - half)]
    return found


def numbers(column: pa.ChunkedArray, dialect: Dialect) -> NDArray[np.float64]:
    """Return each cell as a number; NaN if it is missing, not finite, or not a number.

    >>> import pyarrow as pa
    >>> numbers(pa.chunked_array([["51", " 51.5", "x", None]]), Dialect()).tolist()
    [51.0, 51.5, nan, nan]
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return numbers(column.cast(kind.value_type), dialect)
    if is_text(column):
        read = tidy(column, dialect)
        there = pc.fill_null(fits(read, Kind.CONTINUOUS, dialect), False)
        column = with_point(pc.if_else(there, read, pa.scalar(None, pa.string())), dialect)
    elif not any(
        is_number(kind)
        for is_number in (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    ):
        return np.full(len(column), np.nan)
    found = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy()
    return np.where(np.isfinite(found), found, np.nan)


def categories(column: pa.ChunkedArray, known: Sequence[str], dialect: Dialect | None) -> NDArray[np.int64]:
    """Return the index of each cell in a list of categories; −1 if it is missing or not in the list.

    >>> import pyarrow as pa
    >>> categories(pa.chunked_array([[1.0, 2.0, None, 7.0]]), ["1", "2", "3"], None).tolist()
    [0, 1, -1, -1]
    """
    if pa.types.is_dictionary(column.type):
        return categories(column.cast(column.type.value_type), known, dialect)
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int64)
    cells = tidy(column, dialect) if dialect is not None and is_text(column) else column
    coded = cells.combine_chunks().dictionary_encode(null_encoding="mask")
    place = {name: at for at, name in enumerate(known)}
    places = np.array([*(place.get(called(value), -1) for value in coded.dictionary.to_pylist()), -1], np.int64)
    return np.asarray(places[coded.indices.fill_null(len(coded.dictionary)).to_numpy()])


def of_mixed_types(values: Sequence[Any], *, numeric: bool) -> pa.ChunkedArray:
    """Return values of mixed types as a column of text, each as it would be read in a column of its own type.

    >>> of_mixed_types([51, 51.5, "x", None, True], numeric=True).to_pylist()
    ['51.0', '51.5', 'x', None, '1.0']
    """
    return pa.chunked_array([[_text(value, numeric=numeric) for value in values]], pa.string())


def _text(value: Any, *, numeric: bool) -> str | None:
    if isinstance(value, str):
        return value
    try:
        if value is None or operator.ne(value, value):  # NaN and NaT differ from themselves
            return None
        if numeric:
            return repr(float(value)) if isinstance(value, (Real, Decimal)) else None
        return called(float(value) if isinstance(value, Real) and not isinstance(value, Integral) else value)
    except (TypeError, ValueError, OverflowError):  # pandas.NA, arrays, and integers too large for a double
        return None
