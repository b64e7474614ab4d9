"""Cursors as the text that Kafka keeps beside an offset: what a lane needs to go on, and nothing of any record."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal

import msgspec

from shoal.errors import EngineError, ParameterError
from shoal.types.stream import Cursor, Tally

#: What a broker allows that was told nothing else: ``offset.metadata.max.bytes``. It takes one character less.
USUAL_ROOM = 4096
#: What a text holds besides the bits, at most: the mark of the recipe, nine numbers of 20 digits, what zlib adds.
_BESIDES = 560


@dataclass(frozen=True, slots=True)
class Kept:
    """What a text was made of."""

    cursor: Cursor
    mark: str  #: what was promised


class _Head(msgspec.Struct):
    """All but the place and the bits."""

    recipe: str
    position: int
    tally: tuple[int, int, int, int, int, int, float, float]  #: as `Tally` has them
    memory: dict[str, Any]
    shoal: Literal[1] = 1  #: the version


def pack(cursor: Cursor, mark: str) -> str:
    """Return the text of a cursor; its place is the offset, and is not in it.

    >>> unpack(pack(Cursor(position=7, place=9, done=b"\\x06"), "ab"), 9) == Kept(Cursor(7, 9, b"\\x06"), "ab")
    True
    """
    line = msgspec.json.encode(_Head(mark, cursor.position, astuple(cursor.tally), dict(cursor.memory)))
    return base64.b64encode(zlib.compress(line + b"\n" + cursor.done.rstrip(b"\0"), 9)).decode()


def unpack(text: str, offset: int) -> Kept:
    """Return what a text was made of, with the offset beside which it stood.

    Raises
    ------
    ValueError
        If it is no text of ours.
    """
    try:
        line, _, done = zlib.decompress(base64.b64decode(text, validate=True)).partition(b"\n")
        head = msgspec.json.decode(line, type=_Head)
    except (zlib.error, msgspec.DecodeError) as error:
        raise ValueError("no cursor") from error
    return Kept(Cursor(head.position, offset, done, Tally(*head.tally), head.memory), head.recipe)


def room_for(delay: int) -> int:
    """Return how many characters the text of a cursor can have, for a delay of so many tuples, without a memory.

    The bits are those of the records between the oldest that waits and the newest, of which there are at most `delay`;
    in the worst case nothing of them can be compressed.
    """
    return 4 * -(-(-(-delay // 8) + _BESIDES) // 3)


def checked_delay(delay: int, room: int) -> None:
    """Refuse a delay whose cursors might not fit where the broker keeps them."""
    if room_for(delay) >= room:
        fits = max(8 * ((room - 1) // 4 * 3 - _BESIDES), 0)
        raise ParameterError(
            f"Kafka: delay must be at most {fits:,}, so that what a lane needs to go on fits into the "
            f"{room:,} characters that the broker keeps beside an offset, got {delay:,}. Lower the delay, or raise "
            "offset.metadata.max.bytes of the broker."
        )


def fitting(cursor: Cursor, mark: str, room: int) -> str:
    """Return the text of a cursor, if the broker has room for it."""
    text = pack(cursor, mark)
    if len(text) < room:
        return text
    bare = len(pack(replace(cursor, memory={}), mark))
    raise EngineError(
        f"Kafka: what a lane needs to go on must have fewer than the {room:,} characters that the broker keeps beside "
        f"an offset, got {len(text):,}, of which requirements and learnt fields take {len(text) - bare:,}. Raise "
        "offset.metadata.max.bytes of the broker, lower the delay, give t a reference, or name the fields in keep."
    )


_WIDE = 6


def mark(fingerprint: str, promises: Mapping[str, Any]) -> str:
    """Return a text that is equal for equal promises: the fingerprint, and a short digest of each in turn.

    >>> len(mark("f" * 64, {"k": 5, "delay": 100}))
    76
    """
    return fingerprint + "".join(_digest(name, promises[name]) for name in sorted(promises))


def changed(mine: str, theirs: str, promises: Mapping[str, Any]) -> list[str]:
    """Return which promises differ between two marks, of which the first is of `promises`; empty: not known.

    >>> before = mark("f", {"k": 5, "delay": 100})
    >>> changed(mark("g", now := {"k": 4, "delay": 100}), before, now)
    ['k']
    """
    if len(mine) != len(theirs):
        return []
    names, begin = sorted(promises), len(mine) - _WIDE * len(promises)
    at = {name: slice(begin + _WIDE * i, begin + _WIDE * (i + 1)) for i, name in enumerate(names)}
    return [name for name in names if mine[at[name]] != theirs[at[name]]]


def _digest(name: str, value: Any) -> str:
    canonical = json.dumps([name, value], sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=list)
    return hashlib.sha256(canonical.encode()).hexdigest()[:_WIDE]
