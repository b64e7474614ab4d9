"""The classes of a release: which records are written the same in some columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.types import Release

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Classes:
    """The records of a table, class after class."""

    rows: NDArray[np.int64] = field(repr=False)  #: positions
    sizes: NDArray[np.int64] = field(repr=False)

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """Where each class begins in `rows`."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        first = np.minimum.reduceat(self.rows, self.begins) if len(self.sizes) else self.sizes
        numbers = np.empty(len(first), np.int64)
        numbers[np.argsort(first)] = np.arange(len(first))
        return numbers

    def numbers(self) -> NDArray[np.int64]:
        """Return the number of each class, counted in order of their first rows: the name that a user sees."""
        return self._numbers

    def codes(self, codes: NDArray[np.int64], values: int) -> NDArray[np.int64]:
        """Return the numbers of the values of an attribute, class after class, ascending within each."""
        before = np.repeat(np.arange(len(self.sizes)) * values, self.sizes)
        keys = codes[self.rows]
        keys += before
        keys.sort()  # classes stay where they are
        keys -= before
        return np.asarray(keys)


def classes_of(release: Release, names: Sequence[str]) -> Classes:
    """Group the records that are written the same in all of some columns; all records are one class if there are none.

    A missing value is a value, NaN is one, and −0 is not 0. Nothing is dropped. Every model asks for the same
    classes: they are found once for each release.
    """
    key = ("classes", tuple(names))
    if key not in release.cache:
        release.cache[key] = _grouped(release.data.select(list(names)), release.data.num_rows)
    found: Classes = release.cache[key]
    return found


def _grouped(data: pa.Table, n: int) -> Classes:
    import pyarrow as pa

    if not data.num_columns:
        return Classes(np.arange(n), np.array([n] if n else [], np.int64))
    names = [f"q{j}" for j in range(data.num_columns)]
    keys = [comparable(name, data.column(name)) for name in data.column_names]
    table = pa.table([*keys, np.arange(len(data))], names=[*names, "row"])
    grouped = table.group_by(names, use_threads=False).aggregate([("row", "list")])
    found = grouped.column("row_list").combine_chunks()
    offsets = found.offsets.to_numpy().astype(np.int64)
    return Classes(found.values.to_numpy()[offsets[0] : offsets[-1]], np.diff(offsets))


def comparable(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose values can be told apart; lists and structures cannot, and are refused."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
