"""Classes of a release as an audit counts them: by records, by people, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, GuaranteeError
from shoal.privacy.counting.spelling import people_in
from shoal.privacy.counting.values import normal
from shoal.types import Release
from shoal.types.release import CLASSES


@dataclass(frozen=True, eq=False)
class Classes:
    """Records of a table, grouped by class."""

    rows: NDArray[np.int64] = field(repr=False)  #: positions
    sizes: NDArray[np.int64] = field(repr=False)

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """Return the position of the first record of each class in `rows`."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        first = np.minimum.reduceat(self.rows, self.begins) if len(self.sizes) else self.sizes
        numbers = np.empty(len(first), np.int64)
        numbers[np.argsort(first)] = np.arange(len(first))
        return numbers

    def numbers(self) -> NDArray[np.int64]:
        """Return the number of each class in order of first rows, which is the name that a user sees."""
        return self._numbers

    def codes(self, codes: NDArray[np.int64], values: int) -> NDArray[np.int64]:
        """Return the codes of an attribute's values, grouped by class and ascending within each."""
        before = np.repeat(np.arange(len(self.sizes)) * values, self.sizes)
        keys = codes[self.rows]
        keys += before
        keys.sort(kind="stable")  # classes keep their positions: merging runs is much faster here
        keys -= before
        return np.asarray(keys)


def classes_of(release: Release, names: Sequence[str]) -> Classes:
    """Group the records that are written the same in all of the given columns; without columns, all form one class.

    A missing value is a value, NaN is one, and −0 is not 0. Nothing is dropped. All models use the same classes, which
    are computed once per release.
    """
    key = (CLASSES, tuple(names))
    if key not in release.cache:
        release.cache[key] = _grouped(release.data.select(list(names)), release.data.num_rows)
    found: Classes = release.cache[key]
    return found


def _grouped(data: pa.Table, n: int) -> Classes:
    if not data.num_columns:
        return Classes(np.arange(n), np.array([n] if n else [], np.int64))
    names = [f"q{j}" for j in range(data.num_columns)]
    keys = class_keys(data)
    table = pa.table([*keys, np.arange(len(data))], names=[*names, "row"])
    grouped = table.group_by(names, use_threads=False).aggregate([("row", "list")])
    found = grouped.column("row_list").combine_chunks()
    offsets = found.offsets.to_numpy().astype(np.int64)
    return Classes(found.values.to_numpy()[offsets[0] : offsets[-1]], np.diff(offsets))


def class_keys(data: pa.Table) -> list[Any]:
    """Return columns by which Arrow can group rows into classes.

    A single column of floats is numbered first: grouping by rounded floats would take quadratic time, because Arrow
    hashes many of them to the same value.
    """
    keys = [comparable(name, data.column(name)) for name in data.column_names]
    return [numbered(keys[0])] if len(keys) == 1 and pa.types.is_floating(keys[0].type) else keys


def comparable(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose values can be compared; refuse lists and structures, which cannot."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return comparable(name, column.cast(kind.storage_type))
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if pa.types.is_run_end_encoded(kind):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
    if pa.types.is_nested(kind):
        raise DataError(
            f"Column {name!r}: lists and structures cannot be audited. Give its parts columns of their own."
        )
    return column


class People(NamedTuple):
    """Persons that records are about."""

    codes: NDArray[np.int64]  #: the number of the person of each record; records without a person share one
    respelled: int  #: spellings taken for another spelling of the same person


def people_of(release: Release) -> People:
    """Return the people of a release, which must name its subjects; computed once per release."""
    if "people" not in release.cache:
        assert release.subjects is not None
        column = comparable("subject", release.subjects)
        release.cache["people"] = People(*people_in(column, exact=release.subject_exact))
    found: People = release.cache["people"]
    return found


def counted_in(release: Release) -> str:
    """State that classes are counted in subjects, and how many spellings were taken for another one.

    >>> import pyarrow as pa
    >>> from shoal.types import Schema
    >>> counted_in(Release(pa.table({"age": [3, 3]}), Schema(()), subjects=pa.chunked_array([["Ann", "ANN"]])))[:68]
    'counted in subjects; 1 name was treated as another spelling of the s'
    """
    return "" if release.subjects is None else "; ".join(["counted in subjects", *respelled(release)])


def respelled(release: Release) -> list[str]:
    """Return a remark on how many spellings were taken for another one of the same subject; empty if none."""
    count = people_of(release).respelled
    what = (
        "1 name was treated as another spelling" if count == 1 else f"{count:,} names were treated as other spellings"
    )
    return [f"{what} of the same subject (subject_exact = true would count them separately)"] if count else []


def sizes_of(release: Release, owner: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of records, or subjects, of each class, and remarks on the counts."""
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
    """Return a number for each value; missing values have one too.

    All chunks share one dictionary. Arrow would compare their copies of it, and NaN differs from itself.

    >>> numbered(pa.chunked_array([[float("nan"), None], [float("nan"), 2.5]])).tolist()
    [0, 1, 0, 2]
    """
    encoded = pc.dictionary_encode(comparable("class", column), null_encoding="encode")
    return np.concatenate([np.empty(0, np.int64), *(chunk.indices.to_numpy() for chunk in encoded.chunks)])


def by_first_row(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from 0 of some codes, in order of first rows.

    >>> by_first_row(np.array([7, 2, 7, 4])).tolist()
    [0, 1, 0, 2]
    """
    _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[numbers])


def paired(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each pair of codes from 0; equal pairs get equal numbers."""
    return np.asarray(np.unique(one * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1])


def codes_of(name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each value before and after; equal values get equal numbers."""
    one, other = normal(comparable(name, before)), normal(comparable(name, after))
    if one.type != other.type:
        common = _common(one.type, other.type)
        try:
            one, other = (normal(column.cast(common)) for column in (one, other))
        except pa.ArrowException:  # its message may contain a cell value
            raise GuaranteeError(
                f"Column {name!r}: {before.type} was released as {after.type}, which cannot be compared. "
                "Nothing was written."
            ) from None
    both = numbered(pa.chunked_array([*one.chunks, *other.chunks], one.type))
    return both[: len(one)], both[len(one) :]


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return a type in which values of two types can be compared; a cast that would lose information fails."""
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
    """Tell whether values are numbers, or 0 and 1 in formats without booleans."""
    is_one = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in is_one)
