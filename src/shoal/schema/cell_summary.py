"""Summaries of text cells, which determine the type that all batches of a column are read as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.schema.cells import (
    LOSSLESS_DIGITS,
    WORDS,
    Moments,
    as_flags,
    digits_in,
    fits,
    misfit_sentence,
    moments_in,
    readable,
    tidy,
    unreadable_rows,
    values,
)
from shoal.schema.conventions import SHARE, Convention, count_conventions, count_negatives, likely, remedy
from shoal.types import Dialect, Kind

_NAMED = 10  # rows in a message
_ANY = Moments()


@dataclass(frozen=True)
class CellSummary:
    """Counts of text cells that determine whether, and as which type, they are read; counts of batches are merged.

    Attributes
    ----------
    rows
        The number of cells.
    odd, others, negatives, odd_rows
        How many do not look like values of the kind, how many of these other conventions read, how many look like
        negative numbers, and the first rows.
    impossible, impossible_rows
        How many look like values but are not valid ones, such as 31 February, and the first rows.
    digits
        The most digits of a number.
    moments, in_nanoseconds
        How dates and times are written, and whether all are within the range of nanoseconds.
    """

    rows: int = 0
    odd: int = 0
    others: Mapping[Convention, int] = field(default_factory=Counter)
    negatives: int = 0
    odd_rows: tuple[int, ...] = ()
    impossible: int = 0
    impossible_rows: tuple[int, ...] = ()
    digits: int = 0
    moments: Moments = _ANY
    in_nanoseconds: bool = True

    @classmethod
    def of(cls, cells: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> CellSummary:
        """Count the cells of a batch."""
        read = tidy(cells, dialect)
        iso = kind is Kind.DATETIME and dialect.datetime is None
        moments = moments_in(read) if iso else Moments()
        fine = iso and pa.types.is_timestamp(moments.type)  # days are in range if they are dates at all
        digits = pc.max(digits_in(read)).as_py() or 0 if kind is Kind.CONTINUOUS else 0
        if readable(read, kind, dialect):
            within = not iso or _casts(read, pa.timestamp("ns", tz=moments.type.tz if fine else None))
            return cls(len(read), digits=digits, moments=moments, in_nanoseconds=within)
        odd = as_flags(pc.invert(fits(read, kind, dialect)))
        misread = read.filter(pa.array(odd))
        mixed = not (moments.zoned or moments.unzoned)
        impossible = [] if odd.any() or mixed else sorted(unreadable_rows(read, kind, dialect))
        return cls(
            len(read),
            int(odd.sum()),
            count_conventions(misread, dialect),
            count_negatives(misread),
            tuple(np.flatnonzero(odd)[:_NAMED].tolist()),
            len(impossible),
            tuple(impossible[:_NAMED]),
            digits,
            moments,
            False,
        )

    def merged(self, after: CellSummary) -> CellSummary:
        """Return the counts of two batches together."""
        return CellSummary(
            self.rows + after.rows,
            self.odd + after.odd,
            Counter(self.others) + Counter(after.others),
            self.negatives + after.negatives,
            (*self.odd_rows, *(self.rows + row for row in after.odd_rows))[:_NAMED],
            self.impossible + after.impossible,
            (*self.impossible_rows, *(self.rows + row for row in after.impossible_rows))[:_NAMED],
            max(self.digits, after.digits),
            self.moments.merged(after.moments),
            self.in_nanoseconds and after.in_nanoseconds,
        )

    @property
    def readable(self) -> bool:
        """Whether all cells read as values of the kind."""
        if self.odd or self.impossible or not (self.moments.zoned or self.moments.unzoned):
            return False
        kind = self.moments.type
        return self.in_nanoseconds or not pa.types.is_timestamp(kind) or kind.unit != "ns"

    def lossless(self, kind: Kind) -> bool:
        """Tell whether values would keep everything in the cells, as `lossless` does for a whole column."""
        if kind not in WORDS or not self.readable:
            return False
        return self.digits <= LOSSLESS_DIGITS and (kind is not Kind.DATETIME or self.moments.unzoned)

    def refusal(self, name: str, kind: Kind, dialect: Dialect) -> str:
        """Return the sentence about cells that do not read as the kind."""
        if self.odd:
            options = remedy(likely(self.others, SHARE * self.odd), dialect)
            return misfit_sentence(name, kind, self.odd, self.rows, self.odd_rows, options, self.negatives)
        return misfit_sentence(name, kind, self.impossible, self.rows, self.impossible_rows, "")


def _casts(read: pa.ChunkedArray, kind: pa.DataType) -> bool:
    try:
        pc.cast(read, kind)
    except pa.ArrowInvalid:
        return False
    return True


def as_type(cells: pa.ChunkedArray, name: str, kind: Kind, dialect: Dialect, summary: CellSummary) -> pa.ChunkedArray:
    """Read the cells of a batch as values of the type that all batches have, if `summary` is about all of them.

    >>> import pyarrow as pa
    >>> days, moments = (pa.chunked_array([cells]) for cells in (["2024-01-31"], ["2024-01-31T08:15"]))
    >>> both = CellSummary.of(days, Kind.DATETIME, Dialect()).merged(CellSummary.of(moments, Kind.DATETIME, Dialect()))
    >>> as_type(days, "born", Kind.DATETIME, Dialect(), both).type
    TimestampType(timestamp[s])
    """
    if kind is not Kind.DATETIME or dialect.datetime is not None:
        return values(cells, name, kind, dialect)
    return pc.cast(tidy(cells, dialect), summary.moments.type)
