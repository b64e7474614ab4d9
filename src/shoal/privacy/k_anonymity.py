"""k-anonymity: every combination of quasi-identifiers is shared by at least k records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.parameters import Checked, Param
from shoal.types import Finding, Release

if TYPE_CHECKING:
    import pyarrow as pa

_WORST = 5


@dataclass(frozen=True)
class KAnonymity(Checked):
    """k-anonymity (Samarati and Sweeney), audited by grouping the table as it is written.

    A release is k-anonymous if every combination of values of its quasi-identifiers occurs in at least k records;
    where a subject column is named, for at least k different subjects.

    Two values are the same only if they are written the same: a missing value is a value, NaN is one, −0 is not 0.
    Nothing is dropped, so the order of rows cannot matter. Subjects are told apart more cautiously: blanks around a
    name make no other subject, and all missing ones are one.

    **What it does not promise.** That members of a class differ in their confidential values: if all of them
    share one, it is disclosed without singling anybody out.
    """

    short: ClassVar[str] = "k"

    k: Annotated[int | None, Param("Smallest class that is allowed; none: only report.", low=2)] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the smallest class over some columns."""
        names = tuple(attributes)
        sizes = class_sizes(release.data.select(list(names)), release.subjects)
        achieved = int(sizes.min()) if len(sizes) else 0
        order = np.lexsort((np.arange(len(sizes)), sizes))[:_WORST]
        return Finding(
            model="k_anonymity",
            attributes=names,
            achieved=achieved,
            required=self.k,
            holds=self.k is None or achieved >= self.k,
            classes=len(sizes),
            worst=tuple((int(number), int(sizes[number])) for number in order),
            note="counted in subjects" if release.subjects is not None else "",
        )


def class_sizes(data: pa.Table, subjects: pa.ChunkedArray | None) -> np.ndarray:
    """Return the number of records (of different subjects) of each class, classes in order of their first row."""
    import pyarrow as pa

    names = [f"q{j}" for j in range(data.num_columns)]
    keys = [comparable(name, data.column(name)) for name in data.column_names]
    grouped = pa.table([*keys, np.arange(len(data))], names=[*names, "row"])
    if subjects is not None:
        pairs = grouped.append_column("subject", same_subject(comparable("subject", subjects)))
        grouped = pairs.group_by([*names, "subject"]).aggregate([("row", "min")])
        grouped = grouped.rename_columns([*names, "subject", "row"]).drop_columns(["subject"])
    found = grouped.group_by(names).aggregate([("row", "min"), ("row", "count")])
    order = np.argsort(found.column("row_min").to_numpy(), kind="stable")
    return np.asarray(found.column("row_count").to_numpy()[order])


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


def same_subject(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return subjects so that one is not counted as two: blanks around a name, −0 and NaN make no difference."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        plain = pc.add(column, pa.scalar(0.0, column.type))
        return pc.if_else(pc.is_nan(plain), pa.scalar(None, column.type), plain)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        trimmed = pc.utf8_trim_whitespace(column)
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, column.type), trimmed)
    return column
