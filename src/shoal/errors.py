"""Errors that shoal raises, by cause.

::

    ShoalError
    ├── ParameterError   what was asked for cannot be (an option, a parameter, an output path)   exit code 2
    ├── SchemaError      the columns are not what the caller says they are                        exit code 3
    ├── DataError        the values do not fit what was asked for                                 exit code 3
    ├── GuaranteeError   the audit did not find what was promised; nothing was written            exit code 4
    └── EngineError      a disk, an engine or a broker failed                                     exit code 5

A message is one sentence that names the owner, the field, what is allowed, what was received, and the remedy. It holds
column names, row numbers and counts, never a cell's value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_kept: ContextVar[Any] = ContextVar("shoal_rows_kept", default=None)


class ShoalError(Exception):
    """The root of all errors that a user of shoal can cause or encounter."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.sentences: tuple[str, ...] = (message,)  #: the faults, one by one


class ParameterError(ShoalError):
    """An invalid request: an option, a parameter, an output path."""

    exit_code = 2


class SchemaError(ShoalError):
    """The columns are not what the caller says they are."""

    exit_code = 3


class DataError(ShoalError):
    """The values do not fit the request."""

    exit_code = 3


class GuaranteeError(ShoalError):
    """The independent audit did not find what was promised; nothing was written."""

    exit_code = 4


class EngineError(ShoalError):
    """A disk, an engine or a broker failed."""

    exit_code = 5


def listing(items: Sequence[object], *, most: int = 10) -> str:
    """Return the first few items in words, and how many more there are.

    >>> listing([3, 7, 9], most=2)
    '3, 7 and 1 more'
    """
    shown = ", ".join(str(item) for item in items[:most])
    hidden = len(items) - most
    return f"{shown} and {hidden:,} more" if hidden > 0 else shown


class Nowhere:
    """For `rows_kept`, the class itself: the rows of a table that has no order, such as one of Spark."""


def data_rows(positions: Sequence[int]) -> str:
    """Return rows in words, counted from 1 below the header.

    >>> data_rows([0]), data_rows([3, 8])
    ('data row 1', 'data rows 4, 9')
    """
    kept = _kept.get()
    if kept is Nowhere:
        return f"{len(positions):,} row{'s' if len(positions) > 1 else ''}"
    numbers = sorted((position if kept is None else int(kept[position])) + 1 for position in positions)
    return f"data row{'s' if len(positions) > 1 else ''} {listing(numbers)}"


@contextmanager
def rows_kept(positions: Any) -> Iterator[None]:
    """Make row numbers inside the block refer to these rows of the user's table; None: all of them.

    With `Nowhere`, rows have no numbers and are only counted.

    >>> with rows_kept([4, 1]):
    ...     data_rows([0, 1])
    'data rows 2, 5'
    """
    token = _kept.set(positions)
    try:
        yield
    finally:
        _kept.reset(token)


def raise_all(kind: type[ShoalError], faults: Sequence[str]) -> None:
    """Raise one error that holds every fault; do nothing if the list is empty."""
    if faults:
        error = kind(faults[0] if len(faults) == 1 else "\n".join(f"- {fault}" for fault in faults))
        error.sentences = tuple(faults)
        raise error


def raise_together(errors: Sequence[ShoalError]) -> None:
    """Raise errors as one, of the kind that must be corrected first; do nothing if there is no error.

    >>> raise_together([DataError("a is empty."), ParameterError("k is 1.")])
    Traceback (most recent call last):
    shoal.errors.ParameterError: - k is 1.
    - a is empty.
    """
    kinds = (ParameterError, SchemaError, DataError)
    ordered = sorted(errors, key=lambda one: kinds.index(type(one)) if type(one) in kinds else len(kinds))
    if ordered:
        raise_all(type(ordered[0]), list(dict.fromkeys(said for one in ordered for said in one.sentences)))
