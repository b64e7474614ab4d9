"""Gate of a stream: every class is read back from the bytes about to be released, and audited independently.

It shares no code with what forms, renders or writes classes. It has its own readers for JSON and CSV, and stops the
stream at the first class that breaks a promise; nothing of the step is released then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeError
from shoal.privacy.counting.spelling import person_of
from shoal.privacy.stream_gate.read_back import Reader
from shoal.privacy.stream_gate.released_fields import Digits, refuse_finer, refuse_undeclared
from shoal.types.stream import Leaving


def fewest(sizes: NDArray[np.int64], subjects: Sequence[Any] | NDArray[Any] | None, *, exact: bool = False) -> int:
    """Return the number of subjects of the class with the fewest; members are grouped by class.

    7, 7.0 and "07" are one subject, and so are Ann and ANN, unless `exact`; a tuple without a subject does not count.

    >>> fewest(np.array([3, 2]), None), fewest(np.array([3, 2]), ["a", "b", "a", "a", "c"])
    (2, 2)
    """
    if subjects is None:
        return int(sizes.min())
    if isinstance(subjects, np.ndarray) and subjects.dtype.kind in "iu":
        of = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((subjects, of))
        fresh = np.ones(len(of), np.bool_)
        fresh[1:] = (np.diff(of[order]) != 0) | (subjects[order][1:] != subjects[order][:-1])
        return int(np.bincount(of[order][fresh], minlength=len(sizes)).min())
    names, least, at = [person_of(subject, exact=exact) for subject in subjects], len(subjects), 0
    for size in sizes.tolist():
        least, at = min(least, len(set(names[at : at + size]) - {None})), at + size
    return least


def hold(
    k: int,
    sizes: NDArray[np.int64],
    subjects: Sequence[Any] | NDArray[Any] | None,
    *,
    again: int,
    exact: bool = False,
) -> None:
    """Release classes only if each has k subjects and none of their tuples was released before (as `again` were)."""
    if not len(sizes):
        return
    found = fewest(sizes, subjects, exact=exact)
    if found < k or again:
        what = (
            f"a class of {found} {'subject' if found == 1 else 'subjects'} was formed, but k is {k}"
            if found < k
            else f"{again:,} tuples would be released twice"
        )
        raise GuaranteeError(
            f"StreamAnonymizer: {what}. Nothing was released; this is a bug in shoal, please report it."
        )


class Gate:
    """Check that every class of one lane must pass before it is released.

    Subjects are not released, so they cannot be read back: the caller tells the subject of each tuple, from the
    original record. A tuple without a subject does not count. If no subjects are given, every tuple counts as another
    one.

    **Guarantee.** A class that passes `check` has at least k subjects, one combination of quasi-identifiers, the number
    after the last one, and no field that must be removed. None of its tuples comes from a record that made another
    tuple, of this class or an earlier one. No value is finer than `digits` allows. No field is undeclared.

    >>> from shoal.privacy.stream_gate.read_back import JsonlReader
    >>> gate = Gate(JsonlReader(["age"], ["name"], "class"), k=2)
    >>> gate.check(Leaving(0, [b'{"age":30,"class":0}', b'{"age":30,"class":0}'], [0, 9]), 0)
    >>> gate.check(Leaving(1, [b'{"age":30,"class":1}'], [18]), 1)
    Traceback (most recent call last):
    ...
    shoal.errors.GuaranteeError: The gate: class 1 has 1 subject, but k is 2. Nothing of this step was written.
    """

    def __init__(
        self,
        reader: Reader,
        k: int,
        next_number: int = 0,
        begin: int = 0,
        done: bytes = b"",
        digits: Mapping[str, Digits] | None = None,
        *,
        subject_exact: bool = False,
    ) -> None:
        self._reader = reader
        self.k = k
        self._digits = digits or {}
        self._exact = subject_exact
        self.next_number = next_number
        self._begin = begin  # all records before it are done
        self._left = {begin + at for at in range(8 * len(done)) if done[at >> 3] >> (at & 7) & 1}
        self._most = 1 << 16  # from this many on, outdated ones are dropped

    def check(
        self,
        leaving: Leaving,
        label: int | str,
        subjects: Sequence[Any] | None = None,
        positions: Sequence[int] | None = None,
        records: Sequence[bytes] = (),
        learnt: Collection[str] | None = None,
    ) -> None:
        """Let a class pass; `positions` are the numbers of the records it was made of, by default their places.

        `learnt` are the fields that the stream took from its first tuples, if the recipe does not say what to keep.

        Raises
        ------
        GuaranteeError
            If anything is not as promised; nothing of the step may be released then.
        """
        own = leaving.places if positions is None else positions
        fault = (
            self._fault(leaving, label, subjects) or self._again(leaving, own) or self._same(leaving, records, learnt)
        )
        if fault is not None:
            raise GuaranteeError(f"The gate: class {label} {fault}. Nothing of this step was written.")
        refuse_undeclared(self._reader.undeclared(leaving.tuples, learnt))
        if self._digits:  # all tuples of a class have the same values
            refuse_finer(self._digits, {n: [text] for n, text in self._reader.written(leaving.tuples[0]).items()})
        self.next_number += 1
        self._left.update(own)

    def settle(self, position: int) -> None:
        """Note that no record before `position` may be released any more."""
        self._begin = max(self._begin, position)
        if len(self._left) > self._most:
            self._left = {one for one in self._left if one >= self._begin}
            self._most = max(1 << 16, 2 * len(self._left))

    def fields(self, leaving: Leaving, names: Sequence[str]) -> dict[str, list[Any]]:
        """Return the contents of some fields of a class that passed, read back from its bytes."""
        return self._reader.fields(leaving.tuples, names)

    def _again(self, leaving: Leaving, own: Sequence[int]) -> str | None:
        """Report a record that is released twice: in this class, or after it was released in another or rejected."""
        count = len(leaving.tuples)
        if not len(leaving.places) == len(set(leaving.places)) == len(own) == len(set(own)) == count:
            return "holds two tuples made from one record, or one made from none"
        if min(own, default=self._begin) < self._begin or not self._left.isdisjoint(own):
            return "holds a tuple that was already released"
        return None

    def _same(self, leaving: Leaving, records: Sequence[bytes], learnt: Collection[str] | None) -> str | None:
        """Report tuples that are equal although their records differ: one would be released in place of another."""
        if not records or len(set(leaving.tuples)) == len(leaving.tuples):
            return None
        first: dict[bytes, Any] = {}
        for line, record in zip(leaving.tuples, records, strict=True):
            rest = self._reader.rest(record, learnt)
            if first.setdefault(line, rest) != rest:
                return "holds two tuples made from one record"
        return None

    def _fault(self, leaving: Leaving, label: int | str, subjects: Sequence[Any] | None) -> str | None:
        if leaving.number != self.next_number:
            return f"does not have the next number, {self.next_number:,}"
        concerned = len(leaving.tuples)
        if subjects is not None:
            if len(subjects) != concerned:
                return "does not name the subject of each tuple"
            concerned = len({person_of(subject, exact=self._exact) for subject in subjects} - {None})
        if concerned < self.k:
            return f"has {concerned:,} {'subject' if concerned == 1 else 'subjects'}, but k is {self.k:,}"
        return self._reader.differing(leaving.tuples, label)
