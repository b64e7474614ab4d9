"""k-anonymity: every combination of quasi-identifiers is shared by at least k records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy._classes import classes_of, comparable
from shoal.types import Finding, Release, Role

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

    k counts records as they are, whatever they weigh. Where the table has a column of sampling weights, the smallest
    sum of weights of a class is reported besides, as ``weighted_k``: how many of the population the rarest class stands
    for. A missing weight counts as nothing.

    **What it does not promise.** That members of a class differ in their confidential values: if all of them
    share one, it is disclosed without singling anybody out.
    """

    short: ClassVar[str] = "k"
    reported: ClassVar[bool] = True
    example: ClassVar[str] = "5"

    k: Annotated[int | None, Param("Smallest class that is allowed; none: only report.", low=2)] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the smallest class over some columns."""
        names = tuple(attributes)
        sizes = class_sizes(release, names)
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
            short=self.short,
            level="k",
            found=smallest_weight(release, names),
        )


def class_sizes(release: Release, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of records (of different subjects) of each class, classes in order of their first row."""
    if release.subjects is not None:
        return _subjects(release.data.select(list(names)), release.subjects)
    classes = classes_of(release, names)
    sizes = np.empty(len(classes.sizes), np.int64)
    sizes[classes.numbers()] = classes.sizes
    return sizes


def smallest_weight(release: Release, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return the smallest sum of sampling weights of a class, where there are weights.

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("w", Role.WEIGHT, Kind.CONTINUOUS)))
    >>> smallest_weight(Release(pa.table({"age": [40, 40, 50], "w": [1.5, 2.0, 9.0]}), schema), ["age"])
    (('weighted_k', 3.5),)
    """
    weights = [name for name in release.schema.names(Role.WEIGHT) if name in release.data.column_names]
    if not weights or not release.data.num_rows:
        return ()
    import pyarrow as pa

    column = release.values(weights[0]).cast(pa.float64(), safe=False).fill_null(0.0)
    weight = np.nan_to_num(np.asarray(column.to_numpy(), np.float64))
    classes = classes_of(release, names)
    with np.errstate(over="ignore"):  # weights may be so large that their sum is infinite
        sums = np.add.reduceat(weight[classes.rows], classes.begins)
    return (("weighted_k", float(sums.min())),)


def _subjects(data: pa.Table, subjects: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the number of different subjects of each class, classes in order of their first row."""
    names, pairs = _pairs(data, subjects)
    grouped = pairs.group_by([*names, "subject"]).aggregate([("row", "min")])
    grouped = grouped.rename_columns([*names, "subject", "row"]).drop_columns(["subject"])
    found = grouped.group_by(names).aggregate([("row", "min"), ("row", "count")])
    order = np.argsort(found.column("row_min").to_numpy(), kind="stable")
    return np.asarray(found.column("row_count").to_numpy()[order])


def split_subjects(release: Release, names: Sequence[str]) -> int:
    """Return how many subjects have records in more than one class.

    >>> import pyarrow as pa
    >>> from shoal.types import Schema
    >>> whose = pa.chunked_array([["a", "a", "b", "b"]])
    >>> split_subjects(Release(pa.table({"age": [40, 40, 40, 50]}), Schema(()), subjects=whose), ["age"])
    1
    """
    if release.subjects is None:
        return 0
    keys, pairs = _pairs(release.data.select(list(names)), release.subjects)
    found = (
        pairs.group_by([*keys, "subject"])
        .aggregate([("row", "min")])
        .group_by("subject")
        .aggregate([("row_min", "count")])
    )
    return int((found.column("row_min_count").to_numpy() > 1).sum())


def _pairs(data: pa.Table, subjects: pa.ChunkedArray) -> tuple[list[str], pa.Table]:
    """Return what tells classes apart with the subject of each row; and the names of the former."""
    import pyarrow as pa

    keys = [comparable(name, data.column(name)) for name in data.column_names]
    keys = keys or [np.zeros(len(subjects), np.int8)]  # over no columns all records are one class
    names = [f"q{j}" for j in range(len(keys))]
    columns = [*keys, np.arange(len(subjects)), same_subject(comparable("subject", subjects))]
    return names, pa.table(columns, names=[*names, "row", "subject"])


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
