"""Recoded columns in words: what happened to their values before classes were formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def recoding(how: Mapping[str, Any]) -> str:
    """Return what a recoding of a recipe does to values.

    >>> recoding({"top": 90, "interval": 5})
    'values above 90 become 90, others the middle of their interval of width 5'
    >>> recoding({"level": 1})
    'categories become their groups at level 1 of the taxonomy'
    """
    return ", ".join(_parts(how))


def _parts(how: Mapping[str, Any]) -> Iterator[str]:
    if "level" in how:
        yield f"categories become their groups at level {how['level']} of the taxonomy"
    for name, some in how.get("groups", {}).items():
        yield f"{', '.join(str(one) for one in some if str(one) != name)} become {name}"
    breaks = how.get("breaks", ())
    low, high = (breaks[0], breaks[-1]) if breaks else (how.get("bottom"), how.get("top"))
    if low is not None:
        yield f"values below {low} become {how.get('bottom_as', low)}"
    if high is not None:
        yield f"values above {high} become {how.get('top_as', high)}"
    others = "values become" if low is None and high is None else "others"
    if "interval" in how:
        width = how["interval"]
        yield f"{others} the middle of their {width if isinstance(width, str) else f'interval of width {width}'}"
    if breaks:
        yield f"{others} the middle of their interval between {', '.join(map(str, breaks))}"
