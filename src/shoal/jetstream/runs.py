"""Ascending numbers as runs: of a stream that is read whole a million of them are one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator


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
