"""Checks of a staged file: allow-listed metadata, and no digits beyond the resolution."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from shoal.types import Release, Step

_DAY = 86_400


def too_fine(release: Release) -> list[str]:
    """Return the columns with a value that is not a multiple of its resolution.

    >>> import pyarrow as pa
    >>> from shoal.types import Schema
    >>> left = Release(pa.table({"pay": [1.25, 0.30000000000000004]}), Schema(()), resolutions={"pay": Step(1, 2)})
    >>> too_fine(left)
    ['pay']
    """
    return [name for name, step in release.resolutions.items() if not _holds(release.values(name), step)]


def _holds(column: pa.ChunkedArray, step: Step | str) -> bool:
    known = column.drop_null()
    if isinstance(step, Step):
        if pa.types.is_decimal(known.type):
            with localcontext(prec=400):
                return all(value % step.number == 0 for value in known.unique().to_pylist())
        if pa.types.is_integer(known.type):
            return step.decimals > 0 or step.multiple == 1 or all(v % step.multiple == 0 for v in _values(known))
        return pa.types.is_floating(known.type) and _are_multiples(known, step)
    return (pa.types.is_timestamp(known.type) or pa.types.is_date(known.type)) and _are_whole(known, step)


def _values(column: pa.ChunkedArray) -> list[int]:
    found: list[int] = column.unique().to_pylist()
    return found


def _are_multiples(column: pa.ChunkedArray, step: Step) -> bool:
    """Tell whether each float is the one nearest to a multiple of the step."""
    if column.type != pa.float64():  # 0.1 in fewer bits is a different number; its shortest digits count
        column = column.cast(pa.float32()).cast(pa.string())
    x = column.cast(pa.float64()).to_numpy()
    return all(_fit(x[begin : begin + _PIECE], step) for begin in range(0, len(x), _PIECE))


_PIECE = 1 << 15  # values that a fast cache holds


def _fit(x: NDArray[np.float64], step: Step) -> bool:
    unit = 10.0**step.decimals
    with np.errstate(over="ignore", invalid="ignore"):
        units = np.rint(x * unit)
        large = ~(np.abs(units) < 2.0**53)  # where neighbouring floats are farther apart than the digits required
        same = units / unit == x
        if step.multiple > 1:
            same &= np.fmod(units, step.multiple) == 0
    return bool((same | large).all())


def _are_whole(column: pa.ChunkedArray, unit: str) -> bool:
    """Tell whether each date or time is the beginning of a unit."""
    if pa.types.is_date(column.type):
        days: NDArray[np.int64] = column.cast(pa.date32()).cast(pa.int32()).to_numpy().astype(np.int64)
        rest = np.zeros(len(days), np.int64)
    else:
        per_day = _DAY * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
        ticks = column.cast(pa.int64()).to_numpy()
        length = {
            "hour": per_day // 24,
            "minute": per_day // 1_440,
            "second": per_day // _DAY,
            "millisecond": per_day // (_DAY * 10**3),
            "microsecond": per_day // (_DAY * 10**6),
            "nanosecond": per_day // (_DAY * 10**9),
        }.get(unit, per_day)
        days, rest = ticks // per_day, ticks % max(length, 1)
    if rest.any():
        return False
    if unit not in ("month", "year"):
        return True
    moments = days.astype("datetime64[D]")
    return bool((moments.astype(f"datetime64[{unit[0].upper()}]").astype("datetime64[D]") == moments).all())


_NOTES = b"shoal:statfile"
_OF_VARIABLE = {
    "package", "label", "format", "measure", "storage", "width", "display", "alignment", "labels", "missing", "tagged",
}  # fmt: skip
_ANNOTATIONS = {b"ARROW:extension:name", b"ARROW:extension:metadata"}
_POLARS = {b"_PL_ENUM_VALUES", b"_PL_ENUM_VALUES2", b"_PL_CATEGORICAL", b"_PL_CATEGORICAL2"}

#: Allowed metadata of a file, by name, with a pattern for its content. Parquet and Arrow: entries of the footer. Excel:
#: parts of the archive, and document properties.
_PROPERTIES = {
    r"footer:ARROW:schema": r"",
    r"footer:shoal:statfile": r"",  # checked where it is read as schema metadata
    r"part:(_rels/\.rels|\[Content_Types\]\.xml|docProps/(app|core)\.xml)": r"",
    r"part:xl/(workbook|styles|sharedStrings|theme/theme1|worksheets/sheet1)\.xml": r"",
    r"part:xl/_rels/workbook\.xml\.rels": r"",
    r"creator": r"shoal",
    r"created|modified": r"1980-01-01T00:00:00Z",
}


def foreign_metadata(schema: pa.Schema, *, frames: bool = False) -> list[str]:
    """Describe where a table has metadata that is not on the list, without its content.

    With `frames`, also the categories of types that polars records when it exports columns; these are checked.

    >>> import pyarrow as pa
    >>> foreign_metadata(pa.schema([pa.field("age", pa.int64(), metadata={"unit": "years"})], metadata={"a": "b"}))
    ['the table', "column 'age'"]
    """
    found = ["the table"] if any(not _allowed_of_table(*one) for one in (schema.metadata or {}).items()) else []
    for field in schema:
        own = all(_allowed_of_column(*one) for one in (field.metadata or {}).items())
        if not own or _metadata_inside(field.type, _POLARS if frames else set()):
            found.append(f"column {field.name!r}")
    return found


def foreign_properties(properties: Mapping[str, str]) -> list[str]:
    """Return the names of metadata entries that a file should not have.

    >>> foreign_properties({"creator": "shoal", "part:xl/comments1.xml": "", "title": "Clinic"})
    ['part:xl/comments1.xml', 'title']
    """
    return [
        name
        for name, text in properties.items()
        if not any(re.fullmatch(known, name) and re.fullmatch(said, text) for known, said in _PROPERTIES.items())
    ]


def stray_categories(data: pa.Table, whole: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the columns whose dictionaries hold other categories than occur or, for those in `whole`, than listed
    there.

    >>> import pyarrow as pa
    >>> stray_categories(pa.table({"sex": pa.DictionaryArray.from_arrays([0, 0], ["f", "m"])}), {})
    ['sex']
    """
    found = []
    for field, column in zip(data.schema, data.columns, strict=True):
        one = column.combine_chunks() if "dictionary" in str(field.type) else column
        chunks = one.chunks if hasattr(one, "chunks") else [one]
        if not all(ok for chunk in chunks for ok in _dictionaries(chunk, whole.get(field.name))):
            found.append(field.name)
    return found


class CategoryLists:
    """Categories that a table lists and those that occur, over its batches: `stray_categories` within bounded memory.

    >>> import pyarrow as pa
    >>> found, cells = CategoryLists(), pa.DictionaryArray.from_arrays([0, 1], ["f", "m"])
    >>> found.add(pa.table({"sex": cells.slice(0, 1)}))
    >>> found.stray()
    ['sex']
    >>> found.add(pa.table({"sex": cells.slice(1)}))
    >>> found.stray()
    []
    """

    def __init__(self) -> None:
        self._unused: dict[tuple[str, int], set[str]] = {}  # categories without a record, in each dictionary
        self._used: dict[tuple[str, int], set[str]] = {}
        self._refused: dict[str, None] = {}

    def add(self, data: pa.Table) -> None:
        """Take in a batch."""
        for field, column in zip(data.schema, data.columns, strict=True):
            if "dictionary" not in str(field.type):
                continue
            for chunk in column.chunks:
                self._add(field.name, chunk)

    def _add(self, name: str, chunk: Any) -> None:
        for number, array in enumerate(_arrays_inside(chunk)):
            listed = None if array is None else [repr(one) for one in array.dictionary.to_pylist()]
            if array is None or listed is None or len(set(listed)) < len(listed):
                self._refused[name] = None
                continue
            used = {listed[at] for at in array.indices.unique().drop_null().to_pylist()}
            seen = self._used.setdefault((name, number), set())
            seen |= used
            self._unused[name, number] = (self._unused.get((name, number), set()) | set(listed)) - seen

    def stray(self) -> list[str]:
        """Return the columns that list categories that do not occur; one that cannot be inspected is among them."""
        return list(dict.fromkeys([*self._refused, *(name for (name, _), left in self._unused.items() if left)]))


def _allowed_of_table(key: bytes, value: bytes) -> bool:
    said = _read(value) if key == _NOTES else None
    if said is None or not set(said) <= {"package", "encoding", "label", "notes"}:
        return False
    plain = re.fullmatch(r"[A-Za-z0-9_-]{0,20}", said.get("encoding") or "") is not None
    return plain and not (said.get("label") or said.get("notes"))


def _allowed_of_column(key: bytes, value: bytes) -> bool:
    if key == _NOTES:
        said = _read(value)
        return said is not None and set(said) <= _OF_VARIABLE
    return key in _ANNOTATIONS


def _read(value: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(value)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _metadata_inside(kind: Any, known: set[bytes]) -> bool:
    """Tell whether fields inside a type have unknown metadata."""
    if isinstance(kind, pa.BaseExtensionType):
        return _metadata_inside(kind.storage_type, known)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    return any(not known.issuperset(one.metadata or ()) or _metadata_inside(one.type, known) for one in fields)


def _dictionaries(array: Any, whole: Sequence[Any] | None) -> Iterator[bool]:
    """Tell for each dictionary in an array whether it is allowed; one that cannot be inspected is not."""
    own = whole if types.is_dictionary(array.type) else None
    for inside in _arrays_inside(array):
        yield inside is not None and _as_it_should_be(inside, own)


def _arrays_inside(array: Any) -> Iterator[Any]:
    """Yield each dictionary in an array; None for one that cannot be inspected."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _arrays_inside(array.storage)
    elif types.is_dictionary(kind):
        yield array
    elif types.is_struct(kind):
        for child in array.flatten():
            yield from _arrays_inside(child)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        yield from _arrays_inside(array.flatten())
    elif types.is_map(kind):
        for child in (array.keys, array.items):
            yield from _arrays_inside(child)
    elif kind.num_fields and "dictionary" in str(kind):
        yield None


def _as_it_should_be(array: Any, whole: Sequence[Any] | None) -> bool:
    there = array.dictionary.to_pylist()
    if whole is not None:
        return bool(there == list(whole))
    used: int = pc.count_distinct(array.indices).as_py()
    return used == len(there)
