"""Template of an encoding: the scale, categories and places of a whole table, applied to any part of it.

The attributes are those of a *skeleton*: a few rows that hold the ends of every range, every category, and a missing
value where a column has one. A part of the table is then encoded like another column with the same meaning, and its
coordinates are bit for bit those that the whole table would have in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.points._missing import Missing
from shoal.types import (
    Attribute,
    Coded,
    CodedAttribute,
    CodedColumn,
    Footing,
    Placed,
    PlacedAttribute,
    stacked,
)


class Scaling(NamedTuple):
    """The scale of an attribute with coordinates, and the coordinate at which a missing value is put."""

    footing: Footing
    middle: float = 0.0


@dataclass(frozen=True, eq=False)
class _PlacedColumn:
    """A column with coordinates."""

    attribute: PlacedAttribute
    placed: Placed
    root: float  #: of the weight of the attribute

    def part(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        found = self.attribute.like(column, self.placed)
        return found if self.root == 1.0 else found * self.root


@dataclass(frozen=True, eq=False)
class _CodedPart:
    """A column of categories."""

    attribute: CodedAttribute
    layout: CodedColumn
    weight: float

    def part(self, column: pa.ChunkedArray) -> tuple[CodedColumn, float]:
        if pa.types.is_dictionary(column.type):  # of each category once, then of the records
            whole = column.unify_dictionaries().combine_chunks()
            codes = np.append(self._codes(pa.chunked_array([whole.dictionary])), self._of_missing)
            return self.layout._replace(codes=codes[whole.indices.fill_null(len(codes) - 1).to_numpy()]), self.weight
        return self.layout._replace(codes=self._codes(column)), self.weight

    def pair(self, before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[Any, Any]:
        """Return two columns with common codes, also of groups."""
        layout, codes = self.attribute.beside([before, after])
        one, other = ((layout._replace(codes=own), self.weight) for own in codes)
        return one, other

    def _codes(self, column: pa.ChunkedArray) -> NDArray[np.int32]:
        return self.attribute.beside([column])[1][0]

    @property
    def _of_missing(self) -> np.int32:
        """The code of a missing value; 0 if no value is missing."""
        lacking = getattr(self.attribute, "codes", np.zeros(0)) < 0
        return self.layout.codes[lacking][0] if lacking.any() else np.int32(0)


@dataclass(frozen=True, eq=False)
class Template:
    """The encoding of a table's quasi-identifiers."""

    columns: tuple[_PlacedColumn | _CodedPart, ...]

    @classmethod
    def of(
        cls,
        attributes: Sequence[Attribute],
        scalings: Mapping[str, Scaling],
        weights: Mapping[str, float] | None = None,
    ) -> Template:
        """Return the template of a skeleton's attributes, with the scale of each that has coordinates."""
        return cls(
            tuple(_column(one, scalings.get(one.name), (weights or {}).get(one.name, 1.0)) for one in attributes)
        )

    def points(self, cells: Mapping[str, pa.ChunkedArray] | pa.Table) -> NDArray[np.float64] | Coded:
        """Return some records as points."""
        return stacked([column.part(cells[column.attribute.name]) for column in self.columns])

    def pair(
        self, before: Mapping[str, pa.ChunkedArray] | pa.Table, after: Mapping[str, pa.ChunkedArray] | pa.Table
    ) -> tuple[NDArray[np.float64] | Coded, NDArray[np.float64] | Coded]:
        """Return some records and some released values as points; a value may be a group of a taxonomy."""
        both = [
            column.pair(*cells) if isinstance(column, _CodedPart) else tuple(map(column.part, cells))
            for column in self.columns
            for cells in [(before[column.attribute.name], after[column.attribute.name])]
        ]
        return stacked([one for one, _ in both]), stacked([other for _, other in both])


def _column(attribute: Attribute, scaling: Scaling | None, weight: float) -> _PlacedColumn | _CodedPart:
    if isinstance(attribute, CodedAttribute):
        return _CodedPart(attribute, attribute.coded(), weight)
    assert isinstance(attribute, PlacedAttribute)
    assert scaling is not None  # it has coordinates
    footings: tuple[Footing, ...] = (scaling.footing,)
    if isinstance(attribute, Missing):
        attribute = replace(attribute, absent=np.zeros(1, np.bool_))  # one value, whose mean is the middle
        footings = (*footings, Footing(0.0, 1.0, 0))[: 1 + attribute.apart]
    return _PlacedColumn(attribute, Placed(np.array([[scaling.middle]]), footings), float(np.sqrt(weight)))
