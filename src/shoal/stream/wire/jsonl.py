"""JSON Lines: one object per line; unmodified fields are released as they were written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from itertools import accumulate, groupby
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from shoal.errors import ParameterError, listing
from shoal.stream.wire.fields import TO_DECLARE, Fate, Fields, framing, undeclared
from shoal.types.stream import Parsed, Wire


def lookalike(names: Iterable[str], known: Collection[str]) -> str | None:
    """Return the known name that one of `names` differs from only in case, blanks or the encoding of accents.

    A field that is not named is released unchanged: ``Name`` would be, where ``name`` is an identifier.

    >>> lookalike(["age", " Name"], ["name", "age"]), lookalike(["names"], ["name"])
    ('name', None)
    """
    by_plain_name = {_plain(name): name for name in known}
    return next(
        (by_plain_name[_plain(name)] for name in names if name not in known and _plain(name) in by_plain_name), None
    )


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()


_LIST = msgspec.json.Decoder(list[Any])
_OPENING = b"{["


class Node(NamedTuple):
    """A field of a record: a value, or an object that is searched."""

    key: str
    path: tuple[str, ...]
    inside: tuple[Node, ...] | None  #: the fields of the object; None: a value
    nested: bool  #: whether the value is an object or a list

    @property
    def name(self) -> str:
        """The dotted path."""
        return ".".join(self.path)


class _Slot(NamedTuple):
    """The slot of a value in a decoded object."""

    node: Node
    at: str  #: ``f2``, or ``f1.f0`` in an object

    @property
    def inner(self) -> bool:
        return len(self.node.path) > 1


class Shape:
    """Objects that have exactly these fields.

    Fields in `values` are parsed; the others keep their text. Decoded objects have slots ``f0``, ``f1``, … in the order
    of `nodes`; those of a searched object are ``f1.f0``, ``f1.f1``, … If one dotted name leads to two fields, the one
    with the shorter path is meant: an exact name wins.

    Parameters
    ----------
    nodes
        The fields, in release order.
    fields
        The rules that decide which of them are released.
    values
        Fields whose values are parsed and whose text is not needed.
    texts
        Fields whose values are parsed and which are released as they were written.
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
        #: fields that are released without being named
        self.others = frozenset(
            slot.node.name for slot in kept if not slot.inner and slot.node.name not in fields.declared
        )

    @property
    def names(self) -> list[str]:
        """All fields; a searched object is represented by its fields."""
        return [slot.node.name for slot in self._slots]

    def _fate(self, slot: _Slot) -> Fate:
        fate = self._fields.fate(slot.node.name, nested=slot.node.nested, inner=slot.inner)
        shadowed = self._at[slot.node.name] != slot.at  # by an exact name
        return Fate.REMOVED if fate is Fate.RELEASED and shadowed else fate

    def unknown(self) -> Node | None:
        """Return the first undeclared field."""
        return next((slot.node for slot in self._slots if self._fate(slot) is Fate.UNKNOWN), None)

    def read(self, record: bytes) -> Any:
        """Decode a record as an object with all wanted values readable."""
        found = self.decode(record)
        for name in self._texts:
            self.column(name, [found])
        return found

    def fits(self, objects: Sequence[Any], records: Sequence[bytes]) -> bool:
        """Tell whether decoded objects have objects and lists only in the fields where this shape has them."""
        if any(memoryview(cell)[0] not in _OPENING for get in self._several for cell in map(get, objects)):
            return False
        if not self._scalars:
            return True
        whole = b"".join(records)
        if b"[" not in whole and whole.count(b"{") == self._objects * len(records):
            return True
        return not any(memoryview(cell)[0] in _OPENING for get in self._scalars for cell in map(get, objects))

    def column(self, name: str, objects: Sequence[Any]) -> list[Any]:
        """Return the values of a field in some objects; None in objects without the field."""
        slot = self._at.get(name)
        if slot is None:
            return [None] * len(objects)
        found = list(map(attrgetter(slot), objects))
        return _LIST.decode(b"[%b]" % b",".join(found)) if name in self._texts else found

    def template(self, released: Mapping[str, bytes]) -> tuple[bytes, Callable[[Any], Any]]:
        """Return the template of a released object: text with gaps, and a function that returns the texts for them."""
        if self._skeleton is None:
            self._skeleton = self._outline(released)
        text, order, texts = self._skeleton
        return text % tuple([released[name].replace(b"%", b"%%") for name in order]), texts

    def _outline(self, released: Mapping[str, bytes]) -> tuple[bytes, list[str], Callable[[Any], Any]]:
        """Return the same with gaps for released values only; text fields are not gaps yet."""
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
    """Return the type of objects with these fields; slots in `read` hold values, the others text."""
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


_NOT_JSON = "the record is not JSON. Check its producer."
_NO_OBJECT = "the record must be a JSON object with a name for each field, got something else. Check its producer."
_NOT_UTF8 = "the record is not in UTF-8. Check its producer."
_NAMES = "the name of a field holds a quote, a backslash or a control character. Rename it."
_NUMBER = "the record holds a number that is too large to be read. Check its producer."
_NESTED = "the record has lists or objects nested more than 256 levels deep. Check its producer."
_LACKS = "the record must have the field {name!r}, which is removed, but lacks it. Check the spelling, or write null."
_ODD = re.compile(r'["\\\x00-\x1f]')
_DEEP = 256  # low enough for any reader's recursion limit
_SIGNS = re.compile(rb'"(?:[^"\\]|\\.)*"|[^][{}"]+')  # everything except brackets
_BLANKS = bytes.maketrans(b"\r\n", b"  ")
_SHAPES = 64  # maximum number of cached shapes


class _Unfit(Exception):  # noqa: N818 - a fault of one record, handled here
    """A record with fields that it must not have."""


class Jsonl(Wire):
    """Tuples as JSON objects.

    Every field that is not requested keeps its text, so that ``1.10`` and integers of thirty digits are released as
    they came. Records with the same fields are released with one field order, that of the first such record; the class
    comes last. Of a duplicate name only the last value counts and is released. NaN and infinities are not JSON.

    **Guarantee.** A released record consists of its fields without `removed`, with released values in place of the
    originals.

    **Complexity.** Two passes over the bytes, both in C, as long as records have the same fields.

    Parameters
    ----------
    wanted
        Fields whose values are parsed; an absent field is None, like null.
    removed
        Fields that are removed.
    class_field
        The name of the field that holds a tuple's class.
    kept
        Those of `wanted` that are released unchanged; the others are replaced or removed.
    needed
        Those of `removed` that a record must have, if only as null: otherwise they may be released under another
        name.
    fields
        The rules for other fields. None: all of them are released.

    >>> wire = Jsonl(["age"], ["name"], "class")
    >>> parsed = wire.parse([b'{"name": "ann", "age": 31, "pay": 1.10}', b"nothing"])
    >>> parsed.columns, [index for index, _ in parsed.faults]
    ({'age': [31]}, [1])
    >>> wire.render(parsed.bodies, {"age": 30.5}, 7)
    [b'{"age":30.5,"pay":1.10,"class":7}']
    """

    def __init__(
        self,
        wanted: Sequence[str],
        removed: Collection[str],
        class_field: str,
        kept: Collection[str] = (),
        needed: Collection[str] = (),
        fields: Fields | None = None,
    ) -> None:
        if odd := [name for name in (*wanted, *removed, class_field) if _ODD.search(name)]:
            raise ParameterError(
                f"Jsonl: names of fields must hold no quote, backslash or control character, got {listing(odd)}. "
                "Rename them."
            )
        self.wanted = tuple(wanted)
        self.class_field = class_field
        self._kept = tuple(name for name in kept if name not in removed)
        self._values = frozenset(self.wanted) - frozenset(self._kept)
        quasi = [name for name in self.wanted if name not in self._kept and name not in removed]
        self.fields = Fields(frozenset(quasi), frozenset(removed), frozenset(self._kept)) if fields is None else fields
        self._needed = frozenset(needed)
        self._decode = msgspec.json.Decoder(dict[str, msgspec.Raw])
        self._encode = msgspec.json.Encoder().encode
        self._shapes: dict[frozenset[tuple[tuple[str, ...], bool]], Shape] = {}
        self._last: Shape | None = None

    def under(self, fields: Fields) -> Jsonl:
        """Return the same wire for a lane that releases these fields."""
        made = copy(self)
        made.fields, made._shapes, made._last = fields, {}, None
        return made

    def others(self, bodies: Sequence[Any]) -> set[str]:
        """Return the fields of some tuples that are released without being named."""
        kinds: dict[Any, None] = dict.fromkeys(map(type, bodies))
        return {name for kind in kinds for name in kind.shape.others}

    def parse(self, records: Sequence[bytes]) -> Parsed:
        """Parse records; if all have the fields of the last ones, without a loop in Python."""
        long = max(map(len, records), default=0) > 2 * _DEEP
        odd = long and any(map(_may_be_deep, records))
        if self._last is not None and not odd and all(map(bytes.isascii, records)):
            try:
                bodies = list(map(self._last.decode, records))
                columns = {name: self._last.column(name, bodies) for name in self.wanted}
                if self._last.fits(bodies, records):
                    return Parsed(np.arange(len(records)), columns, bodies, ())
            except (msgspec.DecodeError, RecursionError):
                pass
        return self._one_by_one(records)

    def _one_by_one(self, records: Sequence[bytes]) -> Parsed:
        """Parse records, some of them invalid or with other fields."""
        good, bodies, faults = [], [], []
        for index, record in enumerate(records):
            found = self._read(record)
            if isinstance(found, str):
                faults.append((index, found))
            else:
                good.append(index)
                bodies.append(found)
        columns: dict[str, list[Any]] = {name: [] for name in self.wanted}
        for _, group in groupby(bodies, type):
            batch = list(group)
            for name in self.wanted:
                columns[name] += batch[0].shape.column(name, batch)
        return Parsed(np.array(good, np.int64), columns, bodies, faults)

    def _read(self, record: bytes) -> Any:
        """Decode a record as an object, or return why it is not one."""
        try:
            if _may_be_deep(record) and _depth(record) > _DEEP:
                raise _Unfit(_NESTED)
            record.decode()
            if self._last is not None:
                with suppress(msgspec.ValidationError):  # other fields than the last one
                    found = self._last.read(record)
                    if self._last.fits([found], [record]):
                        return found
            self._last = self._shape(self._nodes(record))
            return self._last.read(record)
        except _Unfit as fault:
            return str(fault)
        except UnicodeDecodeError:
            return framing(record) or _NOT_UTF8
        except msgspec.ValidationError:
            return _NUMBER if record.lstrip().startswith(b"{") else _NO_OBJECT
        except (msgspec.DecodeError, RecursionError):
            return framing(record) or _NOT_JSON

    def _nodes(self, text: Any, above: tuple[str, ...] = ()) -> tuple[Node, ...]:
        """Return the fields of an object, including those of the objects in it that are searched."""
        found = []
        for key, value in self._decode.decode(text).items():
            path, first = (*above, key), memoryview(value)[0]
            inside = self._nodes(value, path) if first in b"{" and ".".join(path) in self.fields.parents else None
            found.append(Node(key, path, inside, first in b"{["))
        return tuple(found)

    def _shape(self, nodes: tuple[Node, ...]) -> Shape:
        if self.class_field in {node.key for node in nodes}:
            raise _Unfit(f"the record already has a field {self.class_field!r}. Set another class_field.")
        key = frozenset(_paths(nodes))
        if any(_ODD.search(part) for path, _ in key for part in path):
            raise _Unfit(_NAMES)
        if key not in self._shapes:
            self._shapes[key] = self._checked(Shape(nodes, self.fields, self._values, self._kept))
            if len(self._shapes) > _SHAPES:
                self._shapes.pop(next(iter(self._shapes)))
        return self._shapes[key]

    def _checked(self, shape: Shape) -> Shape:
        """Return a shape if all of its fields are allowed."""
        if (known := lookalike(shape.names, self.fields.declared)) is not None:
            raise _Unfit(
                f"the record has a field that differs from {known!r} only in spelling, such as upper and lower case. "
                "Rename it, or declare it as an identifier."
            )
        if lacking := sorted(self._needed.difference(shape.names)):  # a misspelt one would be released
            raise _Unfit(_LACKS.format(name=lacking[0]))
        if self.fields.unknown == "reject" and (node := shape.unknown()) is not None:
            raise _Unfit(f"the record has {undeclared(node.name, nested=node.nested)}. {TO_DECLARE}")
        return shape

    def render(self, bodies: Sequence[Any], values: Mapping[str, Any], number: int | str) -> list[bytes]:
        """Return the tuples of one class, each on one line."""
        encode = self._encode
        released = {name: encode(value) for name, value in values.items()} | {self.class_field: encode(number)}
        kinds: dict[Any, None] = dict.fromkeys(map(type, bodies))
        templates = {kind: kind.shape.template(released) for kind in kinds}
        if len(templates) == 1:
            ((text, texts),) = templates.values()
            lines = [text % texts(body) for body in bodies]
        else:
            lines = [templates[type(body)][0] % templates[type(body)][1](body) for body in bodies]
        whole = b"".join(lines)
        if b"\n" in whole or b"\r" in whole:  # between tokens: JSON strings contain none
            return [line.translate(_BLANKS) for line in lines]
        return lines


def _paths(nodes: Sequence[Node]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the path of each field, and whether it holds an object or a list."""
    for node in nodes:
        if node.inside is None:
            yield node.path, node.nested
        else:
            yield (*node.path, ""), True
            yield from _paths(node.inside)


def _may_be_deep(record: bytes) -> bool:
    """Tell quickly whether values could be nested too deeply."""
    return len(record) > 2 * _DEEP and record.count(b"[") + record.count(b"{") > _DEEP


def _depth(record: bytes) -> int:
    """Return the nesting depth of a record."""
    steps = (1 if sign in b"[{" else -1 for sign in _SIGNS.sub(b"", record).replace(b'"', b""))
    return max(accumulate(steps), default=0)
