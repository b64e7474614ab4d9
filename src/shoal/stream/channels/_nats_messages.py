"""NATS messages: released classes, dead letters, and the state of a lane.

A class is one message, or several in one batch if it is too large. The state is a message in the output stream: the
cursor, and the positions of its records.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from shoal.errors import DataError, EngineError
from shoal.types.stream import Cursor, Leaving, Letter


class Message(NamedTuple):
    """A message to publish: a subject, headers and a body."""

    subject: str
    body: bytes
    headers: Mapping[str, str]


class Delivered(NamedTuple):
    """An input message."""

    place: int  #: its sequence number in the stream
    record: bytes


class Reply(NamedTuple):
    """The fields of a message's acknowledgement subject.

    >>> Reply.read("$JS.ACK.VISITS.shoal-1f.1.70.12.1700000000.3")
    Reply(consumer='shoal-1f', place=70, number=12, pending=3)
    """

    consumer: str
    place: int
    number: int  #: number of messages that the consumer has delivered
    pending: int

    @classmethod
    def read(cls, reply: str) -> Reply:
        """Parse the subject."""
        parts = reply.split(".")
        at = 3 if len(parts) == 9 else 5  # newer servers also name the domain and the account
        return cls(parts[at], int(parts[at + 2]), int(parts[at + 3]), int(parts[at + 5]))


#: Messages per step: servers accept 1,000 in a batch by default.
MOST = 800


def packed(classes: Sequence[Leaving], subject: str, largest: int, most: int = MOST) -> list[Message]:
    r"""Return messages that hold whole classes, one tuple per line.

    A message holds one class. If a step has more classes than a batch may have messages, it holds several; a class that
    exceeds the maximum message size is split over consecutive messages that say so.

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
    """Return dead letters as messages, one each or, in a large step, several on separate lines.

    A payload that is not text is base64-encoded; one that is too large for a message is omitted.
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
                f"NATS: a released tuple must have at most {largest:,} bytes, got {len(line):,}. Raise max_payload "
                "on the server, or leave out fields."
            )
        if held and size + len(line) > largest:
            yield b"\n".join(held)
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield b"\n".join(held)


class Runs:
    """A queue of ascending numbers.

    **Complexity.** All operations except iteration depend on the number of runs, not of numbers.

    >>> queue = Runs([4, 5, 6, 9])
    >>> queue.drop_before(5)
    >>> queue.first(2), len(queue), list(queue)
    ([[5, 2]], 3, [5, 6, 9])
    """

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._runs: deque[list[int]] = deque()  # first number and length of each run
        self._length = 0
        self.extend(numbers)

    @classmethod
    def of(cls, runs: Iterable[Iterable[int]]) -> Runs:
        """Make a queue from runs, as `first` returns them."""
        made = cls()
        for first, count in runs:
            made._runs.append([int(first), int(count)])
            made._length += int(count)
        return made

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        return (first + i for first, count in self._runs for i in range(count))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runs) and self._runs == other._runs

    __hash__ = None  # type: ignore[assignment]  # it is mutable

    @property
    def head(self) -> int:
        """The first number."""
        return self._runs[0][0]

    @property
    def last(self) -> int:
        """The last number."""
        return sum(self._runs[-1]) - 1

    def extend(self, numbers: Iterable[int]) -> None:
        """Append numbers, each larger than all before."""
        runs = self._runs
        end = sum(runs[-1]) if runs else -1
        for number in numbers:
            if number == end:
                runs[-1][1] += 1
            else:
                runs.append([number, 1])
            end = number + 1
            self._length += 1

    def popleft(self) -> int:
        """Remove and return the first number."""
        first = self.head
        self.drop_before(first + 1)
        return first

    def drop_before(self, number: int) -> None:
        """Remove all smaller numbers."""
        while self._runs and self._runs[0][0] < number:
            first, count = self._runs[0]
            gone = min(count, number - first)
            self._length -= gone
            if gone == count:
                self._runs.popleft()
            else:
                self._runs[0] = [first + gone, count - gone]

    def first(self, count: int) -> list[list[int]]:
        """Return the runs of the first `count` numbers, or of all if there are fewer."""
        found: list[list[int]] = []
        for first, length in self._runs:
            if count <= 0:
                break
            found.append([first, min(length, count)])
            count -= length
        return found


_LARGE = 4096  # size in bytes from which it is compressed


class State(msgspec.Struct, frozen=True):
    """The last message on the state subject.

    Attributes
    ----------
    lane
        The stream and subject that are read.
    born
        When the input stream was created: in another stream the sequence numbers denote other records.
    fingerprint, digests
        The promises: a digest of all of them, and a short one of each, to name those that differ.
    step
        Who wrote the state and when: unique per message.
    places
        Sequence numbers of the records from `Cursor.position` on, as far as `Cursor.done` reaches, as `Runs`.
    shoal
        Version of the format; readers refuse an unknown one.
    """

    lane: str
    born: str
    fingerprint: str
    digests: dict[str, str]
    step: str
    cursor: Cursor
    places: list[Annotated[list[int], msgspec.Meta(min_length=2, max_length=2)]] = []
    shoal: Literal[1] = 1

    def written(self) -> bytes:
        """Return the body of a message.

        >>> State.read(State("VISITS", "", "f", {}, "s", Cursor(3, 7, b"\\x02"), [[7, 1], [9, 2]]).written()).places
        [[7, 1], [9, 2]]
        """
        text = msgspec.json.encode(self)
        return zlib.compress(text, 1) if len(text) > _LARGE else text

    @classmethod
    def read(cls, body: bytes) -> State:
        """Parse the body of a message.

        Raises
        ------
        DataError
            If it is not one that `written` returned; the error shows nothing of its content.
        """
        try:
            return msgspec.json.decode(body if body[:1] == b"{" else zlib.decompress(body), type=cls)
        except (ValueError, msgspec.DecodeError, zlib.error):
            raise DataError("State: must be a message that this version of shoal wrote, got another.") from None


def digests(promises: Mapping[str, Any]) -> dict[str, str]:
    """Return a short digest of each promise: enough to identify a change, too short to be read."""
    return {
        name: hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]
        for name, value in promises.items()
    }
