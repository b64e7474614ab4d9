"""Scales of quasi-identifiers that are read in batches: means and deviations from sums that are exact part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, raise_all
from shoal.flow.engines.blockwise.columns import QuasiColumn
from shoal.flow.stages.encode import encode
from shoal.kernels.arithmetic.sums import Grids, extent, grids_for, on_grids, total_on
from shoal.points._degrees import beyond, degrees_in, footings_of_pair, refuse_other_degrees
from shoal.points._missing import Missing
from shoal.points.numeric import coordinate
from shoal.points.template import Scaling
from shoal.types import Attribute, CodedAttribute, Footing, Numbers, Placed, Schema, Table

T = TypeVar("T")


class Over(Protocol):
    """Applies a function to every part of a table's stored columns, wherever they are."""

    def __call__(self, work: Callable[[pa.Table], T]) -> Iterable[T]:
        """Yield what the function returns for each part."""


@dataclass(frozen=True, eq=False)
class Skeleton:
    """A few rows that stand for the whole table, and their attributes."""

    table: Table
    attributes: tuple[Attribute, ...]

    @classmethod
    def of(cls, columns: Sequence[QuasiColumn], missing: str) -> Skeleton:
        """Return the skeleton of columns that were read to their end.

        Raises
        ------
        DataError
            If all values of a column are missing.
        """
        raise_all(
            DataError,
            [
                f"Column {one.name!r}: every value is missing. Give it another role, or leave it out."
                for one in columns
                if one.lacking == one.records
            ],
        )
        held = {one.name: one.skeleton() for one in columns}
        rows = max(map(len, held.values()))
        cells = {name: values.take(np.minimum(np.arange(rows), len(values) - 1)) for name, values in held.items()}
        schema = Schema(tuple(one.column for one in columns))
        fields = [pa.field(one.name, cells[one.name].type, metadata=_metadata(one)) for one in columns]
        table = Table(pa.Table.from_arrays(list(cells.values()), schema=pa.schema(fields)), schema)
        return cls(table, tuple(encode(table, list(cells), missing=missing)[1]))

    def __len__(self) -> int:
        return len(self.table)


def _metadata(column: QuasiColumn) -> Mapping[Any, Any] | None:
    return None if column.noted is None else column.noted.metadata


def scalings_for(
    scale: str,
    skeleton: Skeleton,
    columns: Sequence[QuasiColumn],
    over: Over,
    pairs: Sequence[tuple[str, ...]] = (),
) -> dict[str, Scaling]:
    """Return the scale of every attribute with coordinates, as the whole table would have it in memory.

    `over` applies a function to the stored columns, part by part. ``standard`` takes two passes: one for means, one for
    deviations. Each of `pairs`, latitude and longitude, has one scale.
    """
    placed = [(c, a) for c, a in zip(columns, skeleton.attributes, strict=True) if not isinstance(a, CodedAttribute)]
    if scale == "none":
        found = {c.name: Footing(0.0, 1.0, 0) for c, _ in placed}
    elif scale == "range":
        found = {c.name: Footing(*extent(_values(a))) for c, a in placed}
    else:
        found = _standard(placed, over)
    if pairs:
        found |= _of_places(scale, skeleton, columns, over, pairs, found)
    middles = _middles(placed, found, over)
    return {name: Scaling(footing, middles.get(name, 0.0)) for name, footing in found.items()}


def _of_places(
    scale: str,
    skeleton: Skeleton,
    columns: Sequence[QuasiColumn],
    over: Over,
    pairs: Sequence[tuple[str, ...]],
    known: Mapping[str, Footing],
) -> dict[str, Footing]:
    """Return the scales of latitudes and longitudes, and refuse values that are no degrees."""
    both = {c.name: (c, a) for c, a in zip(columns, skeleton.attributes, strict=True)}
    found: dict[str, Footing] = {}
    for pair in pairs:
        places = [both[name] for name in pair]
        values = [degrees_in(attribute, at) for at, (_, attribute) in enumerate(places)]
        for at, (column, attribute) in enumerate(places):
            if beyond(values[at], at):  # an end is out of range: count all values that are
                wrong: list[int] = list(over(_Beyond(column, attribute, at).of_part))
                refuse_other_degrees(column.name, at, sum(wrong), column.records - column.lacking)
        standards = known if scale == "standard" else _standard(places, over)
        ends = [(float(own.min()), float(own.max())) for own in values]
        found |= footings_of_pair(pair, scale, ends, [standards[name] for name in pair])
    return found


class _Beyond(NamedTuple):
    """Counts values of a coordinate that are no degrees."""

    column: QuasiColumn
    attribute: Attribute
    at: int  #: 0: latitude, 1: longitude

    def of_part(self, table: pa.Table) -> int:
        """Return their number in a part of the table."""
        held = self.column.restored(table.column(self.column.name)).drop_null()
        return beyond(_numbers(self.attribute, held), self.at)


def _numbers(attribute: Attribute, held: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return values of a part of the table as numbers, in their own unit."""
    unit = Footing(0.0, 1.0, 0)
    return _inner(attribute).like(held, Placed(np.zeros((1, 1)), (unit,)))[:, 0]


def _inner(attribute: Attribute) -> Numbers:
    inner = attribute.inner if isinstance(attribute, Missing) else attribute
    assert isinstance(inner, Numbers)
    return inner


def _values(attribute: Attribute) -> NDArray[np.float64]:
    return _inner(attribute).values


class _Sums(NamedTuple):
    """Exact sums of the numbers of some columns, on grids that the ends of each determine.

    Sums on a grid are exact. So they can be added up part by part, in any order.
    """

    placed: Sequence[tuple[QuasiColumn, Attribute]]
    grids: Mapping[str, Grids | None]  #: of each column; None: all its numbers are 0
    term: Callable[[str, NDArray[np.float64]], NDArray[np.float64]]  #: summand of each number of a column

    def of_part(self, table: pa.Table) -> dict[str, NDArray[np.float64]]:
        """Return the sums of a part of the table."""
        found = {}
        for column, attribute in self.placed:
            held = column.restored(table.column(column.name)).drop_null()
            grids = self.grids[column.name]
            if len(held) and grids is not None:
                found[column.name] = on_grids(self.term(column.name, _numbers(attribute, held)), grids)
        return found

    def means(self, over: Over) -> dict[str, float]:
        """Return the mean of each column: one pass."""
        total = {column.name: np.zeros(3) for column, _ in self.placed}
        for found in over(self.of_part):
            for name, sums in found.items():
                total[name] += sums
        return {c.name: self._mean(c, total[c.name]) for c, _ in self.placed}

    def _mean(self, column: QuasiColumn, sums: NDArray[np.float64]) -> float:
        grids = self.grids[column.name]
        return 0.0 if grids is None else total_on(grids, sums) / (column.records - column.lacking)


def _grids(column: QuasiColumn, largest: float) -> Grids | None:
    return grids_for(largest, column.records - column.lacking) if largest > 0.0 else None


def _standard(placed: Sequence[tuple[QuasiColumn, Attribute]], over: Over) -> dict[str, Footing]:
    """Return mean and deviation of every column: two passes."""
    exponents = {c.name: int(np.frexp(np.abs(_values(a)).max())[1]) for c, a in placed}
    ends = {c.name: np.ldexp(_values(a), -exponents[c.name]) for c, a in placed}
    varies = [(c, a) for c, a in placed if ends[c.name].min() < ends[c.name].max()]
    plain = {c.name: _grids(c, float(np.abs(ends[c.name]).max())) for c, _ in varies}
    means = _Sums(varies, plain, lambda name, values: np.ldexp(values, -exponents[name])).means(over)
    squared = {c.name: _grids(c, float(((ends[c.name] - means[c.name]) ** 2).max())) for c, _ in varies}

    def term(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((np.ldexp(values, -exponents[name]) - means[name]) ** 2)

    squares = _Sums(varies, squared, term).means(over)
    return {
        c.name: Footing(means[c.name], float(np.sqrt(squares[c.name])), exponents[c.name])
        if c.name in means
        else Footing(float(ends[c.name].min()), 0.0, exponents[c.name])
        for c, _ in placed
    }


def _middles(
    placed: Sequence[tuple[QuasiColumn, Attribute]], footings: Mapping[str, Footing], over: Over
) -> dict[str, float]:
    """Return the mean coordinate of each column that has missing values."""
    lacking = [(c, a) for c, a in placed if c.lacking]
    if not lacking:
        return {}
    ends = {c.name: float(np.abs(coordinate(_values(a), footings[c.name])).max()) for c, a in lacking}
    grids = {c.name: _grids(c, ends[c.name]) for c, _ in lacking}
    return _Sums(lacking, grids, lambda name, values: coordinate(values, footings[name])[:, 0]).means(over)
