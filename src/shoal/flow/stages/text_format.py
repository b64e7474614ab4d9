"""Text format of a file, detected from its cells: decimal sign, thousands separator, and format of dates."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import listing
from shoal.schema.cells import fits, is_text, numbers, tidy
from shoal.schema.conventions import (
    DIGITS,
    NUMBERS,
    SHARE,
    Convention,
    all_digits,
    beside_hundreds,
    count_conventions,
    is_coded,
    likely,
    looks_written,
    marked,
)
from shoal.schema.missing_words import missing_words
from shoal.types import Dialect, Kind

_SAMPLE = 1000
_SECOND = "{} in a second format, which cannot be read with the first; convert them to release them"
_MARKED = "numbers with a currency, percent or other sign, which are not read; remove the sign to release them"
_A_DAY = dt.datetime(2024, 12, 31, 18, 30)


@dataclass(frozen=True)
class TextFormat:
    """Conventions in which the cells of a text file are written.

    Attributes
    ----------
    dialect
        The dialect that reads them.
    settings
        The settings to give, beyond those that were given.
    notes
        What was found, in sentences.
    choices
        Alternative settings; one must be chosen, because the cells do not tell which one applies.
    unread
        Columns of dates or numbers that the format does not read, and the reason of each.
    """

    dialect: Dialect
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    choices: tuple[Mapping[str, str], ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)

    def and_then(self, after: TextFormat) -> TextFormat:
        """Return what two steps found, the second with the dialect of the first."""
        return TextFormat(
            after.dialect,
            {**self.settings, **after.settings},
            (*self.notes, *after.notes),
            (*self.choices, *after.choices),
            {**self.unread, **after.unread},
        )


def detect_format(data: pa.Table, dialect: Dialect, given: Mapping[str, object]) -> TextFormat:
    """Find the conventions in which most columns are numbers or dates; settings that were given stay as they are.

    A single format of dates, and a single convention of numbers, is found for the whole file. If the cells fit two of
    them, such as day/month and month/day, neither is chosen.
    """
    found = _missing(data, dialect, given)
    dialect = found.dialect
    columns = {name: _distinct(data.column(name), dialect) for name in data.column_names if is_text(data.column(name))}
    columns = {name: cells for name, cells in columns.items() if len(cells)}
    found = found.and_then(_dates(columns, dialect, given))
    rest = {name: cells for name, cells in columns.items() if not _candidates(cells, dialect)}
    found = found.and_then(_numbers(rest, found.dialect, given))
    found = found.and_then(_with_marked(found.dialect, rest))
    again = found.dialect.decimal != found.dialect.delimiter or data.num_columns == 1  # is the delimiter detected?
    if found.dialect.decimal != dialect.decimal and not again and "delimiter" not in given:
        found = found.and_then(TextFormat(found.dialect, {"delimiter": found.dialect.delimiter}))
    return found


def _missing(data: pa.Table, dialect: Dialect, given: Mapping[str, object]) -> TextFormat:
    """Find words for a missing value in columns of numbers or dates."""
    found = {} if "missing" in given else missing_words(data, dialect)
    if not found:
        return TextFormat(dialect)
    words = tuple(dict.fromkeys(word for some in found.values() for word in some))
    note = (
        f"{_columns(list(found))}: cells that hold {listing([repr(word) for word in words])} are read as missing, in "
        "all columns."
    )
    return TextFormat(replace(dialect, missing=words), {"missing": list(words)}, (note,))


def _distinct(cells: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Return the distinct cells of a column that may hold numbers or dates; none if it seems to hold other text."""
    few = tidy(cells.take(pa.array(np.unique(np.linspace(0, len(cells) - 1, _SAMPLE).astype(np.int64)))), dialect)
    if not looks_written(few):
        return cells.slice(0, 0)
    return pa.chunked_array([tidy(cells, dialect).drop_null().unique()])


def _candidates(cells: pa.ChunkedArray, dialect: Dialect) -> list[str | None]:
    """Return the formats in which most distinct cells are dates; None stands for ISO 8601."""
    if pc.sum(fits(cells, Kind.DATETIME, dialect)).as_py() >= SHARE * len(cells):
        return [dialect.datetime]
    if all_digits(cells, dialect):
        return [DIGITS]
    counts = {one: count for one, count in count_conventions(cells, dialect).items() if one.datetime is not None}
    return [one.datetime for one in likely(counts, SHARE * len(cells))]


def _dates(columns: Mapping[str, pa.ChunkedArray], dialect: Dialect, given: Mapping[str, object]) -> TextFormat:
    """Find the format of dates that most columns have."""
    found = {name: formats for name, cells in columns.items() if (formats := _candidates(cells, dialect))}
    if not found or "datetime" in given:
        return _with_unread(TextFormat(dialect), {n: f for n, f in found.items() if dialect.datetime not in f})
    certain = Counter(formats[0] for formats in found.values() if len(formats) == 1)
    if not certain:
        first = next(iter(found.values()))
        choices = tuple({"datetime": str(one)} for one in first)
        which = " or ".join(f"{_words(str(one))}" for one in first)
        note = f"{_columns(list(found))}: no day is above 12, so dates may be {which}. Choose one: {_options(choices)}."
        return TextFormat(Convention(datetime=first[0]).of(dialect), notes=(note,), choices=choices)
    chosen = certain.most_common(1)[0][0]
    other = {name: formats for name, formats in found.items() if chosen not in formats}
    if chosen is None:
        return _with_unread(TextFormat(dialect), other)
    read = [name for name, formats in found.items() if chosen in formats]
    notes = [f"{_columns(read)}: dates are written like {_A_DAY.strftime(chosen)}."]
    if open_ := [name for name in read if len(found[name]) > 1]:
        notes.append(f"{_columns(open_)}: no day is above 12, so dates are read like those of other columns.")
    if "%y" in chosen:
        notes.append(
            "Two-digit years are read as 1930 to 2029: 29 is 2029, 30 is 1930. Write four digits if that is wrong."
        )
    made = TextFormat(Convention(datetime=chosen).of(dialect), {"datetime": chosen}, tuple(notes))
    return _with_unread(made, other)


def _with_unread(made: TextFormat, other: Mapping[str, Sequence[str | None]]) -> TextFormat:
    """Add the columns whose dates are written in another format than the others."""
    if not other:
        return made
    formats = sorted({_A_DAY.strftime(one or "%Y-%m-%d") for names in other.values() for one in names})
    said = _A_DAY.strftime(made.dialect.datetime or "%Y-%m-%d")
    note = (
        f"{_columns(list(other))}: dates are written like {' or '.join(formats)}, but only one format can be read at a "
        f"time, that of {said}. They would be removed; convert them to release them."
    )
    return made.and_then(TextFormat(made.dialect, notes=(note,), unread=dict.fromkeys(other, _SECOND.format("dates"))))


def _numbers(columns: Mapping[str, pa.ChunkedArray], dialect: Dialect, given: Mapping[str, object]) -> TextFormat:
    """Find the decimal sign and the thousands separator that read most cells."""
    columns = {name: cells for name, cells in columns.items() if not is_coded(cells)}
    current = Convention(dialect.decimal, dialect.thousands)
    possible = [
        one
        for one in NUMBERS
        if ("decimal" not in given or one.decimal == dialect.decimal)
        and ("thousands" not in given or one.thousands == dialect.thousands)
    ]
    scores = {one: sum(_share(cells, one.of(dialect)) for cells in columns.values()) for one in possible}
    most = max(scores.values(), default=0.0)
    best = [one for one in possible if scores[one] == most]
    if not most or scores.get(current) == most:
        return _with_other_numbers(_kept(columns, dialect, best, current), columns)
    chosen = best[0]
    others = [one for one in best[1:] if _may_be_either(columns, chosen.of(dialect), one.of(dialect))]
    changed = _changed(columns, dialect, chosen.of(dialect))
    if others:
        choices = tuple(_settings(one, dialect) for one in (chosen, others[0]))
        note = (
            f"{_columns(changed)}: every comma is before exactly three digits, so it may be a decimal sign or separate "
            f"thousands. Choose one: {_options(choices)}."
        )
        return _with_other_numbers(TextFormat(chosen.of(dialect), notes=(note,), choices=choices), columns)
    note = f"{_columns(changed)}: numbers are written like {_example(chosen)}."
    return _with_other_numbers(TextFormat(chosen.of(dialect), _settings(chosen, dialect), (note,)), columns)


def _with_other_numbers(made: TextFormat, columns: Mapping[str, pa.ChunkedArray]) -> TextFormat:
    """Add the columns whose numbers are written in another way than those of most columns."""
    other = {
        name: found[0]
        for name, cells in columns.items()
        if not _share(cells, made.dialect)
        and (found := likely(count_conventions(cells, made.dialect), SHARE * len(cells)))
        and found[0].datetime is None
    }
    if not other:
        return made
    said = _example(Convention(made.dialect.decimal, made.dialect.thousands))
    ways = " or ".join(sorted({_example(one) for one in other.values()}))
    note = (
        f"{_columns(list(other))}: numbers are written like {ways}, but only one convention can be read at a time, "
        f"that of {said}. They would be removed; convert them to release them."
    )
    return made.and_then(
        TextFormat(made.dialect, notes=(note,), unread=dict.fromkeys(other, _SECOND.format("numbers")))
    )


def _with_marked(dialect: Dialect, columns: Mapping[str, pa.ChunkedArray]) -> TextFormat:
    """Name the columns of numbers with a sign beside them, which no setting reads."""
    found = [name for name, cells in columns.items() if marked(cells)]
    if not found:
        return TextFormat(dialect)
    note = (
        f"{_columns(found)}: most cells are numbers with a currency, percent or other sign, which are not read. They "
        "would be removed; remove the sign to release them."
    )
    return TextFormat(dialect, notes=(note,), unread=dict.fromkeys(found, _MARKED))


def _kept(
    columns: Mapping[str, pa.ChunkedArray], dialect: Dialect, best: Sequence[Convention], current: Convention
) -> TextFormat:
    """Keep the current convention, unless points separate thousands; with a note if they may do so."""
    for one in best:
        if one != current and (changed := _changed(columns, dialect, one.of(dialect))):
            if one.thousands == "." and any(beside_hundreds(columns[name]) for name in changed):
                note = (
                    f"{_columns(changed)}: numbers are written like 1.234, because every point is before exactly three "
                    f"digits, and others are below 1000. If points are decimal signs, inspect with --decimal '.'."
                )
                return TextFormat(one.of(dialect), _settings(one, dialect), (note,))
            note = (
                f"{_columns(changed)}: every point is before exactly three digits. It is read as a decimal sign; if it "
                f"separates thousands, give {one.flags(dialect)}."
            )
            return TextFormat(dialect, notes=(note,))
    return TextFormat(dialect)


def _share(cells: pa.ChunkedArray, dialect: Dialect) -> float:
    """Return the share of cells that are numbers; 0 if most are not."""
    share = float(pc.sum(fits(cells, Kind.CONTINUOUS, dialect)).as_py() or 0) / len(cells)
    return share if share >= SHARE else 0.0


def _changed(columns: Mapping[str, pa.ChunkedArray], before: Dialect, after: Dialect) -> list[str]:
    """Return the columns of numbers that two dialects read differently."""
    return [
        name
        for name, cells in columns.items()
        if _share(cells, after) and not np.array_equal(numbers(cells, before), numbers(cells, after), equal_nan=True)
    ]


def _may_be_either(columns: Mapping[str, pa.ChunkedArray], one: Dialect, other: Dialect) -> bool:
    """Tell whether two dialects read the same cells, and some of them differently."""
    kind = Kind.CONTINUOUS
    same = all(fits(cells, kind, one).equals(fits(cells, kind, other)) for cells in columns.values())
    return same and bool(_changed(columns, one, other))


def _settings(one: Convention, dialect: Dialect) -> dict[str, str]:
    found = {"decimal": one.decimal, "thousands": one.thousands}
    current = {"decimal": dialect.decimal, "thousands": dialect.thousands}
    return {name: value for name, value in found.items() if value is not None and value != current[name]}


def _options(choices: Sequence[Mapping[str, str]]) -> str:
    from shoal.schema.conventions import flags

    return " or ".join(map(flags, choices))


def _example(one: Convention) -> str:
    whole = "1234" if one.thousands is None else f"1{one.thousands}234"
    return f"{whole}{one.decimal}5"


def _words(pattern: str) -> str:
    """Return a format of dates in words.

    >>> _words("%d/%m/%Y"), _words("%m-%d-%y %H:%M")
    ('day/month/year', 'month-day-year')
    """
    for sign, word in (("%d", "day"), ("%m", "month"), ("%Y", "year"), ("%y", "year")):
        pattern = pattern.replace(sign, word)
    return pattern.partition(" ")[0]


def _columns(names: Sequence[str]) -> str:
    return f"Column{'s' * (len(names) > 1)} {listing([repr(name) for name in names])}"
