"""Classes and dead letters as messages: a class in one message, or in several of one batch if it is too large."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shoal.errors import EngineError
from shoal.types.stream import Leaving, Letter


class Message(NamedTuple):
    """What is published: a subject, headers and a body."""

    subject: str
    body: bytes
    headers: Mapping[str, str]


class Delivered(NamedTuple):
    """A message of the input."""

    place: int  #: its sequence number in the stream
    record: bytes


class Reply(NamedTuple):
    """What the subject says to which a message is acknowledged.

    >>> Reply.read("$JS.ACK.VISITS.shoal-1f.1.70.12.1700000000.3")
    Reply(consumer='shoal-1f', place=70, number=12, pending=3)
    """

    consumer: str
    place: int
    number: int  #: how many the consumer has delivered
    pending: int

    @classmethod
    def read(cls, reply: str) -> Reply:
        """Take it apart."""
        parts = reply.split(".")
        at = 3 if len(parts) == 9 else 5  # newer servers name the domain and the account too
        return cls(parts[at], int(parts[at + 2]), int(parts[at + 3]), int(parts[at + 5]))


#: Messages of one step: servers take 1,000 in a batch if nobody says otherwise.
MOST = 800


def packed(classes: Sequence[Leaving], subject: str, largest: int, most: int = MOST) -> list[Message]:
    r"""Return messages that hold whole classes, a tuple on each line.

    A message holds one class. In a step of more classes than a batch may have messages it holds several; a class that
    is larger than a message may be is in several that follow each other, and say so.

    >>> packed([Leaving(7, [b"{}", b"{}"], [1, 2])], "safe.classes", 100)
    [Message(subject='safe.classes', body=b'{}\n{}', headers={'Shoal-Class': '7', 'Shoal-Classes': '1'})]
    """
    together = max(1, -(-len(classes) // most))
    found: list[Message] = []
    held: list[Leaving] = []
    size = 0
    for leaving in classes:
        bytes_ = sum(map(len, leaving.tuples)) + len(leaving.tuples)
        if held and (len(held) == together or size + bytes_ > largest):
            found += _messages(held, subject, largest)
            held, size = [], 0
        held.append(leaving)
        size += bytes_
    return found + (_messages(held, subject, largest) if held else [])


def _messages(classes: Sequence[Leaving], subject: str, largest: int) -> list[Message]:
    headers = {"Shoal-Class": str(classes[0].number), "Shoal-Classes": str(len(classes))}
    whole = b"\n".join(line for leaving in classes for line in leaving.tuples)
    if len(whole) <= largest:
        return [Message(subject, whole, headers)]
    bodies = list(_bodies([line for leaving in classes for line in leaving.tuples], largest))
    parts = ({"Shoal-Part": f"{number}/{len(bodies)}"} for number in range(1, len(bodies) + 1))
    return [Message(subject, body, headers | part) for body, part in zip(bodies, parts, strict=True)]


def addressed(letters: Sequence[Letter], subject: str, largest: int, most: int = MOST) -> list[Message]:
    """Return dead letters as messages, one in each or, in a step of many, several on lines.

    A payload that is no text stands in base64; one that is too large for a message is left out.
    """
    together = max(1, -(-len(letters) // most))
    lines = [_line(letter, largest) for letter in letters]
    groups = (lines[at : at + together] for at in range(0, len(lines), together))
    return [Message(subject, body, {}) for group in groups for body in _bodies(group, largest)]


def _line(letter: Letter, largest: int) -> bytes:
    whole = json.dumps(letter.told | letter.enclosed, ensure_ascii=False).encode()
    return whole if len(whole) <= largest else json.dumps(letter.told, ensure_ascii=False).encode()


def _bodies(lines: Iterable[bytes], largest: int) -> Iterator[bytes]:
    """Join lines into bodies that are not too large."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        if len(line) > largest:
            raise EngineError(
                f"NATS: a tuple that leaves must have at most {largest:,} bytes, got {len(line):,}. Raise max_payload "
                "on the server, or leave out fields."
            )
        if held and size + len(line) > largest:
            yield b"\n".join(held)
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield b"\n".join(held)
