"""Rendered tuples read back, for the gate of a stream: JSON and CSV, with nothing of what renders them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Sequence
from typing import Any, Protocol

import msgspec

from shoal.errors import GuaranteeError

_LONG = 400  # digits of integers that are beyond all floats
_NONE, _NULL = msgspec.Raw(b""), msgspec.Raw(b"null")


class Reader(Protocol):
    """Reads rendered tuples back."""

    def differing(self, tuples: Sequence[bytes], label: int | str) -> str | None:
        """Say what is wrong with the tuples of one class, or None.

        They must be alike in their quasi-identifiers, carry the label of their class, and hold no field that must
        not leave.
        """

    def fields(self, tuples: Sequence[bytes], names: Sequence[str]) -> dict[str, list[Any]]:
        """Return what some fields hold in tuples that are as they should be."""

    def written(self, line: bytes) -> dict[str, str]:
        """Return the text of each quasi-identifier of a tuple that is as it should be."""

    def rest(self, record: bytes) -> Any:
        """Return what of a record that came must leave as it is."""


class JsonlReader:
    """Reads JSON objects."""

    def __init__(self, quasi: Sequence[str], removed: Collection[str], class_field: str) -> None:
        named = {f"q{j}": name for j, name in enumerate(quasi)} | {"number": class_field}
        gone = {f"r{j}": name for j, name in enumerate(removed)}
        fields: list[Any] = [(key, msgspec.Raw) for key in named]
        fields += [(key, msgspec.Raw, _NONE) for key in gone]
        seen = msgspec.defstruct("Seen", fields, rename=named | gone, gc=False, eq=True)
        self._gone = gone
        self._quasi = [(f"q{j}", name) for j, name in enumerate(quasi)]
        self._marks = [(json.dumps(name, ensure_ascii=False).encode(), 1) for name in named.values()]
        self._marks += [(json.dumps(name, ensure_ascii=False).encode(), 0) for name in gone.values()]
        self._single = frozenset([*named.values(), *gone.values()])
        self._fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
        self._decode = msgspec.json.Decoder(seen).decode

    def differing(self, tuples: Sequence[bytes], label: int | str) -> str | None:
        """Say what is wrong with the tuples of one class, or None."""
        try:
            read = list(map(self._decode, tuples))
            if odd := self._odd(tuples):
                return odd
        except (msgspec.DecodeError, RecursionError, ValueError):
            return "holds a tuple that is no JSON object with all of its fields"
        first: Any = read[0]
        if read.count(first) != len(read):
            return "holds several combinations of quasi-identifiers, or several classes"
        if bytes(first.number) != (b"%d" % label if isinstance(label, int) else json.dumps(label).encode()):
            return "carries the number of another class"
        for key, name in self._gone.items():
            if bytes(getattr(first, key)):
                return f"still holds {name!r}"
        return None

    def _odd(self, tuples: Sequence[bytes]) -> str | None:
        """Say what is wrong with their text: it must be UTF-8, on one line each, and name fields once."""
        whole, n = b"\n".join(tuples), len(tuples)
        if not whole.isascii():
            whole.decode()
        if whole.count(b"\n") != n - 1 or b"\r" in whole:
            return "holds a tuple that is not on one line"
        plain = b"\\" not in whole
        for mark, times in self._marks:
            plain = plain and whole.count(mark) == times * n
        if not plain and any(map(self._repeats, tuples)):
            return "holds a tuple in which a field is there twice"
        return None

    def _repeats(self, line: bytes) -> bool:
        """Tell whether a field that matters is there twice; whoever reads it might take the other one."""
        pairs: list[tuple[str, Any]] = json.loads(line, object_pairs_hook=list, parse_int=_int)
        seen = [name for name, _ in pairs]
        return any(seen.count(name) > 1 for name in self._single)

    def fields(self, tuples: Sequence[bytes], names: Sequence[str]) -> dict[str, list[Any]]:
        """Return what some fields hold; a field that is not there holds nothing."""
        read = [self._fields(one) for one in tuples]  # other fields may hold anything
        return {name: [_plain(one.get(name, _NULL)) for one in read] for name in names}

    def written(self, line: bytes) -> dict[str, str]:
        """Return the text of each quasi-identifier, of a string what is between its quotes."""
        seen = self._decode(line)
        return {name: bytes(getattr(seen, key)).decode().strip('"') for key, name in self._quasi}

    def rest(self, record: bytes) -> dict[str, bytes]:
        """Return the text of all other fields."""
        return {name: bytes(text) for name, text in self._fields(record).items() if name not in self._single}


def _plain(text: msgspec.Raw) -> Any:
    """Return what a field holds."""
    return json.loads(bytes(text), parse_int=_int)


def _int(digits: str) -> float:
    """Return an integer; one beyond all floats is infinite, however many digits it has."""
    return int(digits) if len(digits) < _LONG else float(digits)


class CsvReader:
    """Reads lines of cells, below a header."""

    def __init__(
        self,
        came: bytes,
        header: bytes,
        quasi: Sequence[str],
        removed: Collection[str],
        class_field: str,
        delimiter: str,
        quote: str,
    ) -> None:
        self._how: dict[str, Any] = {"delimiter": delimiter, "quotechar": quote, "strict": True}
        (names,) = self._read([header])
        if stays := [name for name in removed if name in names]:
            raise GuaranteeError(f"The gate: the output still holds {stays[0]!r}. Nothing was written.")
        self._names, self._width = names, len(names)
        self._quasi = [names.index(name) for name in quasi]
        self._class = names.index(class_field)
        (before,) = self._read([came.removeprefix(b"\xef\xbb\xbf")])
        self._rest = [j for j, name in enumerate(before) if name not in quasi and name not in removed]

    def differing(self, tuples: Sequence[bytes], label: int | str) -> str | None:
        """Say what is wrong with the tuples of one class, or None."""
        try:
            read = self._read(tuples)
        except (csv.Error, UnicodeDecodeError):
            return "holds a tuple that is no line of cells"
        ends = any(line.endswith((b"\n", b"\r")) for line in tuples)
        if ends or len(read) != len(tuples) or any(len(cells) != self._width for cells in read):
            return "holds a tuple that is no line of as many cells as the header"
        keys = [[cells[j] for j in self._quasi] for cells in read]
        if keys.count(keys[0]) != len(keys):
            return "holds several combinations of quasi-identifiers"
        if any(cells[self._class] != str(label) for cells in read):
            return "carries the number of another class"
        return None

    def fields(self, tuples: Sequence[bytes], names: Sequence[str]) -> dict[str, list[Any]]:
        """Return what some fields hold, as text."""
        read = self._read(tuples)
        return {name: [cells[self._names.index(name)] for cells in read] for name in names}

    def written(self, line: bytes) -> dict[str, str]:
        """Return the cell of each quasi-identifier."""
        (cells,) = self._read([line])
        return {self._names[j]: cells[j] for j in self._quasi}

    def rest(self, record: bytes) -> list[str]:
        """Return all other cells."""
        (cells,) = self._read([record])
        return [cells[j] for j in self._rest]

    def _read(self, tuples: Sequence[bytes]) -> list[list[str]]:
        """Read lines of cells, however long these are."""
        text = b"\n".join(tuples).decode()
        before = csv.field_size_limit()
        try:
            csv.field_size_limit(max(before, len(text)))
            return list(csv.reader(io.StringIO(text, newline=""), **self._how))
        finally:
            csv.field_size_limit(before)
