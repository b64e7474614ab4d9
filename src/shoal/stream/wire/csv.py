"""CSV: one record per line; unmodified cells are released as they were written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from operator import itemgetter
from typing import Any

import numpy as np

from shoal.errors import SchemaError, listing
from shoal.parameters import unknown
from shoal.stream.wire.fields import TO_DECLARE, Fate, Fields, framing
from shoal.stream.wire.jsonl import lookalike
from shoal.types.stream import Parsed, Wire

_BOM = b"\xef\xbb\xbf"
_QUOTES = "a quote in the record is not closed, or a cell contains a quote or line break. Check its producer."
_NOT_UTF8 = "the record is not in UTF-8. Check its producer."


class Csv(Wire):
    """Tuples as lines of cells, after a header line.

    Every cell that is not requested keeps its quotes and text, so that ``007`` and ``"a, b"`` are released as they
    came. An empty cell is missing. The class is an additional cell at the end.

    **Guarantee.** A released record consists of its cells without `removed`, with released values in place of the
    originals.

    Parameters
    ----------
    header
        The first line of the input.
    wanted, removed, class_field
        As for JSON Lines; fields that the header lacks are an error.
    numbers
        Those of `wanted` whose cells are numbers; a cell that is not a number stays text.
    delimiter, quote
        One ASCII character each.
    fields
        Which other columns are released. None: all of them.

    >>> wire = Csv(b"name,age,pay", ["age"], ["name"], "class", numbers=["age"])
    >>> parsed = wire.parse([b'"Ann, B.",31,1.10', b"Bob,44"])
    >>> parsed.columns, parsed.faults
    ({'age': [31]}, [(1, 'the record has 2 cells, but the header has 3. Check its producer.')])
    >>> wire.head, wire.render(parsed.bodies, {"age": 30.5}, 7)
    (b'age,pay,class', [b'30.5,1.10,7'])
    """

    def __init__(
        self,
        header: bytes,
        wanted: Sequence[str],
        removed: Collection[str],
        class_field: str,
        *,
        numbers: Collection[str] = (),
        delimiter: str = ",",
        quote: str = '"',
        fields: Fields | None = None,
    ) -> None:
        self.delimiter, self.quote = delimiter.encode(), quote.encode()
        mark, sign = re.escape(self.quote), re.escape(self.delimiter)
        self._cell = re.compile(
            rb"%b[^%b]*(?:%b%b[^%b]*)*%b|[^%b%b\r\n]*" % (mark, mark, mark, mark, mark, mark, mark, sign)
        )
        self._special = re.compile(rb"[%b%b\r\n]" % (mark, sign))
        if not _is_utf8(header):
            raise SchemaError("Header: the first line is not in UTF-8. Check its producer.")
        raw = self._split(header.removeprefix(_BOM))
        if raw is None:
            raise SchemaError("Header: a quote in the first line is not closed, or is inside a cell. Correct it.")
        names = _checked([self._text(cell) for cell in raw], class_field)
        self.wanted = {name: _index(names, name) for name in wanted}
        self._numbers = frozenset(numbers)
        gone = {_index(names, name) for name in removed}
        known_names = {*wanted, *removed} if fields is None else {*fields.declared, *wanted, *removed}
        if (known := lookalike(names, known_names)) is not None:
            raise SchemaError(
                f"Header: a column differs from {known!r} only in spelling, such as upper and lower case. Rename it, "
                "or declare it as an identifier."
            )
        self._others = {name for name in names if name not in {*wanted, *removed}}
        self._names = names
        if fields is not None:
            gone |= {names.index(name) for name in self._refused(fields)}
        kept = [j for j in range(len(names)) if j not in gone]
        self._kept: Callable[[Any], Any] = (
            itemgetter(*kept) if len(kept) > 1 else lambda cells: [cells[j] for j in kept]
        )
        self.head = self.delimiter.join([*self._kept(raw), self._written(class_field)])

    def _refused(self, fields: Fields) -> list[str]:
        """Return the undeclared columns, which are removed."""
        for name in fields.named:
            _index(self._names, name)
        found = sorted(name for name in self._others if fields.fate(name) is Fate.UNKNOWN)
        self._others -= {*found, *fields.declared}
        if found and fields.unknown == "reject":
            raise SchemaError(f"Header: the recipe does not declare the column {found[0]!r}. {TO_DECLARE}")
        return found

    def under(self, fields: Fields) -> Csv:
        """Return the same wire for a lane: the columns are those of the header."""
        return self

    def others(self, bodies: Sequence[Any]) -> set[str]:
        """Return the columns that are released without being named."""
        return self._others

    def parse(self, records: Sequence[bytes]) -> Parsed:
        """Split records into cells; if no record has quotes, without examining each."""
        text = b"\n".join(records)
        plain = self.quote not in text and b"\r" not in text and text.isascii()
        if plain and text.count(b"\n") == len(records) - 1:
            bodies = [record.split(self.delimiter) for record in records]
            if set(map(len, bodies)) == {len(self._names)}:
                return Parsed(np.arange(len(bodies)), self._columns(bodies), bodies, ())
        return self._one_by_one(records)

    def _columns(self, bodies: Sequence[Sequence[bytes]]) -> dict[str, list[Any]]:
        return {name: self._column(name, [cells[j] for cells in bodies]) for name, j in self.wanted.items()}

    def _one_by_one(self, records: Sequence[bytes]) -> Parsed:
        """Split records, some with quotes or invalid."""
        good, bodies, faults = [], [], []
        width, sign, mark = len(self._names), self.delimiter, self.quote
        for index, record in enumerate(records):
            plain = not (mark in record or b"\r" in record or b"\n" in record)
            cells = record.split(sign) if plain else self._split(record)
            if cells is not None and len(cells) == width and (record.isascii() or _is_utf8(record)):
                good.append(index)
                bodies.append(cells)
            else:
                faults.append((index, self._fault(record, cells)))
        return Parsed(np.array(good, np.int64), self._columns(bodies), bodies, faults)

    def render(self, bodies: Sequence[Any], values: Mapping[str, Any], number: int | str) -> list[bytes]:
        """Return the tuples of one class; consumes the bodies."""
        released = [(self.wanted[name], self._written(value)) for name, value in values.items()]
        end, sign, kept = self.delimiter + self._written(number), self.delimiter, self._kept
        for cells in bodies:
            for j, text in released:
                cells[j] = text
        return [sign.join(kept(cells)) + end for cells in bodies]

    def _split(self, record: bytes) -> list[bytes] | None:
        """Return cells with their quotes, or None if the quotes are invalid."""
        cells, at = [], 0
        while found := self._cell.match(record, at):
            cells.append(found[0])
            at = found.end()
            if at == len(record):
                return cells
            if record[at : at + 1] != self.delimiter:
                return None
            at += 1
        return None

    def _fault(self, record: bytes, cells: list[bytes] | None) -> str:
        if (wrapped := framing(record)) is not None:
            return wrapped
        if not _is_utf8(record):
            return _NOT_UTF8
        if cells is None:
            return _QUOTES
        return f"the record has {len(cells):,} cells, but the header has {len(self._names):,}. Check its producer."

    def _column(self, name: str, cells: list[bytes]) -> list[Any]:
        """Return the contents of cells: numbers, text, or None if empty."""
        if name in self._numbers:
            for kind in (int, float):
                try:
                    read: list[Any] = list(map(kind, cells))
                except ValueError:
                    continue
                if kind is int or all(map(isfinite, read)):
                    return read
            return [_number(self._text(cell)) if cell else None for cell in cells]
        return [self._text(cell) if cell else None for cell in cells]

    def _text(self, cell: bytes) -> str:
        if cell.startswith(self.quote):
            cell = cell[1:-1].replace(self.quote * 2, self.quote)
        return cell.decode(errors="replace")

    def _written(self, value: Any) -> bytes:
        """Return a released value as a cell."""
        if value is None:
            return b""
        text = (repr(value) if isinstance(value, float) else str(value)).encode()
        if not text or self._special.search(text):
            return self.quote + text.replace(self.quote, self.quote * 2) + self.quote
        return text


def _is_utf8(record: bytes) -> bool:
    try:
        record.decode()
    except UnicodeDecodeError:
        return False
    return True


def _number(text: str) -> Any:
    """Return text as a number if it is one, else unchanged."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if kind is int or isfinite(value) else text
    return text


def _index(names: Sequence[str], name: str) -> int:
    if name not in names:
        raise SchemaError(unknown("Header", "column", name, names))
    return names.index(name)


def _checked(names: list[str], class_field: str) -> list[str]:
    """Return the names of a header if they are valid."""
    twice = [repr(name) for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise SchemaError(f"Header: column names must be unique; duplicates: {listing(twice)}. Rename them.")
    if class_field in names:
        raise SchemaError(f"Header: a column is already called {class_field!r}. Set another class_field.")
    return names
