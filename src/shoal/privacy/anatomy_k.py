"""Anatomy with k: every record is joined with at least k equally likely confidential rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import GuaranteeError, ParameterError
from shoal.parameters import Checked, Param
from shoal.privacy.counting.classes import by_first_row, codes_of, comparable, numbered, paired, sizes_of
from shoal.privacy.counting.numbers import smallest
from shoal.privacy.counting.values import normal
from shoal.types import Column, Finding, Release, TableModel, called

_BY_CHANCE = log(1e-6)  # less likely than this is not chance


def follows(column: Column, cells: pa.ChunkedArray, owner: NDArray[np.int64]) -> bool:
    """Tell whether the values of a column rise in every class, or fall in every class, and not by chance.

    If every order within a class is equally likely, the probability is one over the number of orders of all classes. A
    probability above one in a million is taken for chance. Missing values are left out.

    >>> import pyarrow as pa
    >>> from shoal.types import Kind, Role
    >>> pay, classes = Column("pay", Role.CONFIDENTIAL, Kind.INTEGER), np.repeat([0, 1], 7)
    >>> follows(pay, pa.chunked_array([[1, 3, 4, 7, 8, 9, 13, 2, 5, 6, 10, 11, 12, 14]]), classes)
    True
    >>> follows(pay, pa.chunked_array([[1, 3, 4, 7, 9, 8, 13, 2, 5, 6, 10, 11, 12, 14]]), classes)
    False
    """
    ranks = _ranks(column, cells)
    there = np.flatnonzero(ranks >= 0)
    rows = there[np.argsort(owner[there], kind="stable")]  # grouped by class, each in row order
    inside, rank = owner[rows], ranks[rows]
    step = np.diff(rank)[inside[1:] == inside[:-1]]
    if not ((step >= 0).all() or (step <= 0).all()):
        return False
    sizes = np.bincount(inside)
    equal = np.unique(inside * (int(rank.max(initial=0)) + 1) + rank, return_counts=True)[1]
    orders = _log_factorials(int(sizes.max(initial=1)))
    return bool(orders[equal].sum() - orders[sizes].sum() < _BY_CHANCE)


def _log_factorials(n: int) -> NDArray[np.float64]:
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))


def _ranks(column: Column, cells: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the rank of each value, −1 where it is missing."""
    coded = normal(comparable(column.name, cells)).combine_chunks().dictionary_encode(null_encoding="mask")
    found = coded.dictionary
    if column.order:
        places = {text: place for place, text in enumerate(column.order)}
        rank = np.array([places.get(called(value), len(places)) for value in found.to_pylist()], np.int64)
    else:
        rank = np.empty(len(found), np.int64)
        rank[pc.array_sort_indices(found).to_numpy()] = np.arange(len(found))
    codes = coded.indices.fill_null(len(found)).to_numpy().astype(np.int64)
    return np.asarray(np.append(rank, -1)[codes])


@dataclass(frozen=True)
class AnatomyK(Checked, TableModel):
    """Anatomy (Xiao and Tao) with classes of at least k, audited from both tables as they are written.

    Quasi-identifiers and confidential columns are released in two tables that only the class number joins. A record of
    the first table may then have any of the confidential rows of its class; if there are k, each has probability 1 in
    k. The audit checks everything about this that can be seen: every record has a class; every class has as many
    confidential rows as records; and these are, as whole rows, those that its records had before, each equally often.
    If one of these fails, the level of the class is 0; otherwise it is the number of its records, or of their subjects.

    The rows of the first table keep their order. If that is the order of a confidential column within every class, the
    order discloses which row belongs to which record: the level of all classes is then 1.

    Values are compared as values, exactly. A missing value is a value, NaN is a missing one, and −0 is 0.

    **Guarantee.** Counts are integers: nothing is rounded. Nothing is dropped.

    **Complexity.** O(n log n) for n records, for each confidential column.

    **Departures.** [XT06] require classes in which no confidential value has a share above 1 in l, which is
    (α,k)-anonymity with α = 1/l, and have no name for the number of rows alone. Here k is that number; how far values
    must differ is a separate requirement. Cited from memory.

    **What it does not promise.** Protection against re-identification: quasi-identifiers are released unchanged. That
    the rows of a class differ: the note names the classes whose rows all share a value. That other columns released
    with the quasi-identifiers do not disclose which row belongs to a record.

    References: [XT06].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL),))
    >>> first, before = pa.table({"class": [0, 1, 0, 1]}), pa.table({"ill": ["flu", "ulcer", "none", "flu"]})
    >>> for ills in (["flu", "none", "flu", "ulcer"], ["flu", "flu", "none", "ulcer"]):
    ...     apart = Release(pa.table({"class": [0, 0, 1, 1], "ill": ills}), schema, original=before)
    ...     print(AnatomyK(2).audit(Release(first, Schema(()), apart=apart), ["class"]).achieved)
    2
    0
    """

    short: ClassVar[str] = "anatomy"
    level: ClassVar[str] = "k"
    example: ClassVar[str] = "5"

    k: Annotated[int | None, Param("Smallest number of confidential rows in a class; none: only report.", low=2)] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the fewest confidential rows that a record is joined with by one column."""
        apart, before, link = _second(release, attributes)
        one, other = codes_of(link, release.data.column(link), apart.data.column(link))
        both = by_first_row(np.concatenate((one, other)))  # classes of the first table before others
        one, other = both[: len(one)], both[len(one) :]
        count = int(max(one.max(initial=-1), other.max(initial=-1))) + 1
        levels, notes = sizes_of(release, one)
        levels = np.append(levels, np.zeros(count - len(levels), np.int64))  # classes of the second table only
        strange = _nowhere(release.data.column(link), one, count)
        strange |= _different(one, other, _rows(before, apart), count)
        if strange.any():
            levels[strange] = 0
            notes.append(
                f"{int(strange.sum()):,} classes without a number, or with changed confidential rows, count as 0"
            )
        notes += _shared(apart, before.column_names, other)
        given_away = [n for n in before.column_names if follows(apart.schema[n], before.column(n), one)]
        if given_away:
            levels = np.minimum(levels, 1)
            notes.append(_SORTED.format(given_away[0]))
        achieved, worst = smallest(levels)
        return self.finding((link,), achieved, self.k, len(levels), worst, note="; ".join(notes))


_SORTED = "within classes, rows are sorted by {!r}, which reveals it: shuffle them first"


def _second(release: Release, attributes: Sequence[str]) -> tuple[Release, pa.Table, str]:
    """Return the second table, the original confidential columns, and the column that joins both tables."""
    apart = release.apart
    if apart is None or apart.original is None or len(attributes) != 1:
        raise ParameterError(
            "AnatomyK: needs both tables and the original confidential columns. It is audited during protect, with "
            "the release anatomy. For the second table alone, audit k over the class column."
        )
    (link,) = attributes
    if link not in release.data.column_names or link not in apart.data.column_names:
        raise GuaranteeError(f"AnatomyK: column {link!r} must be in both tables, but is not. Nothing was written.")
    names = apart.original.column_names
    lacking = not names or [n for n in apart.data.column_names if n != link] != names
    if lacking or release.data.num_rows != apart.original.num_rows:
        raise GuaranteeError(
            "AnatomyK: every record must have one confidential row, with all its columns, before and after, but the "
            "numbers differ. Nothing was written."
        )
    return apart, apart.original, link


def _nowhere(column: pa.ChunkedArray, owner: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Tell which classes are not classes, because the class number is missing."""
    found = np.zeros(count, np.bool_)
    found[owner[np.asarray(column.is_null(nan_is_null=True).to_numpy())]] = True
    return found


def _rows(before: pa.Table, apart: Release) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each row of confidential values before and after; equal rows get equal numbers."""
    n = before.num_rows
    rows = np.zeros(n + apart.data.num_rows, np.int64)
    for name in before.column_names:
        rows = paired(rows, np.concatenate(codes_of(name, before.column(name), apart.values(name))))
    return rows[:n], rows[n:]


def _different(
    one: NDArray[np.int64], other: NDArray[np.int64], rows: tuple[NDArray[np.int64], NDArray[np.int64]], count: int
) -> NDArray[np.bool_]:
    """Tell for each class whether its confidential rows, or their counts, changed."""
    many = int(np.concatenate(rows).max(initial=0)) + 1
    pairs, where = np.unique(np.concatenate((one * many + rows[0], other * many + rows[1])), return_inverse=True)
    before, after = (np.bincount(part, minlength=len(pairs)) for part in (where[: len(one)], where[len(one) :]))
    found = np.zeros(count, np.bool_)
    found[pairs[before != after] // many] = True
    return found


def _shared(apart: Release, names: Sequence[str], owner: NDArray[np.int64]) -> list[str]:
    """Report in how many classes all rows share a value."""
    said = []
    for name in names:
        codes = numbered(normal(apart.values(name)))
        pairs = np.unique(owner * (int(codes.max(initial=0)) + 1) + codes)
        values = np.bincount(pairs // (int(codes.max(initial=0)) + 1))
        if uniform := int((values == 1).sum()):
            said.append(f"in {uniform:,} {'class' if uniform == 1 else 'classes'} all rows share a value of {name!r}")
    return said
