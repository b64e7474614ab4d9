"""What a recipe says of noise: ε, the bounds of attributes, and what ε is claimed for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from shoal.errors import listing
from shoal.parameters import shown, unknown
from shoal.types import CLAIMS, FROM_THE_DATA

#: Fields of a recipe that a release may take.
FIELDS = ("epsilon", "bounds", "claim")


def faults(epsilon: Any, bounds: Any, claim: Any, quasi: Sequence[str]) -> list[str]:
    """Return all that is wrong with them, in sentences.

    >>> faults(0, {"age": [120, 0]}, "original", ["age"])[0]
    'Recipe: epsilon must be a number > 0, got 0. Raise epsilon.'
    """
    found = [*_epsilon(epsilon, quasi), *_bounds(bounds, quasi)]
    if claim not in CLAIMS:
        found.append(unknown("Recipe", "claim", claim, list(CLAIMS)))
    return found


def misplaced(release: str, takes: Sequence[str], epsilon: Any, bounds: Any, claim: Any) -> list[str]:
    """Return what is given and the release does not take, or not given and the release needs."""
    given = {"epsilon": epsilon is not None, "bounds": bool(bounds), "claim": claim != next(iter(CLAIMS))}
    found = [
        f"Recipe: {name} is for a release that adds noise, {release} does not. Leave it out, or take release = laplace."
        for name in FIELDS
        if given[name] and name not in takes
    ]
    if "epsilon" in takes and not given["epsilon"]:
        found.append(f"Recipe: the release {release} needs epsilon, a number > 0, got none. Say how much may be told.")
    return found


def _epsilon(epsilon: Any, quasi: Sequence[str]) -> list[str]:
    if epsilon is None:
        return []
    if not isinstance(epsilon, Mapping):
        return _one("epsilon", epsilon)
    found = [fault for name, own in epsilon.items() for fault in _one(f"epsilon of {name!r}", own)]
    if extra := [name for name in epsilon if name not in quasi]:
        found.append(f"Recipe: epsilon must name quasi-identifiers only, {listing(extra)} is none. Take it out.")
    if lacking := [name for name in quasi if name not in epsilon]:
        found.append(f"Recipe: epsilon must name every quasi-identifier, {listing(lacking)} has none. Add it.")
    return found


def _one(what: str, value: Any) -> list[str]:
    if not _number(value):
        return [f"Recipe: {what} must be a number > 0, got {shown(value)}. Give a finite one, such as 1."]
    if value <= 0:
        return [f"Recipe: {what} must be a number > 0, got {shown(value)}. Raise epsilon."]
    return []


def _bounds(bounds: Any, quasi: Sequence[str]) -> list[str]:
    if isinstance(bounds, str):
        if bounds == FROM_THE_DATA:
            return []
        return [
            f"Recipe: bounds must be a table of columns and their two ends, got text. Bounds that come from the data "
            f"tell its extremes; to take them all the same say bounds = {FROM_THE_DATA!r}."
        ]
    if not isinstance(bounds, Mapping):
        return [f"Recipe: bounds must be a table of columns and their two ends, got {shown(bounds)}."]
    found = [fault for name, ends in bounds.items() for fault in _ends(name, ends)]
    if extra := [name for name in bounds if name not in quasi]:
        found.append(f"Recipe: bounds must name quasi-identifiers only, {listing(extra)} is none. Take it out.")
    return found


def _ends(name: str, ends: Any) -> list[str]:
    if not isinstance(ends, (list, tuple)) or len(ends) != 2 or not all(map(_number, ends)):
        return [
            f"Recipe: the bounds of {name!r} must be two finite numbers, the lower first, got something else. Write "
            f"[low, high]."
        ]
    if not ends[0] < ends[1] or not math.isfinite(float(ends[1]) - float(ends[0])):
        return [
            f"Recipe: the bounds of {name!r} must be the lower and then the higher, a finite width apart, got "
            f"{shown(ends[0])} and {shown(ends[1])}. Correct them."
        ]
    return []


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
