"""Latitude and longitude as one attribute of two dimensions: one scale, on which distances mean the same both ways."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.points._missing import Missing
from shoal.points._pieces import standard
from shoal.points.numeric import Numeric
from shoal.types import Attribute, Footing

_MOST = (("latitude", 90.0), ("longitude", 180.0))
_LEAST_COSINE = 1e-3  # at the poles a degree of longitude has no length


def pair_footings(attributes: Sequence[Attribute], pairs: Sequence[tuple[str, ...]], scale: str) -> dict[str, Footing]:
    """Return the scaling of each coordinate of places.

    A degree of longitude counts as many degrees of latitude as it is long at the mean latitude: its cosine. Both
    coordinates are divided by one number, so that the place as a whole has deviation 1 (``standard``), that the
    diagonal of all places has length 1 (``range``), or that a degree of latitude has length 1 (``none``).

    **Guarantee.** The scale depends on the values of these two columns only, not on the order of records: sums are
    exactly rounded.

    >>> import pyarrow as pa
    >>> north, east = (Numeric.encode(name, pa.chunked_array([[59.0, 61.0]])) for name in ("lat", "lon"))
    >>> found = pair_footings([north, east], [("lat", "lon")], "standard")
    >>> round(found["lon"].spread / found["lat"].spread, 9)  # a degree of longitude is half as long at 60° north
    2.0
    """
    columns = {one.name: one for one in attributes}
    found: dict[str, Footing] = {}
    for pair in pairs:
        values = [degrees_in(columns[name], at) for at, name in enumerate(pair)]
        for at, (name, own) in enumerate(zip(pair, values, strict=True)):
            refuse_other_degrees(name, at, beyond(own, at), len(own))
        ends = [(float(own.min()), float(own.max())) for own in values]
        found |= footings_of_pair(pair, scale, ends, [standard(own) for own in values])
    return found


def footings_of_pair(
    pair: Sequence[str], scale: str, ends: Sequence[tuple[float, float]], standards: Sequence[Footing]
) -> dict[str, Footing]:
    """Return the scaling of latitude and longitude, from their smallest and largest values and their deviations."""
    (north, high), (east, wide) = (_middle(*own, scale) for own in zip(ends, standards, strict=True))
    latitude = _middle(ends[0], standards[0], "standard")[0]
    cosine = max(math.cos(math.radians(latitude)), _LEAST_COSINE)
    unit = 1.0 if scale == "none" else math.hypot(high, cosine * wide)
    return {pair[0]: Footing(north, unit, 0), pair[1]: Footing(east, unit / cosine, 0)}


def _middle(ends: tuple[float, float], own: Footing, scale: str) -> tuple[float, float]:
    """Return where a coordinate begins, and its deviation or its range."""
    if scale == "standard":
        return math.ldexp(own.location, own.exponent), math.ldexp(own.spread, own.exponent)
    return (0.0, 1.0) if scale == "none" else (ends[0], ends[1] - ends[0])


def degrees_in(attribute: Attribute, at: int) -> NDArray[np.float64]:
    """Return the values that are present, and refuse those that are not degrees.

    `at` is 0 for a latitude and 1 for a longitude.
    """
    inner = attribute.inner if isinstance(attribute, Missing) else attribute
    if not isinstance(inner, Numeric):
        raise SchemaError(
            f"Column {attribute.name!r}: a {_MOST[at][0]} must be a number in degrees. Declare its kind continuous, or "
            f"remove it from coordinates."
        )
    return inner.values


def beyond(values: NDArray[np.float64], at: int) -> int:
    """Count values that are not degrees of latitude (`at` = 0) or longitude (1)."""
    return int((np.abs(values) > _MOST[at][1]).sum())


def refuse_other_degrees(name: str, at: int, wrong: int, total: int) -> None:
    """Refuse a latitude (`at` = 0) or longitude (1) if `wrong` of its values are not degrees."""
    if wrong:
        what, most = _MOST[at]
        raise DataError(
            f"Column {name!r}: a {what} must be from −{most:g} to {most:g} degrees, {wrong:,} of {total:,} values are "
            "not. Correct them, or remove the column from coordinates."
        )
