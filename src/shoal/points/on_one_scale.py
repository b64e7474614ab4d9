"""Columns of several tables on the scale of the first; their rows need not correspond."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.kernels.arithmetic.sums import extent
from shoal.points._missing import Missing
from shoal.points.before_and_after import standard_or_unit
from shoal.points.encoding import Part, placing
from shoal.types import Attribute, Coded, CodedAttribute, Footing, PlacedAttribute, Scale, stacked

Records = NDArray[np.float64] | Coded


def on_one_scale(
    attributes: Sequence[Attribute], others: Sequence[Sequence[pa.ChunkedArray]]
) -> tuple[list[Records], tuple[str, ...]]:
    """Return the records of a table and of others on the scale of the first, and the owner of each coordinate.

    Numbers have range 1 in the first table if there are categories, whose largest distance is 1, else deviation 1.

    Parameters
    ----------
    attributes
        The columns of the first table.
    others
        For each other table the same columns, with any number of rows.
    """
    scale = range_or_unit if any(isinstance(one, CodedAttribute) for one in attributes) else standard_or_unit
    tables: list[list[Part]] = [[] for _ in range(1 + len(others))]
    owners: list[str] = []
    for at, attribute in enumerate(attributes):
        parts = _placed(attribute, [columns[at] for columns in others], scale)
        for table, part in zip(tables, parts, strict=True):
            table.append(part)
        owners += [attribute.name] * (1 if isinstance(parts[0], tuple) else parts[0].shape[1])
    return [stacked(table) for table in tables], tuple(owners)


def _placed(attribute: Attribute, columns: Sequence[pa.ChunkedArray], scale: Scale) -> list[Part]:
    """Return an attribute in every table."""
    if isinstance(attribute, CodedAttribute):
        one, codes = attribute.beside(columns)
        return [(one, 1.0), *((one._replace(codes=its), 1.0) for its in codes)]
    own = placing(attribute)
    placed = own.place(scale)
    if any(column.null_count for column in columns) and not isinstance(own, Missing):
        own = _with_room(own, len(placed.coordinates))
        placed = own.place(scale)
    return [placed.coordinates, *(own.like(column, placed) for column in columns)]


def range_or_unit(values: NDArray[np.float64]) -> Footing:
    """Return the scaling to range 1, or the column's unit if it is constant."""
    found = Footing(*extent(values))
    return standard_or_unit(values) if found.spread == 0.0 else found


def _with_room(attribute: PlacedAttribute, n: int) -> PlacedAttribute:
    """Return an attribute with room for missing values, which only other tables have."""
    return Missing(attribute.name, attribute, np.zeros(n, np.bool_), apart=True)
