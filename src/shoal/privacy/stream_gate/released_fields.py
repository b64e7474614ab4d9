"""Fields and digits of the released records of a stream, compared with those declared."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import pyarrow as pa

from shoal.errors import GuaranteeError

_PLAIN = frozenset((str, int, float, bool, type(None)))
_SHOWN = 40  # characters of a field's name


@dataclass(frozen=True)
class Declared:
    """Fields that a recipe declares: a released record holds nothing else.

    >>> declared = Declared(["age"], ["user.id"], ["note"], "class")
    >>> declared.odd([("age", False), ("class", False), ("pay", False)], {"pay"})
    >>> declared.odd([("age", False), ("pay", True)], {"pay"}), declared.odd([("user.id", False)], {"user.id"})
    ('pay', 'user.id')
    """

    quasi: Collection[str]
    removed: Collection[str]
    named: Collection[str] | None  #: released unchanged, whatever they hold; None: everything else is
    class_field: str

    @cached_property
    def objects(self) -> frozenset[str]:
        """Return the paths of objects that may contain a declared field."""
        known = {*self.quasi, *self.removed, *(self.named or ())}
        return frozenset(name[:at] for name in known for at in range(len(name)) if name[at] == ".")

    def odd(self, fields: Iterable[tuple[str, bool]], learnt: Collection[str] | None) -> str | None:
        """Return a field that must not be there, or None.

        `fields` are the paths of a record's fields, and whether each holds or is in an object or a list; `learnt` are
        fields that a stream took from its first tuples: single values outside of objects. None: they are unknown, and
        all undeclared fields are odd.
        """
        return next((name for name, nested in fields if not self._allowed(name, nested, learnt)), None)

    def _allowed(self, name: str, nested: bool, learnt: Collection[str] | None) -> bool:
        if name in self.removed:
            return False
        if name in self.quasi or name == self.class_field or self.named is None:
            return True
        above = [name[:at] for at in range(len(name)) if name[at] == "."]
        if name in self.named or any(one in self.named for one in above):
            return True
        return not nested and learnt is not None and name in learnt

    def strange(self, records: Any, learnt: Collection[str]) -> str | None:
        """Return a field of Python records, or of an Arrow table, that must not be there, or None."""
        if not isinstance(records, list):
            return self.odd([(field.name, pa.types.is_nested(field.type)) for field in records.schema], learnt)
        known = frozenset((*self.quasi, *(self.named or ()), *learnt)).difference(self.removed)
        plain = all(known.issuperset(names) for names in set(map(tuple, records)))
        for name in learnt if plain else ():
            plain = plain and _PLAIN.issuperset({type(record.get(name)) for record in records})
        if plain:  # quick check
            return None
        found = (self.odd(self.paths(record), learnt) for record in records)
        return next((name for name in found if name is not None), None)

    def paths(self, given: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, bool]]:
        """Yield the fields of a Python record: paths, and whether each holds or is in an object or a list."""
        for key, value in given.items():
            name = f"{above}{key}"
            if isinstance(value, Mapping) and name in self.objects:
                yield from self.paths(value, f"{name}.")
            else:
                yield name, bool(above) or isinstance(value, (Mapping, list, tuple, set))


def refuse_undeclared(name: str | None) -> None:
    """Refuse records with an undeclared field.

    Raises
    ------
    GuaranteeError
        If there is one; nothing of the step may be released then.
    """
    if name is not None:
        raise GuaranteeError(
            f"The gate: a record holds the field {name[:_SHOWN]!r}, which was not declared. Nothing of this step was "
            "written."
        )


_WHOLE = re.compile(r"-?[0-9]+")
_UNITS = ("year", "month", "day", "hour", "minute", "second")
_LEAST = {"month": 1, "day": 1}  # values of the parts of a date or time below its unit; the others are 0


@dataclass(frozen=True, slots=True)
class Digits:
    """Allowed precision of the released values of one field: multiples of a step, or of a unit of time.

    A value is judged by its text, as JSON and CSV have it.

    >>> tenths, months = Digits(step=0.1), Digits(unit="month", dates=True)
    >>> [tenths.hold(text) for text in ("0.3", "-7.0", "0.30000000000000004", "x")]
    [True, True, False, False]
    >>> [months.hold(text) for text in ("2024-03-01", "2024-03-02", "2024-03-01T00:00:00")]
    [True, False, False]
    """

    step: float | None = None
    whole: bool = False  #: written as integers, without a point
    unit: str = ""
    dates: bool = False  #: written as dates, without a time

    def hold(self, text: str) -> bool:
        """Tell whether a value is no finer than allowed."""
        if self.step is None:
            return self._holds_moment(text)
        if self.whole and not _WHOLE.fullmatch(text):
            return False
        if self.step == 1 and self.whole:
            return True
        try:
            return Decimal(text) % Decimal(str(self.step)) == 0
        except InvalidOperation:
            return False

    def _holds_moment(self, text: str) -> bool:
        try:
            found = dt.datetime.fromisoformat(text)
        except ValueError:
            return False
        if self.dates and len(text) != len("2024-01-01"):
            return False
        below = _UNITS[_UNITS.index(self.unit) + 1 :] if self.unit else ()
        return not (self.unit and found.microsecond) and all(
            getattr(found, part) == _LEAST.get(part, 0) for part in below
        )


def refuse_finer(digits: Mapping[str, Digits], released: Mapping[str, Iterable[str]]) -> None:
    """Refuse released values that are finer than allowed; `released` holds the texts of each field.

    Raises
    ------
    GuaranteeError
        If one is; nothing of the step may be released then.
    """
    for name, one in digits.items():
        if not all(map(one.hold, released[name])):
            raise GuaranteeError(
                f"The gate: {name!r} has more digits than its resolution allows. Nothing of this step was written."
            )
