"""Records with the same fields, read and written without a look at each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

_LIST = msgspec.json.Decoder(list[Any])


class Shape:
    """Objects that have exactly these fields.

    Those in `values` are read; of the others the text is kept as it is. Decoded objects have slots ``f0``, ``f1``, … in
    the order of `names`.

    Parameters
    ----------
    names
        The fields, in the order in which they leave.
    values
        Fields whose values are read, and whose text is not needed.
    texts
        Fields whose values are read, and which leave as they were written.
    removed
        Fields that do not leave.
    """

    def __init__(
        self, names: Sequence[str], values: Collection[str], texts: Collection[str], removed: Collection[str]
    ) -> None:
        self.names = tuple(names)
        self._at = {name: f"f{j}" for j, name in enumerate(self.names)}
        fields = [(slot, Any if name in values else msgspec.Raw) for name, slot in self._at.items()]
        renamed = {slot: name for name, slot in self._at.items()}
        kind: Any = msgspec.defstruct("Fields", fields, rename=renamed, gc=False, forbid_unknown_fields=True)
        kind.shape = self
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode
        self._texts = [name for name in texts if name in self._at]
        self._skeleton: tuple[bytes, list[str], Callable[[Any], Any]] | None = None  # the same for all classes
        self._leaving = [name for name in self.names if name not in removed]

    def read(self, record: bytes) -> Any:
        """Return a record as an object, all of whose values that are wanted can be read."""
        found = self.decode(record)
        for name in self._texts:
            self.column(name, [found])
        return found

    def column(self, name: str, objects: Sequence[Any]) -> list[Any]:
        """Return what a field holds in some objects; None where these have no such field."""
        slot = self._at.get(name)
        if slot is None:
            return [None] * len(objects)
        found = list(map(attrgetter(slot), objects))
        return _LIST.decode(b"[%b]" % b",".join(found)) if name in self._texts else found

    def template(self, released: Mapping[str, bytes]) -> tuple[bytes, Callable[[Any], Any]]:
        """Return how an object leaves: text with gaps, and what gives the texts that go there."""
        if self._skeleton is None:
            self._skeleton = self._outline(released)
        text, order, texts = self._skeleton
        return text % tuple([released[name].replace(b"%", b"%%") for name in order]), texts

    def _outline(self, released: Mapping[str, bytes]) -> tuple[bytes, list[str], Callable[[Any], Any]]:
        """Return the same with gaps for released values, in which those for texts are not yet gaps."""
        leaving = [*self._leaving, *(name for name in released if name not in self._at)]
        keys = {name: msgspec.json.encode(name).replace(b"%", b"%%%%") for name in leaving}
        parts = [keys[name] + (b":%b" if name in released else b":%%b") for name in leaving]
        gaps = [self._at[name] for name in leaving if name not in released]
        texts = attrgetter(*gaps) if gaps else _nothing
        return b"{" + b",".join(parts) + b"}", [name for name in leaving if name in released], texts


def _nothing(_: object) -> tuple[()]:
    return ()
