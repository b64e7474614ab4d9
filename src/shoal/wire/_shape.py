"""Records with the same fields, read and written without a look at each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from shoal.wire.fields import Fate, Fields

_LIST = msgspec.json.Decoder(list[Any])
_OPENING = b"{["


class Node(NamedTuple):
    """A field of a record: a value, or an object that is looked into."""

    key: str
    path: tuple[str, ...]
    inside: tuple[Node, ...] | None  #: the fields of the object; None: a value
    nested: bool  #: whether the value is an object or a list

    @property
    def name(self) -> str:
        """The path with points."""
        return ".".join(self.path)


class _Slot(NamedTuple):
    """Where a decoded object holds a value."""

    node: Node
    at: str  #: ``f2``, or ``f1.f0`` in an object

    @property
    def inner(self) -> bool:
        return len(self.node.path) > 1


class Shape:
    """Objects that have exactly these fields.

    Those in `values` are read; of the others the text is kept as it is. Decoded objects have slots ``f0``, ``f1``, … in
    the order of `nodes`; those of an object that is looked into are ``f1.f0``, ``f1.f1``, … Of two fields that one
    dotted name leads to, the one with the shorter path is meant: an exact name wins.

    Parameters
    ----------
    nodes
        The fields, in the order in which they are released.
    fields
        Which of them are released.
    values
        Fields whose values are read, and whose text is not needed.
    texts
        Fields whose values are read, and which are released as they were written.
    """

    def __init__(self, nodes: Sequence[Node], fields: Fields, values: Collection[str], texts: Collection[str]) -> None:
        self._nodes, self._fields = tuple(nodes), fields
        self._slots = _slots(self._nodes)
        self._at: dict[str, str] = {}
        for slot in sorted(self._slots, key=lambda slot: len(slot.node.path)):
            self._at.setdefault(slot.node.name, slot.at)
        read = {self._at[name] for name in values if name in self._at}
        kind = _struct(self._nodes, read, "")
        kind.shape = self
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode
        self._texts = [name for name in texts if name in self._at]
        self._skeleton: tuple[bytes, list[str], Callable[[Any], Any]] | None = None  # the same for all classes
        kept = [slot for slot in self._slots if self._fate(slot) is Fate.KEPT]
        scalar = [slot for slot in kept if fields.scalar(slot.node.name, inner=slot.inner)]
        self._scalars = [attrgetter(slot.at) for slot in scalar if slot.at not in read]
        unknown = [slot for slot in self._slots if slot.node.nested and self._fate(slot) is Fate.UNKNOWN]
        single = [slot for slot in unknown if fields.fate(slot.node.name, inner=slot.inner) is Fate.KEPT]
        self._several = [attrgetter(slot.at) for slot in single]  # removed only because an object or a list is there
        self._objects = _objects(self._nodes)
        #: fields that are released though nobody named them
        self.others = frozenset(
            slot.node.name for slot in kept if not slot.inner and slot.node.name not in fields.declared
        )

    @property
    def names(self) -> list[str]:
        """All fields, objects that are looked into by what is in them."""
        return [slot.node.name for slot in self._slots]

    def _fate(self, slot: _Slot) -> Fate:
        fate = self._fields.fate(slot.node.name, nested=slot.node.nested, inner=slot.inner)
        shadowed = self._at[slot.node.name] != slot.at  # by an exact name
        return Fate.REMOVED if fate is Fate.RELEASED and shadowed else fate

    def unknown(self) -> Node | None:
        """Return the first field that nobody declared."""
        return next((slot.node for slot in self._slots if self._fate(slot) is Fate.UNKNOWN), None)

    def read(self, record: bytes) -> Any:
        """Return a record as an object, all of whose values that are wanted can be read."""
        found = self.decode(record)
        for name in self._texts:
            self.column(name, [found])
        return found

    def fits(self, objects: Sequence[Any], records: Sequence[bytes]) -> bool:
        """Tell whether decoded objects have objects and lists only in the fields in which this shape has them."""
        if any(memoryview(cell)[0] not in _OPENING for get in self._several for cell in map(get, objects)):
            return False
        if not self._scalars:
            return True
        whole = b"".join(records)
        if b"[" not in whole and whole.count(b"{") == self._objects * len(records):
            return True
        return not any(memoryview(cell)[0] in _OPENING for get in self._scalars for cell in map(get, objects))

    def column(self, name: str, objects: Sequence[Any]) -> list[Any]:
        """Return what a field holds in some objects; None where these have no such field."""
        slot = self._at.get(name)
        if slot is None:
            return [None] * len(objects)
        found = list(map(attrgetter(slot), objects))
        return _LIST.decode(b"[%b]" % b",".join(found)) if name in self._texts else found

    def template(self, released: Mapping[str, bytes]) -> tuple[bytes, Callable[[Any], Any]]:
        """Return how an object is released: text with gaps, and what gives the texts that go there."""
        if self._skeleton is None:
            self._skeleton = self._outline(released)
        text, order, texts = self._skeleton
        return text % tuple([released[name].replace(b"%", b"%%") for name in order]), texts

    def _outline(self, released: Mapping[str, bytes]) -> tuple[bytes, list[str], Callable[[Any], Any]]:
        """Return the same with gaps for released values, in which those for texts are not yet gaps."""
        order: list[str] = []
        gaps: list[str] = []
        fates = {slot.at: self._fate(slot) for slot in self._slots}

        def written(nodes: Sequence[Node], above: str) -> list[bytes]:
            parts = []
            for j, node in enumerate(nodes):
                at, key = f"{above}f{j}", _key(node.key)
                if node.inside is not None:
                    inner = written(node.inside, f"{at}.")
                    parts += [key + b":{" + b",".join(inner) + b"}"] if inner else []
                elif fates[at] is Fate.RELEASED:
                    order.append(node.name)
                    parts.append(key + b":%b")
                elif fates[at] is Fate.KEPT:
                    gaps.append(at)
                    parts.append(key + b":%%b")
            return parts

        parts = written(self._nodes, "")
        for name in released:
            if name not in self._at:
                order.append(name)
                parts.append(_key(name) + b":%b")
        texts = attrgetter(*gaps) if gaps else _nothing
        return b"{" + b",".join(parts) + b"}", order, texts


def _slots(nodes: Sequence[Node], above: str = "") -> list[_Slot]:
    found = []
    for j, node in enumerate(nodes):
        at = f"{above}f{j}"
        found += [_Slot(node, at)] if node.inside is None else _slots(node.inside, f"{at}.")
    return found


def _struct(nodes: Sequence[Node], read: Collection[str], above: str) -> Any:
    """Return the type of objects with these fields, in which the slots in `read` hold values and the others text."""
    fields: list[tuple[str, Any]] = []
    for j, node in enumerate(nodes):
        at = f"{above}f{j}"
        if node.inside is not None:
            fields.append((f"f{j}", _struct(node.inside, read, f"{at}.")))
        else:
            fields.append((f"f{j}", Any if at in read else msgspec.Raw))
    renamed = {f"f{j}": node.key for j, node in enumerate(nodes)}
    return msgspec.defstruct("Fields", fields, rename=renamed, gc=False, forbid_unknown_fields=True)


def _objects(nodes: Sequence[Node]) -> int:
    return 1 + sum(_objects(node.inside) for node in nodes if node.inside is not None)


def _key(name: str) -> bytes:
    return msgspec.json.encode(name).replace(b"%", b"%%%%")


def _nothing(_: object) -> tuple[()]:
    return ()
