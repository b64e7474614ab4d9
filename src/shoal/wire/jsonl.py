"""JSON Lines: one object in each line; what is not touched leaves as it was written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import msgspec
import numpy as np

from shoal.types.stream import Parsed

_NOT_JSON = "the record is not JSON. Check what writes it."
_NO_OBJECT = "the record must be a JSON object with a name for each field, got something else. Check what writes it."
_NOT_UTF8 = "the record is not in UTF-8. Check what writes it."


class Jsonl:
    """Tuples as JSON objects.

    Every field that is not asked for is kept as the text that it was, so that ``1.10`` and integers of thirty digits
    leave as they came. Fields leave in the order in which they came, the class last. Of a name that is there twice
    the last value counts, and leaves alone. NaN and infinities are not JSON.

    **Guarantee.** What leaves of a record are its fields without `removed`, with the released values in their place.

    **Complexity.** A few passes over the bytes, all of them in C.

    Parameters
    ----------
    wanted
        Fields whose values are read; one that a record does not have is None, as null is.
    removed
        Fields that do not leave.
    class_field
        The name of the field that says which class a tuple left in.

    >>> wire = Jsonl(["age"], ["name"], "class")
    >>> parsed = wire.parse([b'{"name": "ann", "age": 31, "pay": 1.10}', b"nothing"])
    >>> parsed.columns, [index for index, _ in parsed.faults]
    ({'age': [31]}, [1])
    >>> wire.render(parsed.bodies, {"age": 30.5}, 7)
    [b'{"age":30.5,"pay":1.10,"class":7}']
    """

    def __init__(self, wanted: Sequence[str], removed: Collection[str], class_field: str) -> None:
        self.wanted = tuple(wanted)
        self.removed = tuple(removed)
        self.class_field = class_field
        fields = [(f"f{j}", Any, None) for j in range(len(self.wanted))]
        names = {f"f{j}": name for j, name in enumerate(self.wanted)}
        self._values = msgspec.json.Decoder(msgspec.defstruct("Wanted", fields, rename=names, gc=False))
        self._fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
        self._encoder = msgspec.json.Encoder()

    @property
    def head(self) -> bytes:
        """What stands before the first tuple: nothing."""
        return b""

    def parse(self, records: Sequence[bytes]) -> Parsed:
        """Take records apart; if all are fine, without a loop in Python."""
        try:
            bodies = list(map(self._fields.decode, records))
            read = list(map(self._values.decode, records))
        except (msgspec.DecodeError, RecursionError):
            return self._one_by_one(records)
        if not all(map(bytes.isascii, records)) or any(self.class_field in body for body in bodies):
            return self._one_by_one(records)
        return Parsed(np.arange(len(records)), self._columns(read), bodies, ())

    def _columns(self, read: Sequence[Any]) -> dict[str, list[Any]]:
        return {name: [getattr(one, f"f{j}") for one in read] for j, name in enumerate(self.wanted)}

    def _one_by_one(self, records: Sequence[bytes]) -> Parsed:
        """Take records apart of which some are no tuples, or may be none."""
        good, bodies, read, faults = [], [], [], []
        for index, record in enumerate(records):
            fault = None if record.isascii() else _in_utf8(record)
            try:
                body, values = self._fields.decode(record), self._values.decode(record)
            except msgspec.ValidationError:
                fault = fault or _NO_OBJECT
            except (msgspec.DecodeError, RecursionError):
                fault = fault or _NOT_JSON
            else:
                fault = fault or self._class_is_free(body)
            if fault is None:
                good.append(index)
                bodies.append(body)
                read.append(values)
            else:
                faults.append((index, fault))
        return Parsed(np.array(good, np.int64), self._columns(read), bodies, faults)

    def _class_is_free(self, body: Mapping[str, Any]) -> str | None:
        if self.class_field not in body:
            return None
        return f"the record has a field {self.class_field!r} already. Set another class_field."

    def render(self, bodies: Sequence[Any], values: Mapping[str, Any], number: int | str) -> list[bytes]:
        """Return the tuples of one class; bodies are used up."""
        encode = self._encoder.encode
        released = {name: msgspec.Raw(encode(value)) for name, value in values.items()}
        released[self.class_field] = msgspec.Raw(encode(number))
        for body in cast(Sequence[dict[str, Any]], bodies):
            for name in self.removed:
                body.pop(name, None)
            body.update(released)
        return list(map(encode, bodies))


def _in_utf8(record: bytes) -> str | None:
    try:
        record.decode()
    except UnicodeDecodeError:
        return _NOT_UTF8
    return None
