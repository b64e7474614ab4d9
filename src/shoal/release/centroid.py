"""Centroid: every member of a class gets the class's mean, with the digits of its column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.kernels.runtime.jit import each
from shoal.parameters import Checked, Param
from shoal.release._taken_cells import refuse_values
from shoal.types import (
    Attribute,
    Averaged,
    Block,
    Numbers,
    Partition,
    PlacedAttribute,
    Points,
    Release,
    Resolution,
    Role,
    Schema,
    Table,
    with_columns,
)
from shoal.types.protocols import Releaser


@dataclass(frozen=True)
class ClassValues(Checked, Releaser):
    """Release of class values; the subclass says which share of a class is trimmed.

    **Guarantee.** Records of a class are equal in its block's attributes, and the order of its members does not change
    a bit of its values; other columns are unchanged; identifiers and subjects are removed; rows and columns keep their
    order.
    """

    categories: Annotated[
        Literal["leaf", "node", "ancestor"],
        Param("Categories: the most central one, the most central one or group, or the lowest common group."),
    ] = "leaf"
    resolution: Annotated[Mapping[str, Any], Param("The step of each attribute's released values.")] = field(
        default_factory=dict
    )
    exact_means: Annotated[bool, Param("Release means with all their digits.")] = False

    @property
    def trimmed(self) -> float:
        """The share of a class's weight that is left out at each end: 0 for the mean, ½ for the median."""
        return 0.0

    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Replace each quasi-identifier by the value of its class."""
        if self.trimmed:
            refuse_values(self, partition)
        data = table.data.select([name for name in table.data.column_names if table.schema[name].role.leaves])
        released: dict[str, pa.Array] = {}
        resolutions = (
            {} if self.exact_means else {a.name: a.resolution(self.resolution.get(a.name)) for a in points.attributes}
        )
        for block in partition.blocks:
            released |= self._released(points.only(block.attributes), block, weights, resolutions)
        subjects = table.schema.names(Role.SUBJECT)
        return Release(
            with_columns(data, released),
            Schema(tuple(c for c in table.schema.columns if c.role.leaves)),
            table.dialect,
            table.data.column(subjects[0]) if subjects else None,
            exact=self._exact(points, partition, weights, resolutions),
            resolutions={name: own for name, own in resolutions.items() if own is not None},
        )

    def _exact(
        self,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        resolutions: Mapping[str, Resolution],
    ) -> dict[str, pa.Array]:
        """Return the exact means of columns that are released otherwise: the loss of the partition itself."""
        rounded = {name for name, resolution in resolutions.items() if resolution is not None}
        if self.trimmed:
            rounded = {a.name for a in points.attributes if isinstance(a, PlacedAttribute)}
        found: dict[str, pa.Array] = {}
        for block in partition.blocks:
            inside = points.only(block.attributes)
            if block.values is None:
                numbers = [a for a in inside.attributes if a.name in rounded]
                found |= {
                    a.name: a.exact_means(block.labels, weights)
                    if isinstance(a, Averaged)
                    else a.centroid(block.labels, weights, resolution=None)
                    for a in numbers
                }
            else:
                made = self._released(inside, block, weights, {})
                found |= {name: column for name, column in made.items() if name in rounded}
        return found

    def _released(
        self,
        points: Points,
        block: Block,
        weights: NDArray[np.float64] | None,
        resolutions: Mapping[str, Resolution],
    ) -> dict[str, pa.Array]:
        """Return the released columns of a block; `points` are those of its attributes."""
        if block.values is None:

            def centroid(attribute: Attribute) -> pa.Array:
                return attribute.centroid(
                    block.labels,
                    weights,
                    resolution=resolutions.get(attribute.name),
                    categories=self.categories,
                    trim=self.trimmed,
                )

            columns = each(centroid, points.attributes)
            return {a.name: column for a, column in zip(points.attributes, columns, strict=True)}
        if weights is not None:
            raise ParameterError(
                f"{type(self).__name__}: a method that computes the values itself has no means to weight. Set "
                "release_weight = record, or choose another method."
            )
        released = {}
        for attribute in points.attributes:
            if not isinstance(attribute, Numbers):
                raise SchemaError(
                    f"Column {attribute.name!r}: this method computes the released values itself, and only for "
                    "numbers, dates and ranks without missing values. Choose another method, exclude records "
                    "(when_missing), or give it another role."
                )
            (j,) = points.places[attribute.name]
            released[attribute.name] = attribute.decode(
                points.footings[j].undo(block.values[:, j]), resolution=resolutions.get(attribute.name)
            )
        return released


@dataclass(frozen=True)
class Centroid(ClassValues):
    """Class mean in place of each quasi-identifier.

    Numbers: the mean, weighted if the table has sampling weights, rounded to the column's own decimals or to the
    declared resolution: integers stay integers. With `exact_means` all digits are released, as float64, and (weighted)
    totals are kept; the digits disclose sums over the members of a class. Dates and times: the mean moment, in whole
    units. Ordered categories: the (weighted) median, the lower of two.

    Categories without an order have no mean. By `categories`, a class is released as ``leaf``, the category of least
    total distance to its members; ``node``, the category or group of the taxonomy of least total distance; or
    ``ancestor``, the lowest group that contains all members, which is true of each. The group above all others is
    ``*``. Names of groups are text, and so is the column then.

    If a method computes the released values itself, these are released, in the column's type, in place of means.

    **Guarantee.** Records of a class are equal in its block's attributes, and the order of its members does not change
    a bit of its values; other columns are unchanged; identifiers and subjects are removed; rows and columns keep their
    order.
    """

    takes: ClassVar[tuple[str, ...]] = ("resolution", "exact_means")
    publishes_readings: ClassVar[bool] = True

    round_integers: Annotated[bool, Param("Always true: integers are released as integers.")] = True
    limits: ClassVar[str] = (  #: for the report: what to know beyond its privacy model
        "Each class is released as the mean of its records, a combination that may belong to no record."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.round_integers:
            raise ParameterError(
                "Centroid: round_integers must be true or left out, got false: integers are released as integers. For "
                "means with all digits set exact_means = true in the recipe."
            )
