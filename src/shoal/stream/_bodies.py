"""Tuples as they came, until they leave: what is neither quasi-identifier nor taken out goes along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


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
