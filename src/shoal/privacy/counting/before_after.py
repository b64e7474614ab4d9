"""A table before and after, side by side: which values are the same, and how many records or subjects classes have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeError
from shoal.privacy.counting.classes import comparable
from shoal.privacy.counting.people import people_of, respelled
from shoal.privacy.counting.values import normal
from shoal.types import Release

if TYPE_CHECKING:
    import pyarrow as pa


def sizes_of(release: Release, owner: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
    """Return how many records, or subjects, each class has, and what must be known of the counts."""
    records = np.bincount(owner)
    if release.subjects is None:
        return records, []
    who = people_of(release).codes
    pairs, times = np.unique(owner * (int(who.max(initial=0)) + 1) + who, return_counts=True)
    inside = pairs // (int(who.max(initial=0)) + 1)
    share = float((times / records[inside]).max(initial=0.0))
    notes = ["counted in subjects"]
    if int(times.max(initial=1)) > 1:
        notes.append(f"the largest share of one subject in the records of a class is {share:.4g}")
    return np.bincount(inside), [*notes, *respelled(release)]


def numbered(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a number for each value, missing ones among them."""
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(comparable("class", column), null_encoding="encode")
    return np.asarray(encoded.combine_chunks().indices.to_numpy().astype(np.int64))


def codes_of(name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each value before and after, the same for the same."""
    import pyarrow as pa

    one, other = normal(comparable(name, before)), normal(comparable(name, after))
    if one.type != other.type:
        common = _common(one.type, other.type)
        try:
            one, other = (normal(column.cast(common)) for column in (one, other))
        except pa.ArrowException:  # whose message may hold a value
            raise GuaranteeError(
                f"Column {name!r}: {before.type} left as {after.type}, which cannot be compared. Nothing was written."
            ) from None
    both = numbered(pa.chunked_array([*one.chunks, *other.chunks], one.type))
    return both[: len(one)], both[len(one) :]


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return a type in which values of two types can be compared; a cast that would lose something fails."""
    import pyarrow as pa

    kinds = (one, other)
    if all(pa.types.is_integer(kind) for kind in kinds):
        return pa.int64()
    if all(_is_number(kind) for kind in kinds):
        return pa.float64()
    if all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in kinds):
        zones = [kind.tz for kind in kinds if pa.types.is_timestamp(kind)]
        units = [kind.unit for kind in kinds if pa.types.is_timestamp(kind)]
        return pa.timestamp("ns" if "ns" in units else "us", zones[0] if len(set(zones)) == 1 else None)
    return pa.large_string()


def _is_number(kind: pa.DataType) -> bool:
    """Tell whether values are numbers, or 0 and 1 where a format has no truth values."""
    import pyarrow as pa

    is_one = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in is_one)
