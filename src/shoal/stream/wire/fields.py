"""Fields of a stream: released, removed or unknown; dotted paths; records in an envelope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

from shoal.parameters import shown

#: The remedy for an undeclared field.
TO_DECLARE = "Name it in keep or identifier, or set unknown to remove."
_LONG = 60  # maximum length of a field's name in a message


class Fate(Enum):
    """The treatment of a field."""

    RELEASED = "released"  #: replaced by the value of its class
    REMOVED = "removed"
    KEPT = "kept"  #: released unchanged
    UNKNOWN = "unknown"  #: not declared


@dataclass(frozen=True)
class Fields:
    """The fields that a recipe declares, and those that a stream has learnt from its first tuples.

    Without an allow-list a stream learns: the fields of its first tuples pass until the set is `fixed`, when the first
    class is released. Objects and lists are never learnt. A name with a dot is also a path: ``user.id`` is the field
    ``id`` of the object ``user``.

    >>> fields = Fields(["age"], ["user.id"], ["note"], "reject", learns=True).seen(["pay"])
    >>> [fields.fate(name).value for name in ("age", "user.id", "note", "pay", "email")]
    ['released', 'removed', 'kept', 'kept', 'kept']
    >>> [fields.settled().fate(name).value for name in ("pay", "email")], fields.parents
    (['kept', 'unknown'], frozenset({'user'}))
    """

    quasi: Collection[str]
    removed: Collection[str]
    named: Collection[str]  #: released unchanged, whatever they hold
    unknown: str = "keep"
    learns: bool = False
    learnt: frozenset[str] = frozenset()
    fixed: bool = False  #: whether learning has stopped

    @property
    def open(self) -> bool:
        """Whether fields are still learnt."""
        return self.learns and not self.fixed

    @cached_property
    def declared(self) -> frozenset[str]:
        """All fields that a recipe names."""
        return frozenset((*self.quasi, *self.removed, *self.named))

    @cached_property
    def parents(self) -> frozenset[str]:
        """Paths of objects that may contain a declared field, and are searched for it."""
        return frozenset(name[:at] for name in self.declared for at, sign in enumerate(name) if sign == ".")

    def seen(self, names: Iterable[str]) -> Fields:
        """Learn fields, while nothing is released yet."""
        more = self.learnt.union(names) if self.open else self.learnt
        return self if more == self.learnt else replace(self, learnt=more)

    def settled(self) -> Fields:
        """Stop learning."""
        return replace(self, fixed=True) if self.open else self

    def fate(self, name: str, *, nested: bool = False, inner: bool = False) -> Fate:
        """Return the treatment of a field; `nested`: it holds an object or a list; `inner`: it is in an object."""
        if name in self.quasi:
            return Fate.RELEASED
        if name in self.removed:
            return Fate.REMOVED
        if name in self.named or (inner and any(name.startswith(f"{one}.") for one in self.named)):
            return Fate.KEPT
        if self.unknown == "keep" or (not nested and not inner and (self.open or name in self.learnt)):
            return Fate.KEPT
        return Fate.UNKNOWN

    def scalar(self, name: str, *, inner: bool = False) -> bool:
        """Tell whether a kept field must hold neither an object nor a list."""
        if name in self.parents:  # an object there would be searched
            return True
        return self.fate(name, nested=True, inner=inner) is Fate.UNKNOWN


def undeclared(name: str, *, nested: bool = False) -> str:
    """Return how messages refer to an undeclared field.

    >>> undeclared("email")
    "the field 'email', which the recipe does not declare"
    """
    what = "the field" if not nested else "an object or a list in the field"
    return f"{what} {shown(name[:_LONG])}, which the recipe does not declare"


class Leaf(NamedTuple):
    """One field of a nested mapping."""

    path: tuple[str, ...]
    name: str  #: the dotted path
    value: Any


def leaves(given: Mapping[str, Any], parents: Collection[str], above: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield the fields of a mapping; objects at `parents` are searched.

    >>> [leaf.name for leaf in leaves({"user": {"id": 7, "geo": {"x": 1}}, "a": 2}, {"user"})]
    ['user.id', 'user.geo', 'a']
    """
    for key, value in given.items():
        path = (*above, str(key))
        name = ".".join(path)
        if name in parents and isinstance(value, Mapping):
            yield from leaves(value, parents, path)
        else:
            yield Leaf(path, name, value)


def at(row: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field: the one with exactly this name, else the one at the path; None if absent.

    >>> at({"user": {"id": 7}}, "user.id"), at({"user.id": 8, "user": {"id": 7}}, "user.id"), at({}, "a")
    (7, 8, None)
    """
    if name in row or "." not in name:
        return row.get(name)
    found = sorted(leaves(row, [name[:dot] for dot, sign in enumerate(name) if sign == "."]), key=lambda f: len(f.path))
    return next((leaf.value for leaf in found if leaf.name == name), None)


def put(row: dict[str, Any], name: str, value: Any) -> bool:
    """Set an existing field, by name or path; objects on the path are copied."""
    if name in row:
        row[name] = value
        return True
    for dot, sign in enumerate(name):
        inside = row.get(name[:dot]) if sign == "." else None
        if isinstance(inside, dict):
            copied = dict(inside)
            if put(copied, name[dot + 1 :], value):
                row[name[:dot]] = copied
                return True
    return False


_GZIP = b"\x1f\x8b"
_HEAD = 5  # bytes of a schema registry's frame: 0, and the schema number in four
_FRAMES = {
    "gzip": "the record is compressed with gzip. Decompress it first.",
    "registry": "the record begins with the frame of a Confluent Schema Registry (a zero byte and the schema's "
    "number), so it is Avro, Protobuf or framed JSON. Convert it to plain JSON first.",
}


def framing(record: bytes) -> str | None:
    """Return the framing of a record as the reason for its rejection; None if no framing is recognised.

    >>> framing(b"\\x00\\x00\\x00\\x00\\x07{}")[:44], framing(b"{}")
    ('the record begins with the frame of a Conflu', None)
    """
    if record.startswith(_GZIP):
        return _FRAMES["gzip"]
    return _FRAMES["registry"] if len(record) > _HEAD and record[0] == 0 else None
