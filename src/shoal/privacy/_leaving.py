"""The gate of a stream: every class is read back from the bytes that are about to leave, and audited by itself.

It shares nothing with what forms, renders or writes classes. It reads JSON and CSV by itself, and stops the stream at
the first class that is not what was promised; nothing of the step leaves then.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Sequence
from typing import Any, Protocol

import msgspec

from shoal.errors import GuaranteeError
from shoal.privacy._who import who
from shoal.types.stream import Leaving

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


class JsonlReader:
    """Reads JSON objects."""

    def __init__(self, quasi: Sequence[str], removed: Collection[str], class_field: str) -> None:
        named = {f"q{j}": name for j, name in enumerate(quasi)} | {"number": class_field}
        gone = {f"r{j}": name for j, name in enumerate(removed)}
        fields: list[Any] = [(key, msgspec.Raw) for key in named]
        fields += [(key, msgspec.Raw, _NONE) for key in gone]
        seen = msgspec.defstruct("Seen", fields, rename=named | gone, gc=False, eq=True)
        self._gone = gone
        self._decode = msgspec.json.Decoder(seen).decode
        self._texts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode  # other fields may hold anything

    def differing(self, tuples: Sequence[bytes], label: int | str) -> str | None:
        """Say what is wrong with the tuples of one class, or None."""
        try:
            read = list(map(self._decode, tuples))
        except msgspec.DecodeError:
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

    def fields(self, tuples: Sequence[bytes], names: Sequence[str]) -> dict[str, list[Any]]:
        """Return what some fields hold; a field that is not there holds nothing."""
        read = [self._texts(one) for one in tuples]
        return {name: [_plain(one.get(name, _NULL)) for one in read] for name in names}


def _plain(text: msgspec.Raw) -> Any:
    """Return what a field holds; an integer beyond all floats is infinite, however many digits it has."""
    return json.loads(bytes(text), parse_int=lambda digits: int(digits) if len(digits) < _LONG else float(digits))


class CsvReader:
    """Reads lines of cells, below a header."""

    def __init__(
        self,
        header: bytes,
        quasi: Sequence[str],
        removed: Collection[str],
        class_field: str,
        delimiter: str,
        quote: str,
    ) -> None:
        self._how: dict[str, Any] = {"delimiter": delimiter, "quotechar": quote, "strict": True}
        names = next(csv.reader(io.StringIO(header.decode(), newline=""), **self._how))
        if stays := [name for name in removed if name in names]:
            raise GuaranteeError(f"The gate: the output still holds {stays[0]!r}. Nothing was written.")
        self._names, self._width = names, len(names)
        self._quasi = [names.index(name) for name in quasi]
        self._class = names.index(class_field)

    def differing(self, tuples: Sequence[bytes], label: int | str) -> str | None:
        """Say what is wrong with the tuples of one class, or None."""
        try:
            text = io.StringIO(b"\n".join(tuples).decode(), newline="")
            read = list(csv.reader(text, **self._how))
        except (csv.Error, UnicodeDecodeError):
            return "holds a tuple that is no line of cells"
        ends = tuples[-1].endswith((b"\n", b"\r"))  # which would be a line of its own
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
        read = list(csv.reader(io.StringIO(b"\n".join(tuples).decode(), newline=""), **self._how))
        return {name: [cells[self._names.index(name)] for cells in read] for name in names}


class Gate:
    """What every class of one lane passes before it leaves.

    Subjects do not leave, so they cannot be read back: whoever drives the stream says whom each tuple is about, from
    the record that came. A tuple about nobody counts for nothing. Without subjects every tuple is another one.

    **Guarantee.** A class that `check` lets pass concerns at least k subjects, has one combination of
    quasi-identifiers, the number after the last one, and no field that must not leave.

    >>> gate = Gate(JsonlReader(["age"], ["name"], "class"), k=2)
    >>> gate.check(Leaving(0, [b'{"age":30,"class":0}', b'{"age":30,"class":0}'], [0, 9]), 0)
    >>> gate.check(Leaving(1, [b'{"age":30,"class":1}'], [18]), 1)
    Traceback (most recent call last):
    ...
    shoal.errors.GuaranteeError: The gate: class 1 concerns 1 subjects, and k is 2. Nothing of this step was written.
    """

    def __init__(self, reader: Reader, k: int, next_number: int = 0) -> None:
        self._reader = reader
        self.k = k
        self.next_number = next_number

    def check(self, leaving: Leaving, label: int | str, subjects: Sequence[Any] | None = None) -> None:
        """Let a class pass.

        Raises
        ------
        GuaranteeError
            If anything is not as promised; nothing of the step may leave then.
        """
        fault = self._fault(leaving, label, subjects)
        if fault is not None:
            raise GuaranteeError(f"The gate: class {label} {fault}. Nothing of this step was written.")
        self.next_number += 1

    def fields(self, leaving: Leaving, names: Sequence[str]) -> dict[str, list[Any]]:
        """Return what some fields of a class hold that passed, read back from its bytes."""
        return self._reader.fields(leaving.tuples, names)

    def _fault(self, leaving: Leaving, label: int | str, subjects: Sequence[Any] | None) -> str | None:
        if leaving.number != self.next_number:
            return f"has not the number that follows, {self.next_number:,}"
        concerned = len(leaving.tuples)
        if subjects is not None:
            if len(subjects) != concerned:
                return "does not say whom each tuple is about"
            concerned = len({who(subject) for subject in subjects} - {None})
        if concerned < self.k:
            return f"concerns {concerned:,} subjects, and k is {self.k:,}"
        return self._reader.differing(leaving.tuples, label)
