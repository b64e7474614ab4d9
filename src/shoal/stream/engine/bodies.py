"""Pending tuples: the fields released with them, other than quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.stream.wire.fields import put


@dataclass(eq=False)
class Bodies:
    """A batch of arrived tuples.

    Attributes
    ----------
    positions
        Their numbers in the stream, ascending.
    names
        All released fields, in order; empty: every tuple has its own.
    rest
        The fields released unchanged: a list of dicts, or an Arrow table.
    subjects
        Their subjects, if a field identifies them.
    left
        Which of them have been released or dropped.
    """

    positions: NDArray[np.int64] = field(repr=False)
    names: tuple[str, ...]
    rest: Any = field(repr=False)
    subjects: Any = field(repr=False)
    left: NDArray[np.bool_] = field(repr=False)

    def __len__(self) -> int:
        return len(self.positions)

    def find(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which of some tuples are in this batch, and their indices."""
        if self.positions[-1] - self.positions[0] == len(self) - 1:  # consecutive positions
            found = np.flatnonzero((positions >= self.positions[0]) & (positions <= self.positions[-1]))
            return found, positions[found] - self.positions[0]
        at = np.minimum(np.searchsorted(self.positions, positions), len(self) - 1)
        found = np.flatnonzero(self.positions[at] == positions)
        return found, at[found]

    def rows(self, at: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return the other fields of some of them, as dicts."""
        if isinstance(self.rest, list):
            return [self.rest[row] for row in at.tolist()]
        found = self.rest.take(at).to_pylist() if self.rest.num_columns else [{}] * len(at)
        return [dict.fromkeys(self.names) | row for row in found]

    def table(self, at: NDArray[np.int64]) -> pa.Table:
        """Return the other fields of some of them, as Arrow columns."""
        if not isinstance(self.rest, list):
            return self.rest.take(at)
        return _in_columns(self.rows(at))


def _in_columns(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return tuples as Arrow columns; each may have its own fields."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


class Kept:
    """All pending tuples with their other fields."""

    def __init__(self) -> None:
        self._tables: dict[int, Bodies] = {}  # by first position, ascending
        self._rows: dict[int, tuple[dict[str, Any], Any]] = {}

    def add_rows(self, first: int, rows: list[dict[str, Any]], subjects: Sequence[Any] | None) -> None:
        """Store tuples that arrived one by one."""
        who = subjects if subjects is not None else [None] * len(rows)
        self._rows.update(zip(range(first, first + len(rows)), zip(rows, who, strict=True), strict=True))

    def add_table(self, bodies: Bodies) -> None:
        """Store tuples that arrived as columns."""
        self._tables[int(bodies.positions[0])] = bodies

    def leave(self, positions: NDArray[np.int64]) -> tuple[tuple[Bodies, ...], int]:
        """Remove tuples; return where they are, and how many were already removed."""
        if not len(positions):
            return (), 0
        loose = sorted(self._rows.keys() & set(positions.tolist())) if self._rows else []
        taken = [self._rows.pop(position) for position in loose]
        found, lacking = [], len(positions) - len(loose)
        begins = np.fromiter(self._tables, np.int64, len(self._tables))
        for which in np.unique(np.searchsorted(begins, positions, "right")) - 1 if len(begins) else ():
            if which < 0:  # arrived before all batches
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


#: Arrow's exceptions for cells that it cannot hold; their messages may contain a cell.
UNFIT = (ValueError, TypeError, NotImplementedError, OverflowError)


def columns_of(given: Any) -> dict[str, Any]:
    """Return columns by name from a mapping, or from a frame of pandas, polars or Arrow."""
    if isinstance(given, Mapping):
        found = {str(name): _masked(column) for name, column in given.items()}
        odd = [name for name, column in found.items() if not _is_column(column)]
        if odd or len(found) < len(given):
            raise DataError(
                "StreamAnonymizer: columns must be lists or arrays of one dimension, each with its own name, got "
                "others. Push a list for each name."
            )
        return found
    if not hasattr(given, "column_names"):  # a pandas or polars frame, not an Arrow table
        import narwhals as nw

        try:
            given = nw.maybe_reset_index(nw.from_native(given, eager_only=True)).to_arrow()  # an index is not a field
        except nw.exceptions.DuplicateError:
            raise DataError("StreamAnonymizer: column names must be unique, got one twice. Rename it.") from None
        except TypeError:
            raise DataError(
                "StreamAnonymizer: tuples must come as a list of dicts, a mapping of columns, or a frame of pandas, "
                f"polars or pyarrow, got a {type(given).__name__}."
            ) from None
    if len(set(given.column_names)) < len(given.column_names):
        raise DataError("StreamAnonymizer: column names must be unique, got one twice. Rename it.")
    return {name: given.column(name) for name in given.column_names}


def _masked(column: Any) -> Any:
    """Return a column without masked values."""
    return column.tolist() if isinstance(column, np.ma.MaskedArray) else column


def _is_column(column: Any) -> bool:
    return hasattr(column, "__len__") and not isinstance(column, (str, bytes)) and getattr(column, "ndim", 1) == 1


def as_arrow(column: Any) -> Any:
    """Return a column as an Arrow array with its own memory."""
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        coded = pa.types.is_dictionary(column.type)  # a dictionary would release the values of other tuples
        return column.cast(column.type.value_type) if coded else column
    return pa.array(np.array(column) if isinstance(column, np.ndarray) else list(column))  # the caller may reuse it


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return columns as rows."""
    try:
        return list(pa.table({name: as_arrow(column) for name, column in columns.items()}).to_pylist())
    except UNFIT:  # its message may contain a cell
        raise SchemaError(
            "StreamAnonymizer: a column mixes types that no column can hold. Push tuples as dicts."
        ) from None


@dataclass(frozen=True, eq=False)
class Released:
    """Released tuples, class by class, in order of arrival within each.

    Attributes
    ----------
    positions
        Their numbers in the stream, from 0.
    classes
        The number of each one's class, from 0.
    values
        For each quasi-identifier its released value in each class.
    """

    positions: NDArray[np.int64] = field(repr=False)
    sizes: NDArray[np.int64] = field(repr=False)
    first: int
    values: Mapping[str, Sequence[Any]] = field(repr=False)
    class_field: str
    bodies: tuple[Bodies, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class number of each tuple."""
        return self._of + self.first

    @cached_property
    def _of(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the released tuples."""
        found: list[dict[str, Any]] = [{}] * len(self)
        for bodies in self.bodies:
            rows, at = bodies.find(self.positions)
            for row, body in zip(rows.tolist(), bodies.rows(at), strict=True):
                found[row] = dict(body)
        for tuple_, own in zip(found, self._of.tolist(), strict=True):
            for name, values in self.values.items():
                if "." not in name or not put(tuple_, name, values[own]):
                    tuple_[name] = values[own]
            tuple_[self.class_field] = self.first + own
        return found

    def to_table(self) -> pa.Table:
        """Return the released tuples as an Arrow table; a field that a tuple lacks is null.

        Raises
        ------
        SchemaError
            If a field mixes types that no column can hold; `to_pylist` returns it anyway.
        """
        try:
            return self._table()
        except UNFIT:  # its message may contain a cell
            raise SchemaError(
                "Released: a field mixes types that no column can hold. Use to_pylist(), or push values of one type."
            ) from None

    def _table(self) -> pa.Table:
        if any("." in name for name in self.values) and any(isinstance(bodies.rest, list) for bodies in self.bodies):
            return _in_columns(self.to_pylist())
        where = [bodies.find(self.positions) for bodies in self.bodies]
        parts = [bodies.table(at) for bodies, (_, at) in zip(self.bodies, where, strict=True)]
        names = [name for b, part in zip(self.bodies, parts, strict=True) for name in b.names or part.column_names]
        fresh = {name: pa.array(values).take(self._of) for name, values in self.values.items()}
        fresh[self.class_field] = pa.array(self.classes)
        rest = pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})
        back = np.argsort(np.concatenate([rows for rows, _ in where])) if where else np.empty(0, np.int64)
        return pa.table(
            {n: fresh[n] if n in fresh else rest.column(n).take(back) for n in dict.fromkeys([*names, *fresh])}
        )
