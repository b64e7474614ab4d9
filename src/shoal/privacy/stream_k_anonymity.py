"""Stream k-anonymity: every tuple of a released stream shares its quasi-identifiers with k subjects of its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import SchemaError, listing
from shoal.parameters import Checked, Param
from shoal.privacy.counting.classes import by_first_row, comparable, counted_in, numbered, people_of
from shoal.privacy.counting.numbers import smallest
from shoal.privacy.k_anonymity import class_sizes
from shoal.types import Finding, Release, TableModel


@dataclass(frozen=True)
class StreamKAnonymity(Checked, TableModel):
    """Stream k-anonymity (Domingo-Ferrer and Soria-Comas), audited on the tuples as released.

    A released stream is k-anonymous if every tuple is in a group of tuples with the same quasi-identifiers that concern
    at least k different subjects ([DS17] Definition 5). Rows are tuples, in the order of their release.

    Without a class column, the group of a tuple is all tuples with its quasi-identifiers, however far apart they were
    released: by the letter of the definition, two small classes that happen to coincide are one group. This is the
    audit of k-anonymity. A class column gives the class in which each tuple was released. Coincidence then does not
    count: every class on its own must concern k subjects, and have one combination of quasi-identifiers. The level of a
    class with several is 0. A tuple whose class is missing is a class of its own.

    Values and subjects are compared as in the audit of k-anonymity. Without a subject column, every tuple counts as
    another subject. Nothing is dropped, and the order of tuples does not change the level.

    **Guarantee.** Counts are integers: nothing is rounded. A level that holds with a class column also holds without.

    **Complexity.** O(n) for n tuples.

    **Departures.** The first condition of Definition 5, that every released tuple has its original in the incoming
    stream, cannot be checked on the released stream, and is not audited. The class column is our addition.

    **What it does not promise.** That a class is complete when its first tuple is released: until the last one is,
    an observer sees fewer than k subjects. The note gives the number of other tuples released in between.

    References: [DS17].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("class", Role.OTHER, Kind.INTEGER)))
    >>> release = Release(pa.table({"age": [30, 30, 50, 50, 30], "class": [0, 0, 1, 1, 2]}), schema)
    >>> [StreamKAnonymity(2, column).audit(release, ["age"]).achieved for column in (None, "class")]
    [2, 1]
    """

    short: ClassVar[str] = "stream_k"
    level: ClassVar[str] = "k"
    example: ClassVar[str] = "10"

    k: Annotated[int | None, Param("Smallest number of subjects in a class; none: only report.", low=2)] = None
    class_column: Annotated[
        str | None, Param("Column with the number of the class; none: equal tuples form a class.")
    ] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the class with the fewest subjects."""
        names = tuple(attributes)
        notes = [counted_in(release) or "counted in tuples, each treated as a different subject"]
        if self.class_column is None:
            levels = class_sizes(release, names)
            notes.append("classes released with the same quasi-identifiers are counted as one")
        else:
            left = _classes(release, names, self.class_column)
            levels = np.where(left.mixed, 0, left.subjects)
            notes += _remarks(left)
        achieved, worst = smallest(levels)
        return self.finding(names, achieved, self.k, len(levels), worst, note="; ".join(notes))


class _Classes(NamedTuple):
    """Named classes of a stream, in order of their first tuples."""

    subjects: NDArray[np.int64]  #: number of different subjects of each class
    mixed: NDArray[np.bool_]  #: whether its tuples differ in their quasi-identifiers
    between: NDArray[np.int64]  #: tuples of other classes released between its first and its last


def _classes(release: Release, names: tuple[str, ...], column: str) -> _Classes:
    """Count subjects, combinations and interleaved tuples of each class."""
    if column not in release.data.column_names:
        raise SchemaError(
            f"StreamKAnonymity: class_column must be a column of the stream; no column is called {column!r}; there "
            f"are {listing(release.data.column_names)}. Check the spelling."
        )
    owner = _named(release.data.column(column), column)
    order = np.argsort(owner, kind="stable")  # tuples grouped by class, each in the order of release
    sizes = np.bincount(owner)
    ends = np.cumsum(sizes) - 1
    between = order[ends] - order[ends - sizes + 1] + 1 - sizes
    subjects = sizes
    if release.subjects is not None:
        subjects = _different(owner, [pa.chunked_array([people_of(release).codes])])
    cells = [comparable(name, release.data.column(name)) for name in names]
    mixed = _different(owner, cells) > 1 if cells else np.zeros(len(sizes), np.bool_)
    return _Classes(subjects, mixed, between)


def _named(cells: pa.ChunkedArray, name: str) -> NDArray[np.int64]:
    """Return the class number of each tuple, in order of first tuples; missing ones are classes of their own."""
    plain = comparable(name, cells)
    missing = np.asarray(plain.is_null(nan_is_null=True).to_numpy())
    if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
        missing |= np.asarray(pc.fill_null(pc.equal(pc.utf8_trim_whitespace(plain), ""), True).to_numpy())
    codes = numbered(plain)
    codes[missing] = len(codes) + np.flatnonzero(missing)
    return by_first_row(codes)


def _different(owner: NDArray[np.int64], cells: list[pa.ChunkedArray]) -> NDArray[np.int64]:
    """Return how many different combinations of cells each class has."""
    keys = [f"q{j}" for j in range(len(cells))]
    table = pa.table([owner, *cells], names=["owner", *keys])
    found = table.group_by(["owner", *keys], use_threads=False).aggregate([])
    return np.bincount(found.column("owner").to_numpy())


def _remarks(left: _Classes) -> list[str]:
    """Return remarks on the classes that a reader of the level must know."""
    most = int(left.between.max(initial=0))
    found = [
        f"between the first and the last tuple of a class, up to {most:,} of other classes were released"
        if most
        else "every class was released in one piece"
    ]
    if mixed := int(left.mixed.sum()):
        found.append(f"{mixed:,} classes with several combinations of quasi-identifiers count as 0")
    return found
