"""What a lane must know to go on, as one message of the output stream: the cursor, and where its records are."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec

from shoal.errors import DataError
from shoal.types.stream import Cursor


class Runs:
    """A queue of ascending numbers.

    **Complexity.** All operations but iteration are in the number of runs, not of numbers.

    >>> queue = Runs([4, 5, 6, 9])
    >>> queue.drop_before(5)
    >>> queue.first(2), len(queue), list(queue)
    ([[5, 2]], 3, [5, 6, 9])
    """

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._runs: deque[list[int]] = deque()  # of each run the first number and the count
        self._length = 0
        self.extend(numbers)

    @classmethod
    def of(cls, runs: Iterable[Iterable[int]]) -> Runs:
        """Make a queue of runs, as `first` returns them."""
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

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def head(self) -> int:
        """The first number there is."""
        return self._runs[0][0]

    @property
    def last(self) -> int:
        """The last number there is."""
        return sum(self._runs[-1]) - 1

    def extend(self, numbers: Iterable[int]) -> None:
        """Let numbers come that are larger than all before."""
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
        """Take the first number."""
        first = self.head
        self.drop_before(first + 1)
        return first

    def drop_before(self, number: int) -> None:
        """Let go of all that are smaller."""
        while self._runs and self._runs[0][0] < number:
            first, count = self._runs[0]
            gone = min(count, number - first)
            self._length -= gone
            if gone == count:
                self._runs.popleft()
            else:
                self._runs[0] = [first + gone, count - gone]

    def first(self, count: int) -> list[list[int]]:
        """Return the runs of so many numbers from the first on, or of all if there are fewer."""
        found: list[list[int]] = []
        for first, length in self._runs:
            if count <= 0:
                break
            found.append([first, min(length, count)])
            count -= length
        return found


_LARGE = 4096  # from so many bytes on it is packed


class State(msgspec.Struct, frozen=True):
    """What the last message of the subject of states says.

    Attributes
    ----------
    lane
        The stream and the subject that are read.
    born
        When the input stream was made: sequence numbers of another one mean other records.
    fingerprint, digests
        What was promised: a digest of all of it, and a short one of each part, to say which part is another.
    step
        Who wrote it and when: no two messages have the same.
    places
        Sequence numbers of the records from `Cursor.position` on, as far as `Cursor.done` reaches, as `Runs`.
    shoal
        The form of the message; a reader that does not know it refuses.
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
        """Return it as the body of a message.

        >>> State.read(State("VISITS", "", "f", {}, "s", Cursor(3, 7, b"\\x02"), [[7, 1], [9, 2]]).written()).places
        [[7, 1], [9, 2]]
        """
        text = msgspec.json.encode(self)
        return zlib.compress(text, 1) if len(text) > _LARGE else text

    @classmethod
    def read(cls, body: bytes) -> State:
        """Read the body of a message.

        Raises
        ------
        DataError
            If it is not one that `written` returned; the message says nothing of its content.
        """
        try:
            return msgspec.json.decode(body if body[:1] == b"{" else zlib.decompress(body), type=cls)
        except (ValueError, msgspec.DecodeError, zlib.error):
            raise DataError("State: must be a message that this version of shoal wrote, got another.") from None


def digests(promises: Mapping[str, Any]) -> dict[str, str]:
    """Return a short digest of each promise: enough to say which one is another, too little to be read."""
    return {
        name: hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]
        for name, value in promises.items()
    }
