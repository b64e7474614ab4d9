"""Recoding of a column, as a recipe declares it: limits, intervals, groups, or a level of its taxonomy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import pairwise
from typing import Annotated, Any

from shoal.parameters import Checked, Param, shown, unknown
from shoal.recipe.contents import is_real
from shoal.types import called

Limit = float | str
_DATED = "a number, or a date such as 1940-01-01"
_LIMIT = f"{_DATED}, or an ordered category"


@dataclass(frozen=True, kw_only=True)
class Recode(Checked):
    """Rule that recodes the values of one column, independent of the data.

    >>> Recode(breaks=(0, 1000, 5000)).limits
    (0, 5000)
    """

    top: Annotated[Limit | None, Param("Upper limit; replaces values above it", words=_LIMIT, example="90")] = None
    bottom: Annotated[Limit | None, Param("Lower limit; replaces values below it", words=_LIMIT, example="15")] = None
    top_as: Annotated[Limit | None, Param(
        "Value in place of those above the limit, e.g. their known mean", words=_DATED, example="95",
    )] = None  # fmt: skip
    bottom_as: Annotated[Limit | None, Param(
        "Value in place of those below the limit", words=_DATED, example="12",
    )] = None  # fmt: skip
    interval: Annotated[Limit | None, Param(
        "Width of intervals, from 0 on, or of dates year, month …; their middles are released", example="500",
    )] = None  # fmt: skip
    breaks: Annotated[tuple[Limit, ...], Param(
        "Ends of intervals in ascending order; the middle of each is released", words="a list of limits",
        example="[0, 1000, 5000]",
    )] = ()  # fmt: skip
    level: Annotated[int | None, Param(
        "Taxonomy level whose groups are released; 1: just above the values", low=1, example="1",
    )] = None  # fmt: skip
    groups: Annotated[Mapping[str, Sequence[Any]], Param(
        "Neighbouring categories to merge; one of them names the group", example='{ M = ["S", "M"] }',
    )] = field(default_factory=dict)  # fmt: skip

    @property
    def limits(self) -> tuple[Limit | None, Limit | None]:
        """The lowest and the highest value that are not moved to a limit; those of breaks are its ends."""
        return (self.breaks[0], self.breaks[-1]) if self.breaks else (self.bottom, self.top)


def recode_of(given: Mapping[str, Any]) -> Recode:
    """Return the recoding that a checked table of a recipe declares."""
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
    return Recode(**values)


def recodes(_: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Check the recodings of a recipe, column by column."""
    for name, given in table.items():
        what = f"the recode of {name!r}"
        if not isinstance(given, Mapping) or not given:
            yield f"{what} must be a table such as {{top = 90}}, got {shown(given)}."
            continue
        known = tuple(Recode.__dataclass_fields__)
        faults = [unknown("recode", "name", one, known).removeprefix("recode: ") for one in given if one not in known]
        yield from (f"{what}: {fault}" for fault in faults) if faults else _faults(what, given)


def _faults(what: str, given: Mapping[str, Any]) -> Iterator[str]:
    from shoal.types import UNITS

    limits = {name: given[name] for name in ("top", "bottom", "top_as", "bottom_as") if name in given}
    ends = list(given.get("breaks", ()))
    for name, limit in limits.items():
        named = name in ("top", "bottom") and isinstance(limit, str) and limit != ""
        if not named and not _is_limit(limit):
            yield f"{what}: {name} must be {_DATED if name.endswith('_as') else _LIMIT}, got {shown(limit)}."
    if "breaks" in given and (len(ends) < 2 or not all(map(_is_limit, ends)) or not _ascending(ends)):
        yield f"{what}: breaks must be two or more limits in ascending order, got {shown(given['breaks'])}."
    if (
        "interval" in given
        and given["interval"] not in UNITS
        and not (is_real(given["interval"]) and given["interval"] > 0)
    ):
        yield f"{what}: interval must be a number > 0, or for dates one of {', '.join(UNITS)}; got something else."
    if "level" in given and (type(given["level"]) is not int or given["level"] < 1):
        yield f"{what}: level must be an integer ≥ 1, got {shown(given['level'])}."
    if "level" in given and len(given) > 1:
        yield f"{what}: level is for categories, and the other names are for numbers and dates. Leave out one."
    if "groups" in given:
        yield from _of_groups(what, given)
    yield from _conflicts(what, given, limits)


def _of_groups(what: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Check groups of ordered categories, each named after one of its categories."""
    groups = given["groups"]
    if len(given) > 1:
        yield f"{what}: groups are for ordered categories, without other names. Leave out one."
    if not isinstance(groups, Mapping) or not groups or not all(_is_group(*pair) for pair in groups.items()):
        yield (
            f"{what}: groups must be a table of lists of two or more categories, each named after one of them, such "
            'as { M = ["S", "M"] }; got something else.'
        )
        return
    every = [called(one) for some in groups.values() for one in some]
    if len(set(every)) < len(every):
        yield f"{what}: groups must name each category once, got {len(every) - len(set(every)):,} again. Remove them."


def _is_group(name: str, some: Any) -> bool:
    return isinstance(some, (list, tuple)) and len(some) > 1 and name in map(called, some)


def _conflicts(what: str, given: Mapping[str, Any], limits: Mapping[str, Any]) -> Iterator[str]:
    if "breaks" in given and {"interval", "top", "bottom"} & given.keys():
        yield f"{what}: breaks set intervals and limits. Leave out interval, top and bottom."
    for name in ("top", "bottom"):
        if f"{name}_as" in given and name not in given and "breaks" not in given:
            yield f"{what}: {name}_as needs {name}, got none. Give the limit."
    names = [one for one in limits.values() if isinstance(one, str) and moment_of(one) is None]
    if not names and {"top", "bottom"} <= limits.keys() and not _ascending([limits["bottom"], limits["top"]]):
        yield f"{what}: bottom must be below top. Exchange them."


def _is_limit(value: Any) -> bool:
    """Tell whether a value is a finite number or a date or time in ISO 8601."""
    if is_real(value) or isinstance(value, (date, datetime)):
        return True
    return isinstance(value, str) and moment_of(value) is not None


def moment_of(text: str) -> datetime | None:
    """Read a date or time in ISO 8601; None if the text is neither.

    >>> moment_of("1940-01-01"), moment_of("soon")
    (datetime.datetime(1940, 1, 1, 0, 0), None)
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _ascending(ends: list[Any]) -> bool:
    """Tell whether limits of one type ascend."""
    if all(map(is_real, ends)):
        return all(math.isfinite(float(b) - float(a)) and a < b for a, b in pairwise(ends))
    moments = [moment_of(end if isinstance(end, str) else end.isoformat()) for end in ends if not is_real(end)]
    if len(moments) < len(ends) or None in moments:
        return False
    try:
        return all(a < b for a, b in pairwise(moments))  # type: ignore[operator]
    except TypeError:  # only one of the two has a time zone
        return False
