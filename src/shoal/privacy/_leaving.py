"""The gate of a stream: every class is read back from the bytes that are about to leave, and audited by itself.

It shares nothing with what forms, renders or writes classes. It reads JSON and CSV by itself, and stops the stream at
the first class that is not what was promised; nothing of the step leaves then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import GuaranteeError
from shoal.privacy._read_back import Reader
from shoal.types.stream import Leaving


class Gate:
    """What every class of one lane passes before it leaves.

    Subjects do not leave, so they cannot be read back: whoever drives the stream says whom each tuple is about, from
    the record that came. A tuple about nobody counts for nothing. Without subjects every tuple is another one.

    **Guarantee.** A class that `check` lets pass concerns at least k subjects, has one combination of
    quasi-identifiers, the number after the last one, and no field that must not leave. None of its tuples is made of a
    record that made another, of this class or of one before.

    >>> from shoal.privacy._read_back import JsonlReader
    >>> gate = Gate(JsonlReader(["age"], ["name"], "class"), k=2)
    >>> gate.check(Leaving(0, [b'{"age":30,"class":0}', b'{"age":30,"class":0}'], [0, 9]), 0)
    >>> gate.check(Leaving(1, [b'{"age":30,"class":1}'], [18]), 1)
    Traceback (most recent call last):
    ...
    shoal.errors.GuaranteeError: The gate: class 1 concerns 1 subjects, and k is 2. Nothing of this step was written.
    """

    def __init__(self, reader: Reader, k: int, next_number: int = 0, begin: int = 0) -> None:
        self._reader = reader
        self.k = k
        self.next_number = next_number
        self._begin = begin  # all records before it are done
        self._left: set[int] = set()  # places of records from there on that left
        self._most = 1 << 16  # from so many on those that are over are let go

    def check(self, leaving: Leaving, label: int | str, subjects: Sequence[Any] | None = None) -> None:
        """Let a class pass.

        Raises
        ------
        GuaranteeError
            If anything is not as promised; nothing of the step may leave then.
        """
        fault = self._fault(leaving, label, subjects)
        if fault is not None:
            raise GuaranteeError(f"The gate: class {label} {fault}. Nothing of this step was written.")
        self.next_number += 1
        self._left.update(leaving.places)

    def settle(self, place: int) -> None:
        """Take note that nothing from before a place may leave any more."""
        self._begin = max(self._begin, place)
        if len(self._left) > self._most:
            self._left = {one for one in self._left if one >= self._begin}
            self._most = max(1 << 16, 2 * len(self._left))

    def fields(self, leaving: Leaving, names: Sequence[str]) -> dict[str, list[Any]]:
        """Return what some fields of a class hold that passed, read back from its bytes."""
        return self._reader.fields(leaving.tuples, names)

    def _fault(self, leaving: Leaving, label: int | str, subjects: Sequence[Any] | None) -> str | None:
        if leaving.number != self.next_number:
            return f"has not the number that follows, {self.next_number:,}"
        places, concerned = leaving.places, len(leaving.tuples)
        if len(places) != concerned or len(set(places)) != concerned:
            return "holds two tuples that were made of one record"
        if min(places, default=0) < self._begin or not self._left.isdisjoint(places):
            return "holds a tuple that left already"
        if subjects is not None:
            if len(subjects) != concerned:
                return "does not say whom each tuple is about"
            concerned = len({_who(subject) for subject in subjects} - {None})
        if concerned < self.k:
            return f"concerns {concerned:,} subjects, and k is {self.k:,}"
        return self._reader.differing(leaving.tuples, label)


def _who(subject: Any) -> Any:
    """Return what tells subjects apart: 7, 7.0 and "7" are one."""
    if subject is None or subject != subject:  # noqa: PLR0124  NaN
        return None
    if type(subject) is int:
        return subject
    text = str(int(subject)) if isinstance(subject, float) and subject.is_integer() else str(subject).strip()
    return (int(text) if text.lstrip("-").isdecimal() and len(text) < 1000 else text) if text else None
