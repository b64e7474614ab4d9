"""Tuples as they came, until they leave: what is neither quasi-identifier nor taken out goes along."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError, listing
from shoal.stream._columns import UNFIT, as_arrow, columns_of
from shoal.stream_points._cells import listed

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.stream.recipe import StreamRecipe


@dataclass(eq=False)
class Bodies:
    """Some tuples that came.

    Attributes
    ----------
    positions
        Their numbers in the stream, ascending.
    names
        All fields that leave, in their order; empty: every tuple has its own.
    rest
        What goes along: a list of tables of names and values, or a table of Arrow.
    subjects
        Whom they are about, if that is a field.
    left
        Which of them are gone.
    """

    positions: NDArray[np.int64] = field(repr=False)
    names: tuple[str, ...]
    rest: Any = field(repr=False)
    subjects: Any = field(repr=False)
    left: NDArray[np.bool_] = field(repr=False)

    def __len__(self) -> int:
        return len(self.positions)

    def find(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which of some tuples are among these, and where they are."""
        if self.positions[-1] - self.positions[0] == len(self) - 1:  # they came one after the other
            found = np.flatnonzero((positions >= self.positions[0]) & (positions <= self.positions[-1]))
            return found, positions[found] - self.positions[0]
        at = np.minimum(np.searchsorted(self.positions, positions), len(self) - 1)
        found = np.flatnonzero(self.positions[at] == positions)
        return found, at[found]

    def rows(self, at: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return what goes along with some of them, as tables of names and values."""
        if isinstance(self.rest, list):
            return [self.rest[row] for row in at.tolist()]
        found = self.rest.take(at).to_pylist() if self.rest.num_columns else [{}] * len(at)
        return [dict.fromkeys(self.names) | row for row in found]

    def table(self, at: NDArray[np.int64]) -> pa.Table:
        """Return what goes along with some of them as columns of Arrow."""
        import pyarrow as pa

        if not isinstance(self.rest, list):
            return self.rest.take(at)
        rows = self.rows(at)
        names = dict.fromkeys(name for row in rows for name in row)  # each may have fields of its own
        return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


class Kept:
    """All tuples that wait, and what goes along with each."""

    def __init__(self) -> None:
        self._tables: dict[int, Bodies] = {}  # by the position of the first, ascending
        self._rows: dict[int, tuple[dict[str, Any], Any]] = {}

    def add_rows(self, first: int, rows: list[dict[str, Any]], subjects: Sequence[Any] | None) -> None:
        """Keep tuples that came one by one."""
        who = subjects if subjects is not None else [None] * len(rows)
        self._rows.update(zip(range(first, first + len(rows)), zip(rows, who, strict=True), strict=True))

    def add_table(self, bodies: Bodies) -> None:
        """Keep tuples that came in columns."""
        self._tables[int(bodies.positions[0])] = bodies

    def leave(self, positions: NDArray[np.int64]) -> tuple[tuple[Bodies, ...], int]:
        """Let tuples go; return where they are found, and how many of them were not here any more."""
        if not len(positions):
            return (), 0
        loose = sorted(self._rows.keys() & set(positions.tolist())) if self._rows else []
        taken = [self._rows.pop(position) for position in loose]
        found, lacking = [], len(positions) - len(loose)
        begins = np.fromiter(self._tables, np.int64, len(self._tables))
        for which in np.unique(np.searchsorted(begins, positions, "right")) - 1 if len(begins) else ():
            if which < 0:  # came before all that are in tables
                continue
            bodies = self._tables[int(begins[which])]
            rows, at = bodies.find(positions)
            lacking -= len(rows) - int(bodies.left[at].sum())
            bodies.left[at] = True
            if len(rows):
                found.append(bodies)
            if bodies.left.all():
                del self._tables[int(begins[which])]
        if loose:
            rest, who = [body for body, _ in taken], [subject for _, subject in taken]
            found.append(Bodies(np.array(loose), (), rest, who, np.ones(len(loose), np.bool_)))
        return tuple(found), lacking


def of_rows(recipe: StreamRecipe, tuples: Sequence[Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the wanted columns of tuples that are tables of names and values, and what goes along with each."""
    for row in tuples:
        if not isinstance(row, Mapping):
            kind = type(row).__name__
            raise DataError(
                f"StreamAnonymizer: a tuple must be a table of names and values, got a {kind}. Push a dict."
            )
        _fields(recipe, row)
    removed, quasi = set(recipe.removed), set(recipe.quasi)
    rest = [{n: None if n in quasi else cell for n, cell in row.items() if n not in removed} for row in tuples]
    return {name: [row[name] for row in tuples] for name in recipe.wanted}, rest


def of_columns(recipe: StreamRecipe, given: Any, first: int) -> tuple[dict[str, Any], Bodies]:
    """Return the wanted columns of a mapping of columns or a frame, and what goes along with them."""
    import pyarrow as pa

    columns = columns_of(given)
    _fields(recipe, columns)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise DataError("StreamAnonymizer: columns must have the same number of tuples, they have not. Cut them.")
    names = tuple(name for name in columns if name not in recipe.removed)
    try:
        rest = pa.table({name: as_arrow(columns[name]) for name in names if name not in recipe.quasi})
    except UNFIT:  # whose message may hold a cell
        raise SchemaError("StreamAnonymizer: a column mixes what no column can hold. Push tuples as dicts.") from None
    who = columns[recipe.subject] if recipe.subject is not None else None
    who = np.array(who) if isinstance(who, np.ndarray) else None if who is None else list(listed(who))
    n = lengths.pop()
    bodies = Bodies(np.arange(first, first + n), names, rest, who, np.zeros(n, np.bool_))
    return {name: columns[name] for name in recipe.wanted}, bodies


def _fields(recipe: StreamRecipe, names: Collection[str]) -> None:
    lacking = [name for name in (*recipe.wanted, *recipe.identifier) if name not in names]
    if lacking:
        raise DataError(
            f"StreamAnonymizer: a tuple must have {listing(lacking)}, one has not. Correct the tuple, or the name."
        )
    if recipe.class_field in names:
        raise DataError(
            f"StreamAnonymizer: a tuple must not have the field {recipe.class_field!r}, where its class goes, one has. "
            "Give class_field another name."
        )
