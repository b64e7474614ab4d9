"""Attacks on a release: the case that an attacker works on, and the outcome of an attempt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.display.card import Card, Shown
from shoal.types.table import Role, Table, in_one_piece

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from shoal.types.sample import SampleSize

SUCCEEDED = "succeeded"
WITHSTOOD = "withstood"
NOT_RUN = "not_run"

_DEVIATIONS = 4.0  # binomial standard deviations above guessing


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attack on a release, compared with guessing.

    Attributes
    ----------
    attack
        Registry key of the attack.
    records
        Number of records that were attacked.
    learnt
        Number of records about which the attacker is right.
    baseline
        The same number for the best guess without the thing that is attacked.
    verdict
        ``succeeded``, ``withstood`` or ``not_run``.
    sentence
        What the attacker learns, or why the attack was not run; never a value of a cell.
    """

    attack: str
    records: int
    learnt: int
    baseline: float
    verdict: str
    sentence: str

    @classmethod
    def of(cls, attack: str, records: int, learnt: int, baseline: float, what: str) -> Attempt:
        """Return an attempt with its verdict; `what` completes "An attacker learns …".

        It succeeded if the attacker is right about more records than by guessing: more by at least one record, and by
        more than 4 binomial standard deviations.

        >>> Attempt.of("linkage", 100, 60, 20.0, "which record belongs to a person").verdict
        'succeeded'
        >>> Attempt.of("linkage", 100, 35, 20.0, "which record belongs to a person").verdict
        'withstood'
        """
        share = min(max(baseline / records, 0.0), 1.0) if records else 0.0
        margin = _DEVIATIONS * math.sqrt(records * share * (1.0 - share))
        succeeded = learnt - baseline > margin and learnt - baseline >= 1.0
        said = f"An attacker learns {what} for {learnt:,} of {records:,} records; guessing gives {_rounded(baseline)}."
        return cls(attack, records, learnt, baseline, SUCCEEDED if succeeded else WITHSTOOD, said)

    @classmethod
    def not_run(cls, attack: str, reason: str) -> Attempt:
        """Return an attempt that was not made, with the reason as a sentence."""
        return cls(attack, 0, 0, 0.0, NOT_RUN, reason)

    @classmethod
    def worst(cls, attempts: Iterable[Attempt]) -> Attempt:
        """Return the attempt that gains most over guessing, a successful one first; there must be at least one."""
        return max(attempts, key=lambda one: (one.succeeded, one.verdict != NOT_RUN, one.learnt - one.baseline))

    @property
    def succeeded(self) -> bool:
        """Whether the attacker learns more than guessing would."""
        return self.verdict == SUCCEEDED

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as plain values, as in the JSON of ``shoal attack``."""
        return {
            "attack": self.attack,
            "records": self.records,
            "learnt": self.learnt,
            "baseline": round(self.baseline, 3),
            "verdict": self.verdict,
            "reason" if self.verdict == NOT_RUN else "sentence": self.sentence,
        }


def _rounded(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 or count == round(count) else f"{count:,.2g}"


@dataclass(frozen=True, repr=False)
class Attempts(Shown):
    """All attacks on a release."""

    attempts: tuple[Attempt, ...]
    sample: SampleSize | None = None  #: of the records that were attacked; None: all

    def _card(self) -> Card:
        from shoal.types.cards import attempts_card

        return attempts_card(self)

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self.attempts)

    def __len__(self) -> int:
        return len(self.attempts)

    def __getitem__(self, attack: str) -> Attempt:
        return {one.attack: one for one in self.attempts}[attack]

    @property
    def succeeded(self) -> tuple[Attempt, ...]:
        """The attacks that succeeded."""
        return tuple(one for one in self.attempts if one.succeeded)

    def __repr__(self) -> str:
        width = max((len(one.attack) for one in self.attempts), default=0)
        return "\n".join(f"{one.attack:{width}}  {one.verdict:9}  {one.sentence}" for one in self.attempts)

    def to_dict(self) -> dict[str, Any]:
        """Return the attempts as plain values, as in the JSON of ``shoal attack``."""
        stated = {} if self.sample is None else {"sample": self.sample.to_dict()}
        return {"attacks": [one.to_dict() for one in self.attempts], **stated}


class AllRecords(NamedTuple):
    """All records of a case whose tables are a sample of whole classes.

    Attributes
    ----------
    records
        Their number.
    original, released
        Both tables in batches, in any order.
    occurrences
        Returns for each released record of the sample how many released records have the same cells in some columns.
    """

    records: int
    original: Callable[[], Iterable[pa.Table]]
    released: Callable[[], Iterable[pa.Table]]
    occurrences: Callable[[Sequence[str]], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Case:
    """Material of an attack: the original, against which guesses are checked, and everything that was released.

    Text cells are parsed: numbers and dates are Arrow's numbers and dates, by the kind of their column.

    Attributes
    ----------
    original
        The original table, with the roles of its columns.
    released
        The released tables as they were read back from their files: one, or two that share a class column.
    recipe
        The known fields of the recipe, as plain values.
    rows
        For each released row the number of its row in the original, from 0; None: not known.
    why_no_rows
        If `rows` is None: the reason, as a sentence.
    earlier
        An earlier release of the same people, if one was given.
    earlier_rows
        For each of its rows the number of its row in the original; None: not known.
    evidence
        The evidence as plain values; None: none was given.
    notes
        Texts that the released files hold in addition to their tables, such as labels and properties.
    replay
        Forms the classes of a table as the run did, and returns the class of each row; with ``atoms=True`` its atom.
        None: the recipe is not known.
    everything
        All records, if the tables are a sample of whole classes; None: the tables have all records.
    """

    original: Table
    released: tuple[Table, ...]
    recipe: Mapping[str, Any] = field(default_factory=dict)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    why_no_rows: str = ""
    earlier: Table | None = None
    earlier_rows: NDArray[np.int64] | None = field(default=None, repr=False)
    evidence: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = field(default=(), repr=False)
    replay: Callable[..., NDArray[np.int64]] | None = field(default=None, repr=False)
    everything: AllRecords | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def table(self) -> Table:
        """The first released table."""
        return self.released[0]

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers that were released in the first table."""
        return tuple(name for name in self.original.schema.names(Role.QUASI) if name in self.table.data.column_names)

    @property
    def confidential(self) -> tuple[str, ...]:
        """The confidential columns that were released."""
        there = {name for table in self.released for name in table.data.column_names}
        return tuple(name for name in self.original.schema.names(Role.CONFIDENTIAL) if name in there)

    @property
    def weight(self) -> str | None:
        """The released column of weights; None if no weights are released."""
        names = self.original.schema.names(Role.WEIGHT)
        return next((name for name in names if name in self.table.data.column_names), None)

    @property
    def link(self) -> str | None:
        """The column that shows a row's class in both tables; None if there is one table."""
        if len(self.released) == 1:
            return None
        first, second = (table.data.column_names for table in self.released[:2])
        return next((name for name in first if name in second and name not in self.original.data.column_names), None)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class of each row of the first table: records that are equal in all released quasi-identifiers."""
        return self.classes_in(self.table)

    def classes_in(self, table: Table) -> NDArray[np.int64]:
        """Return the class of each row of a released table, as anybody sees it: numbers from 0."""
        names = self.quasi if self.link is None else (self.link,)
        return joined([codes(table.data.column(name)) for name in names if name in table.data.column_names], len(table))

    def table_with(self, name: str) -> Table:
        """Return the released table that has a column."""
        return next(table for table in self.released if name in table.data.column_names)

    @cached_property
    def truth(self) -> Table | None:
        """The original records in the order of the first released table; None if that is not known."""
        if self.rows is None:
            return None
        same = len(self.rows) == len(self.original) and bool((self.rows[1:] > self.rows[:-1]).all())
        return self.original if same else self.original.rows(self.rows)


def codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a number from 0 for each distinct value of a column; a missing value is a value.

    >>> import pyarrow as pa
    >>> codes(pa.chunked_array([["b", None, "b"]])).tolist()
    [0, 1, 0]
    """
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        encoded = in_one_piece(column).dictionary_encode(null_encoding="encode")
    except pa.ArrowException:  # lists and structures
        texts = pa.array([repr(value) for value in column.to_pylist()], pa.large_string())
        encoded = texts.dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def joined(columns: Iterable[NDArray[np.int64]], n: int) -> NDArray[np.int64]:
    """Number n records from 0 by several codes; records that are equal in all share a number.

    >>> import numpy as np
    >>> joined([np.array([0, 1, 0]), np.array([4, 4, 5])], 3).tolist()
    [0, 2, 1]
    """
    import numpy as np

    found = np.zeros(n, np.int64)
    for column in columns:
        keys = found * (int(column.max(initial=0)) + 1) + column
        found = np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found


def numbers(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Return a column of numbers or dates as floats, NaN for missing values; None for any other column.

    >>> import pyarrow as pa
    >>> numbers(pa.chunked_array([[1, None]])).tolist(), numbers(pa.chunked_array([["a"]]))
    ([1.0, nan], None)
    """
    import numpy as np
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_date(kind) or types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False).cast(pa.int64())
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        return None
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
