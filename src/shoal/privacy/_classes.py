"""The classes of a release: which records are written the same in some columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.k_anonymity import comparable

if TYPE_CHECKING:
    import pyarrow as pa


class Classes(NamedTuple):
    """The records of a table, class after class."""

    rows: NDArray[np.int64]  #: positions
    sizes: NDArray[np.int64]

    @property
    def begins(self) -> NDArray[np.int64]:
        """Where each class begins in `rows`."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    def numbers(self) -> NDArray[np.int64]:
        """Return the number of each class, counted in order of their first rows: the name that a user sees."""
        first = np.minimum.reduceat(self.rows, self.begins)
        numbers = np.empty(len(first), np.int64)
        numbers[np.argsort(first)] = np.arange(len(first))
        return numbers

    def codes(self, codes: NDArray[np.int64], values: int) -> NDArray[np.int64]:
        """Return the numbers of the values of an attribute, class after class, ascending within each."""
        before = np.repeat(np.arange(len(self.sizes)) * values, self.sizes)
        keys = codes[self.rows] + before
        keys.sort()  # classes stay where they are
        return np.asarray(keys - before)


def classes_of(data: pa.Table) -> Classes:
    """Group the records that are written the same in all columns, as in the audit of k-anonymity.

    A missing value is a value, NaN is one, and −0 is not 0. Nothing is dropped.
    """
    import pyarrow as pa

    names = [f"q{j}" for j in range(data.num_columns)]
    keys = [comparable(name, data.column(name)) for name in data.column_names]
    table = pa.table([*keys, np.arange(len(data))], names=[*names, "row"])
    grouped = table.group_by(names, use_threads=False).aggregate([("row", "list")])
    found = grouped.column("row_list").combine_chunks()
    offsets = found.offsets.to_numpy().astype(np.int64)
    return Classes(found.values.to_numpy()[offsets[0] : offsets[-1]], np.diff(offsets))
