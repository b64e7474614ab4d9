"""Pairs of columns that are one place: latitude and longitude in degrees."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.schema.guess import Seen
from shoal.schema.words import said_by, without_words
from shoal.types import Kind

_MOST = {"latitude": 90.0, "longitude": 180.0}  # degrees


def coordinate_pairs(columns: Sequence[Seen]) -> list[tuple[str, str]]:
    """Return the pairs of latitude and longitude: by names or labels, and by the range of their values.

    Two columns belong together if their names have the same other words, or if there are only two.

    >>> def degrees(name, low, high, label=""):
    ...     return Seen(name, Kind.CONTINUOUS, 9, 0, 9, 1, label=label, low=low, high=high)
    >>> coordinate_pairs([degrees("home_lat", 47.3, 55.0), degrees("home_lng", 5.9, 15.0), degrees("lat", 4e6, 5e6)])
    [('home_lat', 'home_lng')]
    >>> coordinate_pairs([degrees("x", 5.9, 15.0, "Geographische Länge"), degrees("y", 47.3, 55.0, "Breitengrad")])
    [('y', 'x')]
    """
    norths, easts = (
        [one for one in columns if one.kind is Kind.CONTINUOUS and one.like(topic) and _within(one, most)]
        for topic, most in _MOST.items()
    )
    if len(norths) == len(easts) == 1 and norths[0].name != easts[0].name:
        return [(norths[0].name, easts[0].name)]
    found: list[tuple[str, str]] = []
    for north in norths:
        rest = without_words(north.name, "latitude")
        match = [one.name for one in easts if without_words(one.name, "longitude") == rest and one.name != north.name]
        if len(match) == 1 and not any(match[0] in pair for pair in found):
            found.append((north.name, match[0]))
    return found


def axis_pairs(columns: Sequence[Seen]) -> list[tuple[str, str]]:
    """Return the pairs of numbers that are named like the axes of a map, and nearly all differ.

    >>> def seen(name):
    ...     return Seen(name, Kind.CONTINUOUS, 99, 0, 99, 1)
    >>> axis_pairs([seen("home_x"), seen("home_y"), seen("pay"), seen("x2")])
    [('home_x', 'home_y')]
    """
    apart = [one for one in columns if one.kind is Kind.CONTINUOUS and one.apart and not one.whole]
    east, north = (
        {without_words(one.name, topic): one.name for one in apart if said_by(one.name, topic)}
        for topic in ("axis_east", "axis_north")
    )
    return [(name, north[rest]) for rest, name in east.items() if rest in north]


def _within(seen: Seen, most: float) -> bool:
    return -most <= seen.low <= seen.high <= most
