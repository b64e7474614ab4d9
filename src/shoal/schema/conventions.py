"""National conventions of numbers and dates in text: which of them read cells that the given settings do not read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from shoal.schema.cells import fits, is_text, tidy
from shoal.schema.thousands import SEPARATORS
from shoal.types import Column, Dialect, Kind

#: Formats of dates by the shape of a cell, the likelier first. With points, the day always comes first.
DATES = {
    r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}": ("%d.%m.%Y",),
    r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2}": ("%d.%m.%y",),
    r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}": ("%d/%m/%Y", "%m/%d/%Y"),
    r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}": ("%d/%m/%y", "%m/%d/%y"),
    r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}": ("%d-%m-%Y", "%m-%d-%Y"),
    r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{2}": ("%d-%m-%y", "%m-%d-%y"),
    r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}": ("%Y-%m-%d",),  # without leading zeros, or beside another format
    r"^[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}": ("%Y/%m/%d",),
    r"^[0-9]{4}\.[0-9]{1,2}\.[0-9]{1,2}": ("%Y.%m.%d",),
    r"^[0-9]{1,2}\. [0-9]{1,2}\. [0-9]{4}": ("%d. %m. %Y",),
    r"^[0-9]{1,2} [A-Za-z]{3,9} [0-9]{4}": ("%d %b %Y", "%d %B %Y"),
    r"^[0-9]{1,2}-[A-Za-z]{3}-[0-9]{4}": ("%d-%b-%Y",),
    r"^[0-9]{1,2}-[A-Za-z]{3}-[0-9]{2}": ("%d-%b-%y",),
    r"^[0-9]{1,2}[A-Za-z]{3}[0-9]{4}": ("%d%b%Y",),
    r"^[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4}": ("%b %d, %Y", "%B %d, %Y"),
}
_ENDS = {
    "": "$",
    " %H:%M": " [0-9]{1,2}:[0-9]{2}$",
    " %H:%M:%S": " [0-9]{1,2}:[0-9]{2}:[0-9]{2}$",
    ", %H:%M": ", [0-9]{1,2}:[0-9]{2}$",
    ", %H:%M:%S": ", [0-9]{1,2}:[0-9]{2}:[0-9]{2}$",
    " %I:%M %p": " [0-9]{1,2}:[0-9]{2} [AaPp][Mm]$",
    " %I:%M:%S %p": " [0-9]{1,2}:[0-9]{2}:[0-9]{2} [AaPp][Mm]$",
}
_SIGNS, _BLANKS = "".join(SEPARATORS.values()), SEPARATORS[" "]
_LIKE_A_NUMBER = rf"^[+-]?[0-9][0-9{_SIGNS}]*[{_SIGNS}][0-9]*$|^[+-]?[.,][0-9]+$"
_LIKE_A_DATE = (
    r"^([0-9]{1,4}[./-] ?[0-9]{1,2}[./-] ?[0-9]{1,4}|[0-9]{1,2}[ -]?[A-Za-z]{3,9}[ -]?[0-9]{2,4}"
    r"|[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4})(,? [0-9:]+( [AaPp][Mm])?)?$"
)
#: Amounts with a currency, percent or other sign, which no convention reads: ``1.234,50 €``, ``$5``, ``12 %``.
_CURRENCIES = "EUR|USD|CHF|GBP|PLN|CZK|HUF|DKK|NOK|SEK|JPY|CNY|INR|RUB|TRY|CAD|AUD|NZD|BRL|MXN|ZAR|RON|BGN|DEM|ATS|FRF"
_MARK = rf"(\p{{Sc}}|[%‰]|{_CURRENCIES}|Rs\.?|Fr\.|kr|zł)"
_PLAIN = rf"[0-9][0-9{_SIGNS}]*"
_AMOUNT = rf"[+-]?{_PLAIN}"
_MARKED = rf"^([+-]?{_MARK}[{_BLANKS}]?{_AMOUNT}|{_AMOUNT}[{_BLANKS}]?{_MARK})$"
_MINUS = r"[-\x{2212}\x{2013}]"
_NEGATIVE = (
    rf"^(\({_PLAIN}\)|-[{_BLANKS}]{_PLAIN}|[\x{{2212}}\x{{2013}}][{_BLANKS}]?{_PLAIN}|{_PLAIN}[{_BLANKS}]?{_MINUS})$"
)
#: Dates without signs, which are whole numbers as well.
DIGITS = "%Y%m%d"
_LIKE_DIGITS = "^(18|19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$"
_SHORT_YEAR = "^[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2}$"
_VALID = 0.95  # share of cells like dates with a two-digit year that must be valid ones
#: From this share on, cells that a convention reads are taken to be written in it.
SHARE = 0.5
_POINTED, _HUNDREDS = 30, 3  # different numbers with a point, and from 100 to 999, that tell thousands from decimals
_WORDS = {" ": "space", "'": "apostrophe", "\t": "tab"}


@dataclass(frozen=True, order=True)
class Convention:
    """Settings of a text file: those for numbers, or the format of dates."""

    decimal: str = "."
    thousands: str | None = None
    datetime: str | None = None

    def of(self, dialect: Dialect) -> Dialect:
        """Return a dialect with this convention."""
        if self.datetime is not None:
            return replace(dialect, datetime=self.datetime)
        return replace(dialect, decimal=self.decimal, thousands=self.thousands)

    def flags(self, dialect: Dialect) -> str:
        """Return the options that change a dialect to this convention.

        >>> Convention(",", ".").flags(Dialect()), Convention(datetime="%d.%m.%Y").flags(Dialect())
        ("--decimal ',' --thousands '.'", "--datetime '%d.%m.%Y'")
        """
        new, names = self.of(dialect), ("decimal", "thousands", "datetime")
        changed = {name: getattr(new, name) for name in names if getattr(new, name) != getattr(dialect, name)}
        return flags(changed)


#: Conventions of numbers, the simplest first.
NUMBERS = tuple(
    Convention(*one)
    for one in ((".", None), (",", None), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
)


def flags(text: Mapping[str, str | None]) -> str:
    """Return settings of a text file as options to type.

    >>> flags({"encoding": "cp1252", "datetime": "%d.%m.%Y %H:%M", "thousands": " "})
    "--encoding cp1252 --datetime '%d.%m.%Y %H:%M' --thousands space"
    """
    return " ".join(f"--{name} {quoted(_WORDS.get(value, value))}" for name, value in text.items() if value)


def quoted(value: str) -> str:
    """Return a value as it is typed in a shell; punctuation is quoted, to set it apart from the sentence around it."""
    import shlex

    return value if re.fullmatch("[A-Za-z0-9_-]+", value) else f"'{value}'" if "'" not in value else shlex.quote(value)


def count_conventions(read: pa.ChunkedArray, dialect: Dialect) -> Counter[Convention]:
    """Count the tidy cells that each convention reads as a number or a date, if they do not read as they are.

    >>> import pyarrow as pa
    >>> counts = count_conventions(pa.chunked_array([["2.835,43", "17,5", "80"]]), Dialect())
    >>> counts[Convention(",")], counts[Convention(",", ".")], counts[Convention(".", ",")]
    (1, 2, 0)
    """
    found: Counter[Convention] = Counter()
    for kind, likely in ((Kind.CONTINUOUS, _LIKE_A_NUMBER), (Kind.DATETIME, _LIKE_A_DATE)):
        cells = read.filter(pc.fill_null(pc.match_substring_regex(read, likely), False))
        if not len(cells):
            continue
        cells = cells.filter(pc.invert(fits(cells, kind, dialect)))
        for one in NUMBERS if kind is Kind.CONTINUOUS else dates_in(cells):
            if one.of(dialect) == dialect or not (count := pc.sum(fits(cells, kind, one.of(dialect))).as_py()):
                continue
            if one.datetime is None or "%y" not in one.datetime or count >= _VALID * _short(cells):
                found[one] += count
    return found


def _short(cells: pa.ChunkedArray) -> int:
    """Count the cells with the shape of a date with a two-digit year, which versions such as 1.0.13 have, too."""
    short, zero = (pc.match_substring_regex(cells, one) for one in (_SHORT_YEAR, "^[0./-]+$"))
    return int(pc.sum(pc.and_(short, pc.invert(zero))).as_py() or 0)


def count_negatives(read: pa.ChunkedArray) -> int:
    """Count the tidy cells that look like negative numbers: in parentheses, with another minus sign, or one at the end.

    >>> count_negatives(pa.chunked_array([["(1.234,50)", "5-", "\u22125", "- 5", "-5", "5", "1-2"]]))
    4
    """
    return int(pc.sum(pc.match_substring_regex(read, _NEGATIVE)).as_py() or 0)


def looks_written(read: pa.ChunkedArray) -> bool:
    """Tell whether a tidy cell looks like a number with a sign in or beside it, or like a date."""
    likely = (_LIKE_A_NUMBER, _LIKE_A_DATE, _LIKE_DIGITS, _MARKED)
    return any(pc.any(pc.match_substring_regex(read, one)).as_py() for one in likely)


def like_dates(read: pa.ChunkedArray) -> bool:
    """Tell whether most of some tidy cells look like dates, in whatever format.

    >>> import pyarrow as pa
    >>> [like_dates(pa.chunked_array([[cell]])) for cell in ("74-12-31", "31 Foo 1974", "10.0.0.1", "p7")]
    [True, True, False, False]
    """
    present = len(read) - read.null_count
    return bool((pc.sum(pc.match_substring_regex(read, _LIKE_A_DATE)).as_py() or 0) >= SHARE * max(present, 1))


def marked(read: pa.ChunkedArray) -> bool:
    """Tell whether most of some tidy cells are amounts with a sign that no convention reads.

    >>> import pyarrow as pa
    >>> [marked(pa.chunked_array([[cell]])) for cell in ("1.234,50 €", "$5", "12 %", "A12", "7", "1.234,50")]
    [True, True, True, False, False, False]
    """
    return bool((pc.sum(pc.match_substring_regex(read, _MARKED)).as_py() or 0) >= SHARE * max(len(read), 1))


def all_digits(read: pa.ChunkedArray, dialect: Dialect) -> bool:
    """Tell whether all of some tidy cells are dates without signs, since 1800.

    >>> import pyarrow as pa
    >>> [all_digits(pa.chunked_array([["20240131", end]]), Dialect()) for end in ("19991231", "19991232", "7")]
    [True, False, False]
    """
    like = pc.all(pc.match_substring_regex(read, _LIKE_DIGITS)).as_py()
    return bool(like and pc.all(fits(read, Kind.DATETIME, replace(dialect, datetime=DIGITS))).as_py())


def beside_hundreds(cells: pa.ChunkedArray) -> bool:
    """Tell whether points separate thousands: numbers without a point are below 1000, some of them at least 100.

    Decimals would sometimes have other lengths if zeros at their ends were not written, as in whole numbers.
    """
    pointed = pc.sum(pc.match_substring_regex(cells, r"^[+-]?[0-9]+(\.[0-9]{3})+$")).as_py()
    hundreds, more = (
        pc.sum(pc.match_substring_regex(cells, f"^[+-]?[0-9]{{{digits}}}$")).as_py() for digits in ("3", "4,")
    )
    return bool(pointed >= _POINTED and hundreds >= _HUNDREDS and not more)


def is_coded(cells: pa.ChunkedArray) -> bool:
    """Tell whether whole numbers have leading zeros, so that a column holds codes."""
    from shoal.schema.kinds import kind_of

    return kind_of(cells, Dialect()) is Kind.NOMINAL and bool(
        pc.any(pc.match_substring_regex(cells, "^[+-]?0[0-9]")).as_py()
    )


def dates_in(cells: pa.ChunkedArray) -> Iterator[Convention]:
    """Yield the formats in which some cells are likely written."""
    for shape, formats in DATES.items():
        if not pc.any(pc.match_substring_regex(cells, shape)).as_py():
            continue
        for time, end in _ENDS.items():
            if pc.any(pc.match_substring_regex(cells, shape + end)).as_py():
                yield from (Convention(datetime=one + time) for one in formats)


def likely(counts: Mapping[Convention, int], enough: float) -> list[Convention]:
    """Return the conventions that read the most cells, at least `enough`: one, or two that read different values.

    >>> from shoal.types import Dialect
    >>> import pyarrow as pa
    >>> cells = pa.chunked_array([["1,234", "5,678"]])
    >>> [one.flags(Dialect()) for one in likely(count_conventions(cells, Dialect()), 1)]
    ["--decimal ','", "--thousands ','"]
    """
    most = max(counts.values(), default=0)
    if not most or most < enough:
        return []
    best = [one for one, count in counts.items() if count == most]
    return [best[0], *(one for one in best[1:] if _differs(one, best[0]))]


def _differs(one: Convention, other: Convention) -> bool:
    """Tell whether two conventions that read the same cells read other values."""
    if one.datetime is not None and other.datetime is not None:  # May is both a full and a short name
        return one.datetime.replace("%B", "%b") != other.datetime.replace("%B", "%b")
    if one.datetime != other.datetime:
        return True
    pairs = ((one, other), (other, one))
    return any(a.decimal == b.thousands and a.thousands is None and a.decimal != b.decimal for a, b in pairs)


def remedy(found: Iterable[Convention], dialect: Dialect) -> str:
    """Return the options to give, as the end of a sentence.

    >>> remedy([Convention(",", ".")], Dialect())
    "--decimal ',' --thousands '.'"
    """
    return " or ".join(one.flags(dialect) for one in found)


def unread(cells: pa.ChunkedArray, dialect: Dialect) -> list[Convention]:
    """Return the conventions in which most cells of a column are numbers or dates, while the dialect reads text."""
    read = tidy(cells, dialect)
    return likely(count_conventions(read, dialect), SHARE * max(len(read) - read.null_count, 1))


def refusal(column: Column, cells: pa.ChunkedArray, dialect: Dialect | None) -> str:
    """Return the sentence about a column whose numbers or dates would be read as categories; empty if they are not.

    Categories that the recipe declares are taken as such.
    """
    if dialect is None or column.kind is not Kind.NOMINAL or column.declared or not is_text(cells):
        return ""
    found = unread(cells, dialect)
    if not found:
        return ""
    what = "numbers" if found[0].datetime is None else "dates"
    return (
        f"Column {column.name!r}: most cells are {what} in another convention, and would be read as categories. Give "
        f"{remedy(found, dialect)}, or --kind {quoted(column.name)}=nominal if they are categories."
    )
