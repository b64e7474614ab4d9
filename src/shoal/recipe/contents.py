"""Checks of the contents of a recipe's lists and tables; each function yields a sentence per wrong entry.

A check takes the name of the field and its value, and is part of the field's declaration.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

from shoal.parameters import not_known, shown, unknown


def is_real(value: Any) -> bool:
    """Tell whether a value is a finite number."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:  # an integer beyond the range of floats
        return False


def kinds(noun: str, _: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Check kinds by column or field, as the noun says."""
    from shoal.types import Kind

    known = [kind.value for kind in Kind]
    for name, kind in table.items():
        if kind not in known:
            yield unknown(f"{noun} {name!r}", "kind", kind, known)


def steerings(_: str, given: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Check that every artificial attribute has a known steering."""
    from shoal import registry

    keys = registry.keys("steer")
    for one in given:
        if one.get("by") not in keys:
            yield not_known("steering (by)", one.get("by"), keys)


def weights(_: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Check weights of attributes."""
    for name, weight in table.items():
        if not is_real(weight) or not 0 <= float(weight) <= 1e6:
            yield f"the weight of attribute {name!r} must be a number ≥ 0 and ≤ 1e6, got {shown(weight)}."


def categories(field: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Check lists of categories."""
    for name, given in table.items():
        if not isinstance(given, (list, tuple)) or not given:
            yield f"the {field} of {name!r} must be a list of its categories, got {shown(given)}."


def order(_: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Check orders of categories."""
    yield from categories("order", table)
    for name, given in table.items():
        if isinstance(given, (list, tuple)) and not are_values(given):
            yield f"the order of {name!r} must hold categories only, got one that is a list, a table or missing."


def are_values(given: Sequence[Any]) -> bool:
    """Tell whether a list holds single values only."""
    return not any(one is None or isinstance(one, (Mapping, list, tuple)) for one in given)


_SECONDS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}


def seconds_in(given: Any) -> float | None:
    """Return a duration in seconds; None if it cannot be read as one.

    >>> seconds_in(60), seconds_in("1.5 min"), seconds_in("2h"), seconds_in("soon")
    (60.0, 90.0, 7200.0, None)
    """
    if is_real(given):
        return float(given) if given > 0 else None
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(s|min|h|)\s*", given) if isinstance(given, str) else None
    return float(found[1]) * _SECONDS[found[2]] or None if found else None


def time(field: str, given: Any) -> Iterator[str]:
    """Check a time."""
    if given is not None and seconds_in(given) is None:
        yield (
            f"{field} must be a number of seconds > 0, or a time such as 60s, 5min or 2h, got {shown(given)}. Correct "
            "it, or leave it out."
        )


def budget(_: str, epsilon: Any) -> Iterator[str]:
    """Check ε: a number, or one per column."""
    parts = epsilon if isinstance(epsilon, Mapping) else {} if epsilon is None else {None: epsilon}
    for name, part in parts.items():
        if not is_real(part) or part <= 0:
            remedy = "Raise epsilon." if is_real(part) else "Give a finite one, such as 1."
            what = "epsilon" if name is None else f"epsilon of {name!r}"
            yield f"{what} must be a number > 0, got {shown(part)}. {remedy}"


def ends(_: str, bounds: Any) -> Iterator[str]:
    """Check the bounds that noise is scaled by; a certain text takes them from the data."""
    from shoal.types import FROM_THE_DATA

    if isinstance(bounds, str):
        if bounds != FROM_THE_DATA:
            yield (
                "bounds must be a table of columns and their two ends, got text. Bounds from the data reveal its "
                f"extremes; to use them nevertheless, set bounds = {FROM_THE_DATA!r}."
            )
        return
    for name, pair in bounds.items():
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(map(is_real, pair)):
            yield (
                f"the bounds of {name!r} must be two finite numbers, the lower first, got something else. "
                f"Write [low, high]."
            )
        elif not pair[0] < pair[1] or not math.isfinite(float(pair[1]) - float(pair[0])):
            yield (
                f"the bounds of {name!r} must be the lower end and then the upper end, a finite width apart, got "
                f"{shown(pair[0])} and {shown(pair[1])}. Correct them."
            )


def steps(_: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Check steps of released values: numbers, or units of dates."""
    from shoal.types import UNITS

    for name, step in table.items():
        if not (is_real(step) and step > 0) and step not in UNITS:
            yield (
                f"the resolution of {name!r} must be a number > 0, or for dates one of {', '.join(UNITS)}; "
                f"got {shown(step)}."
            )


def not_empty(field: str, given: str | Sequence[str] | None, noun: str = "field") -> Iterator[str]:
    """Check that no name of a column or field is empty: it would be taken for none, and k count rows."""
    if given == "" or (given is not None and "" in tuple(given)):
        yield f"{field} must hold {noun} names, got an empty one. Remove it."


def two_values(_: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Check that every entry has two ends; their type depends on the kind of the field."""
    for name, given in table.items():
        if not isinstance(given, (list, tuple)) or len(given) != 2:
            yield f"the bounds of {name!r} must be two values, got {shown(given)}. Write for example (0, 100)."
