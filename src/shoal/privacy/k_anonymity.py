"""k-anonymity: every combination of quasi-identifiers is shared by at least k records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy.counting.classes import class_keys, classes_of, counted_in, people_of
from shoal.privacy.counting.numbers import smallest
from shoal.types import Finding, Release, Role, TableModel


@dataclass(frozen=True)
class KAnonymity(Checked, TableModel):
    """k-anonymity (Samarati and Sweeney), audited by grouping the table as it is written.

    A release is k-anonymous if every combination of values of its quasi-identifiers occurs in at least k records or,
    with a subject column, for at least k different subjects.

    Two values are the same only if they are written the same: a missing value is a value, NaN is one, −0 is not 0.
    Nothing is dropped, so the order of rows does not matter. Subjects are compared more cautiously: capitals,
    surrounding blanks, invisible characters, different encodings of a letter and insignificant zeros of a number do not
    make another subject (unless `subject_exact`), and all missing subjects are one.

    k counts records, whatever they weigh. If the table has a column of sampling weights, the audit also reports the
    smallest sum of weights of a class, as ``weighted_k``: how many members of the population the rarest class
    represents. A missing weight counts as 0.

    **What it does not promise.** That members of a class differ in their confidential values: if all of them share one
    value, it is disclosed without identifying any record.
    """

    short: ClassVar[str] = "k"
    level: ClassVar[str] = "k"
    reported: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    example: ClassVar[str] = "5"

    k: Annotated[int | None, Param("Smallest class that is allowed; none: only report.", low=2)] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the smallest class over some columns."""
        names = tuple(attributes)
        sizes = class_sizes(release, names)
        achieved, worst = smallest(sizes)
        found = smallest_weight(release, names)
        many = tuple(zip(*(part.tolist() for part in np.unique(sizes, return_counts=True)), strict=True))
        note = counted_in(release)
        return self.finding(names, achieved, self.k, len(sizes), worst, note=note, found=found, sizes=many)


def class_sizes(release: Release, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of records, or of different subjects, of each class; classes are in order of first rows."""
    if release.subjects is not None:
        return _subjects(release, names)
    classes = classes_of(release, names)
    sizes = np.empty(len(classes.sizes), np.int64)
    sizes[classes.numbers()] = classes.sizes
    return sizes


def smallest_weight(release: Release, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return the smallest sum of sampling weights of a class, if there are weights.

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("w", Role.WEIGHT, Kind.CONTINUOUS)))
    >>> smallest_weight(Release(pa.table({"age": [40, 40, 50], "w": [1.5, 2.0, 9.0]}), schema), ["age"])
    (('weighted_k', 3.5),)
    """
    weights = [name for name in release.schema.names(Role.WEIGHT) if name in release.data.column_names]
    if not weights or not release.data.num_rows:
        return ()
    column = release.values(weights[0]).cast(pa.float64(), safe=False).fill_null(0.0)
    weight = np.nan_to_num(np.asarray(column.to_numpy(), np.float64))
    classes = classes_of(release, names)
    with np.errstate(over="ignore"):  # weights may be so large that their sum is infinite
        sums = np.add.reduceat(weight[classes.rows], classes.begins)
    return (("weighted_k", float(sums.min())),)


def _subjects(release: Release, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of different subjects of each class; classes are in order of first rows."""
    keys, pairs = _pairs(release, names)
    grouped = pairs.group_by([*keys, "subject"]).aggregate([("row", "min")])
    grouped = grouped.rename_columns([*keys, "subject", "row"]).drop_columns(["subject"])
    found = grouped.group_by(keys).aggregate([("row", "min"), ("row", "count")])
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
    keys, pairs = _pairs(release, names)
    found = (
        pairs.group_by([*keys, "subject"])
        .aggregate([("row", "min")])
        .group_by("subject")
        .aggregate([("row_min", "count")])
    )
    return int((found.column("row_min_count").to_numpy() > 1).sum())


def _pairs(release: Release, over: Sequence[str]) -> tuple[list[str], pa.Table]:
    """Return the names of the columns that define classes, and these columns with the subject of each row."""
    subjects = people_of(release).codes
    keys = class_keys(release.data.select(list(over)))
    keys = keys or [np.zeros(len(subjects), np.int8)]  # over no columns, all records form one class
    names = [f"q{j}" for j in range(len(keys))]
    return names, pa.table([*keys, np.arange(len(subjects)), subjects], names=[*names, "row", "subject"])
