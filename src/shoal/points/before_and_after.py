"""Columns before and after, both on the scale of the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.points._missing import Missing
from shoal.points._pieces import pieces, standard
from shoal.points.encoding import Part, placing
from shoal.points.numeric import Numeric, coordinate
from shoal.types import Attribute, CodedAttribute, Comparison, Footing, Placed, PlacedAttribute, Scale, stacked

_NOWHERE = np.zeros((0, 1))


class Sides(NamedTuple):
    """One attribute before and after, on the same scale."""

    before: Part
    after: Part
    exact: Part  #: after, before rounding; the same object as `after` if nothing was rounded

    @property
    def summands(self) -> int:
        """Number of summands of a squared distance."""
        return 1 if isinstance(self.before, tuple) else self.before.shape[1]


@dataclass(frozen=True, eq=False)
class Compared:
    """Original columns and masked ones, to be compared.

    `exact` are the columns that rounding changed, before rounding; None: not known. `footings` are scales of original
    columns to deviation 1, if they are already known.
    """

    attributes: Sequence[Attribute]
    masked: Sequence[pa.ChunkedArray]
    exact: Mapping[str, pa.ChunkedArray] | None = None
    footings: Mapping[str, Footing] = field(default_factory=dict)

    def sides(self, at: int) -> Sides:
        """Standardise an original column, and the masked one by the original's mean and deviation."""
        attribute, columns = self.attributes[at], self._columns(at)
        if isinstance(attribute, CodedAttribute):
            one, codes = attribute.beside(columns)
            others: list[Part] = [(one._replace(codes=its), 1.0) for its in codes]
            return Sides((one, 1.0), others[0], others[-1])
        with_room = _with_room(placing(attribute), columns[0])
        placed = with_room.place(_known(self.footings.get(attribute.name)))
        others = [with_room.like(_plain(one), placed) for one in columns]
        return Sides(placed.coordinates, others[0], others[-1])

    def in_pieces(self, at: int) -> Iterator[Sides]:
        """Yield both sides of a column of numbers, piece by piece."""
        columns, attribute = self._columns(at), self._numbers(at)
        placed = Placed(_NOWHERE, (self.footings[attribute.name],))
        for before, rows in zip(self.original_in_pieces(at), pieces(len(attribute.values)), strict=True):
            parts = (_plain(one.slice(rows.start, rows.stop - rows.start)) for one in columns)
            others = [attribute.like(one, placed) for one in parts]
            yield Sides(before[:, None], others[0], others[-1])

    def original_in_pieces(self, at: int) -> Iterator[NDArray[np.float64]]:
        """Yield the coordinates of an original column of numbers, piece by piece."""
        attribute = self._numbers(at)
        for rows in pieces(len(attribute.values)):
            yield coordinate(attribute.values[rows], self.footings[attribute.name])[:, 0]

    def with_footing(self, at: int) -> Compared:
        """Return the same with the scale of one more column of numbers."""
        attribute = self._numbers(at)
        scale = _known(self.footings.get(attribute.name))
        return replace(self, footings={**self.footings, attribute.name: scale(attribute.values)})

    def _numbers(self, at: int) -> Numeric:
        attribute = self.attributes[at]
        assert isinstance(attribute, Numeric)  # of others, a piece would not know the whole
        return attribute

    def has_pieces(self, at: int) -> bool:
        """Tell whether a column can be compared piece by piece."""
        return isinstance(self.attributes[at], Numeric) and not self.masked[at].null_count

    def _columns(self, at: int) -> list[pa.ChunkedArray]:
        """Return the masked column and, if rounding changed it, the exact one."""
        column = self.masked[at]
        own = column if self.exact is None else self.exact.get(self.attributes[at].name, column)
        return [column] if own is column else [column, own]


def compare(given: Compared) -> Comparison:
    """Put original and masked columns on the same scale, in one table each."""
    sides = [given.sides(at) for at in range(len(given.attributes))]
    owners = tuple(a.name for a, side in zip(given.attributes, sides, strict=True) for _ in range(side.summands))
    before, after = (stacked([getattr(side, one) for side in sides]) for one in ("before", "after"))
    means = None if given.exact is None else stacked([side.exact for side in sides])
    return Comparison(before, after, owners, exact=means)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers that are given once for each class as a column."""
    by_class = pa.types.is_dictionary(column.type) and pa.types.is_floating(column.type.value_type)
    return column.cast(column.type.value_type) if by_class else column


def _known(footing: Footing | None) -> Scale:
    """Return a scale that is known, or else the scale for comparing tables."""
    return standard_or_unit if footing is None or footing.spread == 0.0 else lambda values: footing


def _with_room(attribute: PlacedAttribute, masked: pa.ChunkedArray) -> PlacedAttribute:
    """Return an attribute with room for missing values, if only the masked column has some."""
    if not masked.null_count or isinstance(attribute, Missing):
        return attribute
    return Missing(attribute.name, attribute, np.zeros(len(masked), np.bool_), apart=True)


def standard_or_unit(values: NDArray[np.float64]) -> Footing:
    """Return the scaling for comparing tables: standard deviation 1, or the column's unit if it is constant."""
    found = standard(values)
    if found.spread == 0.0:  # a constant attribute: any change counts in the column's own unit
        return Footing(found.location, float(np.ldexp(1.0, -found.exponent)), found.exponent)
    return found
