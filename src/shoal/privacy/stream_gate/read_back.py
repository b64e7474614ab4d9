"""Readers of rendered tuples for the gate of a stream: JSON and CSV, independent of the code that renders them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from shoal.errors import GuaranteeError
from shoal.privacy.stream_gate.released_fields import Declared

_LONG = 400  # digits of integers beyond the range of floats
_Single: Any = None | bool | int | float | str
_NONE, _NULL = msgspec.Raw(b""), msgspec.Raw(b"null")


class Reader(Protocol):
    """Reader of rendered tuples."""

    def differing(self, tuples: Sequence[bytes], label: int | str) -> str | None:
        """Describe what is wrong with the tuples of one class, or return None.

        They must be equal in their quasi-identifiers, carry the label of their class, and hold no field that must be
        removed.
        """

    def fields(self, tuples: Sequence[bytes], names: Sequence[str]) -> dict[str, list[Any]]:
        """Return the contents of some fields in valid tuples."""

    def written(self, line: bytes) -> dict[str, str]:
        """Return the text of each quasi-identifier of a valid tuple."""

    def rest(self, record: bytes, learnt: Collection[str] | None = None) -> Any:
        """Return the parts of an original record that must be released unchanged; `learnt` as for `undeclared`."""

    def undeclared(self, tuples: Sequence[bytes], learnt: Collection[str] | None) -> str | None:
        """Return an undeclared field of the tuples of one class; `learnt` are the fields that a stream accepted."""


class JsonlReader:
    """Reader of JSON objects.

    `named` are the fields that are released unchanged, in addition to those that a stream learns; None: all of them.
    """

    def __init__(
        self,
        quasi: Sequence[str],
        removed: Collection[str],
        class_field: str,
        named: Collection[str] | None = None,
    ) -> None:
        self._declared = Declared(quasi, removed, named, class_field)
        self._known: tuple[Collection[str] | None, Any] = (None, None)  # fields learnt, and a decoder for just those
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
        self._seen = seen
        self._names = named | gone
        plain = msgspec.json.Decoder(seen).decode
        self._decode = self._in_objects if self._declared.objects else plain

    def _in_objects(self, line: bytes) -> Any:
        """Return a tuple with fields that may be nested in objects; each must occur once."""
        texts: dict[str, list[msgspec.Raw]] = {}
        for name, text, _ in self._leaves(line):
            texts.setdefault(name, []).append(text)
        found = {key: texts[name] for key, name in self._names.items() if name in texts}
        if any(len(several) > 1 for several in found.values()):
            raise ValueError("a field occurs twice")
        if any(key not in found for key in self._names if key not in self._gone):
            raise ValueError("a field is missing")
        return self._seen(**{key: text for key, (text,) in found.items()})

    def _leaves(self, text: Any, above: str = "") -> Iterator[tuple[str, msgspec.Raw, bool]]:
        """Yield all fields by path, and whether they are in an object; objects with declared fields are opened."""
        for key, value in self._fields(text).items():
            name = f"{above}{key}"
            if name in self._declared.objects and bytes(value)[:1] == b"{":
                yield from self._leaves(value, f"{name}.")
            else:
                yield name, value, bool(above)

    def _nested(self, line: bytes) -> Iterator[tuple[str, bool]]:
        """Yield the path of each field, and whether it holds or is in an object or a list."""
        for name, text, inner in self._leaves(line):
            yield name, inner or bytes(text)[:1] in (b"{", b"[")

    def undeclared(self, tuples: Sequence[bytes], learnt: Collection[str] | None) -> str | None:
        """Return an undeclared field; all tuples are first decoded strictly, with the allowed fields only."""
        if self._declared.named is None:
            return None
        if not self._declared.objects:
            if self._known[0] != learnt or self._known[1] is None:
                self._known = learnt, self._strict(learnt or ())
            try:
                for line in tuples:
                    self._known[1](line)
            except msgspec.DecodeError:
                pass  # it may hold a number that this decoder cannot read: look closer
            else:
                return None
        for line in tuples:
            if (odd := self._declared.odd(self._nested(line), learnt)) is not None:
                return odd
        return None

    def _strict(self, learnt: Collection[str]) -> Any:
        """Return a decoder that accepts no other fields, and only single values in those that were learnt."""
        declared = self._declared
        whole = dict.fromkeys([*declared.quasi, *(declared.named or ()), declared.class_field], msgspec.Raw)
        types: dict[str, Any] = dict.fromkeys(learnt, _Single) | whole
        fields = [(f"f{j}", kind, _NONE) for j, kind in enumerate(types.values())]
        renamed = {f"f{j}": name for j, name in enumerate(types)}
        kind = msgspec.defstruct("Strict", fields, rename=renamed, gc=False, forbid_unknown_fields=True)
        return msgspec.json.Decoder(kind).decode

    def differing(self, tuples: Sequence[bytes], label: int | str) -> str | None:
        """Describe what is wrong with the tuples of one class, or return None."""
        try:
            read = list(map(self._decode, tuples))
            if odd := self._odd(tuples):
                return odd
        except (msgspec.DecodeError, RecursionError, ValueError):
            return "holds a tuple that is not a JSON object with all of its fields"
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
        """Describe what is wrong with their text: it must be UTF-8, on one line each, with each field once."""
        whole, n = b"\n".join(tuples), len(tuples)
        if not whole.isascii():
            whole.decode()
        if whole.count(b"\n") != n - 1 or b"\r" in whole:
            return "holds a tuple that is not on one line"
        plain = b"\\" not in whole
        for mark, times in self._marks:
            plain = plain and whole.count(mark) == times * n
        if not plain and any(map(self._repeats, tuples)):
            return "holds a tuple in which a field occurs twice"
        return None

    def _repeats(self, line: bytes) -> bool:
        """Tell whether a field that matters occurs twice; a reader might take the other one."""
        seen = list(self._paths(json.loads(line, object_pairs_hook=_Pairs, parse_int=_int)))
        return any(seen.count(name) > 1 for name in {*self._single, *self._declared.objects})

    def _paths(self, pairs: _Pairs, above: str = "") -> Iterator[str]:
        """Yield the paths of all fields, including those of opened objects."""
        for key, value in pairs:
            yield f"{above}{key}"
            if f"{above}{key}" in self._declared.objects and isinstance(value, _Pairs):
                yield from self._paths(value, f"{above}{key}.")

    def fields(self, tuples: Sequence[bytes], names: Sequence[str]) -> dict[str, list[Any]]:
        """Return the contents of some fields; None for an absent field."""
        read = [
            {name: text for name, text, _ in self._leaves(one)} | self._fields(one) for one in tuples
        ]  # other fields may hold anything
        return {name: [_plain(one.get(name, _NULL)) for one in read] for name in names}

    def written(self, line: bytes) -> dict[str, str]:
        """Return the text of each quasi-identifier; for a string, the text between its quotes."""
        seen = self._decode(line)
        return {name: bytes(getattr(seen, key)).decode().strip('"') for key, name in self._quasi}

    def rest(self, record: bytes, learnt: Collection[str] | None = None) -> dict[str, bytes]:
        """Return the text of all other released fields."""
        released = {one[0] for one in self._nested(record) if self._declared.odd([one], learnt) is None}
        texts = {name: bytes(text) for name, text, _ in self._leaves(record) if name not in self._single}
        return {name: text for name, text in texts.items() if name in released}


class _Pairs(list[tuple[str, Any]]):
    """Object as pairs, so that duplicates are visible; a list is not one."""


def _plain(text: msgspec.Raw) -> Any:
    """Return the content of a field."""
    return json.loads(bytes(text), parse_int=_int)


def _int(digits: str) -> float:
    """Return an integer; one beyond the range of floats is infinite, however many digits it has."""
    return int(digits) if len(digits) < _LONG else float(digits)


class CsvReader:
    """Reader of lines of cells, below a header."""

    def __init__(
        self,
        came: bytes,
        header: bytes,
        quasi: Sequence[str],
        removed: Collection[str],
        class_field: str,
        delimiter: str,
        quote: str,
        named: Collection[str] | None = None,
    ) -> None:
        self._declared = Declared(quasi, removed, named, class_field)
        self._how: dict[str, Any] = {"delimiter": delimiter, "quotechar": quote, "strict": True}
        (names,) = self._read([header])
        if stays := [name for name in removed if name in names]:
            raise GuaranteeError(f"The gate: the output still holds {stays[0]!r}. Nothing was written.")
        self._names, self._width = names, len(names)
        self._quasi = [names.index(name) for name in quasi]
        self._class = names.index(class_field)
        (before,) = self._read([came.removeprefix(b"\xef\xbb\xbf")])
        self._rest = [j for j, name in enumerate(before) if name not in quasi and name in names]

    def differing(self, tuples: Sequence[bytes], label: int | str) -> str | None:
        """Describe what is wrong with the tuples of one class, or return None."""
        try:
            read = self._read(tuples)
        except (csv.Error, UnicodeDecodeError):
            return "holds a tuple that is not a line of cells"
        ends = any(line.endswith((b"\n", b"\r")) for line in tuples)
        if ends or len(read) != len(tuples) or any(len(cells) != self._width for cells in read):
            return "holds a tuple with more or fewer cells than the header"
        keys = [[cells[j] for j in self._quasi] for cells in read]
        if keys.count(keys[0]) != len(keys):
            return "holds several combinations of quasi-identifiers"
        if any(cells[self._class] != str(label) for cells in read):
            return "carries the number of another class"
        return None

    def fields(self, tuples: Sequence[bytes], names: Sequence[str]) -> dict[str, list[Any]]:
        """Return the contents of some fields, as text."""
        read = self._read(tuples)
        return {name: [cells[self._names.index(name)] for cells in read] for name in names}

    def written(self, line: bytes) -> dict[str, str]:
        """Return the cell of each quasi-identifier."""
        (cells,) = self._read([line])
        return {self._names[j]: cells[j] for j in self._quasi}

    def undeclared(self, tuples: Sequence[bytes], learnt: Collection[str] | None) -> str | None:
        """Return an undeclared column."""
        return self._declared.odd([(name, False) for name in self._names], learnt)

    def rest(self, record: bytes, learnt: Collection[str] | None = None) -> list[str]:
        """Return all other released cells."""
        (cells,) = self._read([record])
        return [cells[j] for j in self._rest]

    def _read(self, tuples: Sequence[bytes]) -> list[list[str]]:
        """Read lines of cells of any length."""
        text = b"\n".join(tuples).decode()
        before = csv.field_size_limit()
        try:
            csv.field_size_limit(max(before, len(text)))
            return list(csv.reader(io.StringIO(text, newline=""), **self._how))
        finally:
            csv.field_size_limit(before)
