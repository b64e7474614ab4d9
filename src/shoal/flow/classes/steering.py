"""Points → Points with artificial coordinates, and back: steered microaggregation SM(D, k, M, 𝒜, Ω) of any method.

Only the partition uses the artificial coordinates; every later stage works with the original points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import DataError, ParameterError
from shoal.flow.plan.components import steering_makers
from shoal.flow.stages.encode import confidential_columns
from shoal.flow.stages.values import categories
from shoal.parameters import shown
from shoal.recipe.recipe import Recipe
from shoal.types import Coded, Columns, Footing, Partition, Points, Table
from shoal.types.protocols import Partitioner


@dataclass(frozen=True, eq=False)
class Steering:
    """Artificial coordinates, times their weights, and the name of the attribute each belongs to."""

    coordinates: NDArray[np.float64] = field(repr=False)
    owners: tuple[str, ...]
    method: str  #: key of the method that is steered

    def onto(self, points: Points) -> Points:
        """Return the points with the artificial coordinates: [DS17] Definition 3, step 1."""
        if not self.owners:
            return points
        x = points.x
        return replace(
            points,
            x=x.beside(self.coordinates)
            if isinstance(x, Coded)
            else np.ascontiguousarray(np.column_stack((x, self.coordinates))),
            owners=(*points.places, *self.owners) if not points.owners else (*points.owners, *self.owners),
            footings=(*points.footings, *(Footing(0.0, 1.0, 0) for _ in self.owners)) if points.footings else (),
        )

    def without(self, partition: Partition, points: Points) -> Partition:
        """Convert a partition of steered points to one of the original points."""
        if not self.owners:
            return partition
        if len(partition.blocks) > 1:
            raise ParameterError(
                f"{self.method}: steer is not possible with a method that forms blocks of attributes, got "
                f"{len(partition.blocks)} of them. Leave out steer, or choose another method."
            )
        names = tuple(dict.fromkeys(points.owners))
        return replace(partition, blocks=(replace(partition.blocks[0], attributes=names),))


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of a table, as input for steering."""

    table: Table

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the values of a numeric or date column."""
        from shoal.flow.stages.encode import numbers_in

        return numbers_in(self.table, name, "a column that steers by its values")

    def categories(self, name: str) -> NDArray[np.int64]:
        """Return a code for each distinct value of a column; a missing value has its own code."""
        column = self.table.data.column(self.table.schema[name].name)
        return categories(name, column, "cannot steer. Choose another column.")


@dataclass(frozen=True, eq=False)
class ArrayColumns:
    """Named arrays, as input for steering bare points."""

    arrays: Mapping[str, NDArray[Any]] = field(repr=False)
    n: int

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return an array of finite numbers, one per point."""
        array = self._array(name)
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise DataError(f"microaggregate: {name} must hold finite numbers. Use by = region for other values.")
        return np.asarray(array, np.float64)

    def categories(self, name: str) -> NDArray[np.int64]:
        """Return a code for each distinct value of an array."""
        return np.asarray(np.unique(self._array(name), return_inverse=True)[1], np.int64)

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self.arrays or self.arrays[name].shape != (self.n,):
            raise DataError(
                f"microaggregate: the column of {name} must be an array of one value for each of the {self.n:,} points."
            )
        return self.arrays[name]


def given_tables(steer: object) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Split steering given as pairs or with inline arrays into tables that name columns, and these columns."""
    if not isinstance(steer, Sequence) or isinstance(steer, str):
        raise ParameterError(f"microaggregate: steer must be a list of pairs or tables, got {shown(steer)}.")
    tables, arrays = [], {}
    for at, item in enumerate(steer):
        name = f"steer {at + 1}"
        if isinstance(item, Mapping):
            table = dict(item)
        elif isinstance(item, tuple) and len(item) == 2:
            by = "column" if np.asarray(item[0]).dtype.kind in "biuf" else "region"
            table = {"by": by, "column": item[0], "weight": item[1]}
        else:
            raise ParameterError(
                f"microaggregate: steer must hold pairs (values, weight) or tables; {name} is neither. Write for "
                "example steer=[(values, 2.0)]."
            )
        if "column" in table and not isinstance(table["column"], str):
            arrays[name], table["column"] = np.asarray(table["column"]), name
        tables.append(table)
    return tables, arrays


def steering_of(tables: Sequence[Mapping[str, Any]], method: Partitioner, points: Points, columns: Columns) -> Steering:
    """Make the artificial attributes that the tables request, each with its weight."""
    made, owners = [], []
    for at, (table, (maker, weight)) in enumerate(zip(tables, steering_makers(tables, type(method)), strict=True)):
        coordinates = weight * maker.coordinates(points, columns)
        made.append(coordinates)
        owners += [f"steer {at + 1}: {table['by']}"] * coordinates.shape[1]
    none = np.empty((len(points), 0))
    return Steering(np.column_stack(made) if made else none, tuple(owners), type(method).__name__)


def steering_in(recipe: Recipe, method: Partitioner, points: Points, table: Table) -> Steering:
    """Make the artificial attributes of a recipe."""
    if needs_confidential(recipe.steer) and not points.confidential:
        points = replace(points, confidential=confidential_columns(table))
    return steering_of(recipe.steer, method, points, TableColumns(table))


def needs_confidential(tables: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether an artificial attribute is computed from confidential ones."""
    known = registry.keys("steer")
    return any(registry.load("steer", table["by"]).needs_confidential for table in tables if table.get("by") in known)
