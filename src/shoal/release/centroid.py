"""Centroid: every member of a class leaves with the class's mean; totals are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.parameters import Checked, Param
from shoal.types import Block, Numbers, Partition, Points, Release, Role, Schema, Table, with_columns

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Centroid(Checked):
    """The mean of the class in place of each quasi-identifier.

    Numbers: the mean, weighted where the table has sampling weights, so that (weighted) totals are kept. Integers
    leave as numbers with decimals unless `round_integers`. Dates and times: the mean moment, to the nearest tick
    of the column's type. Ordered categories: the (weighted) median, of two the lower.

    Categories without an order have no mean. By `categories`, a class leaves as ``leaf``, the category of least total
    distance to its members; ``node``, the category or group of the taxonomy of least total distance; or ``ancestor``,
    the lowest group that all members are in, which is true of each. What is above all groups is ``*``. Names of groups
    are text, and so is the column then.

    A method may make the values that leave itself: then these leave, in the column's type, in place of means.

    **Guarantee.** Records of a class are equal in its block's attributes; what is not a quasi-identifier is
    unchanged; identifiers and subjects are gone; rows and columns keep their order.
    """

    publishes_readings: ClassVar[bool] = True

    round_integers: Annotated[bool, Param("Round the means of integer columns to integers.")] = False
    categories: Annotated[
        Literal["leaf", "node", "ancestor"],
        Param("Categories: the likest one, the likest one or group, or the lowest group that all are in."),
    ] = "leaf"

    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Replace each quasi-identifier by its class's centroid."""
        data = table.data.select([name for name in table.data.column_names if table.schema[name].role.leaves])
        released: dict[str, pa.Array] = {}
        for block in partition.blocks:
            released |= self._released(points.only(block.attributes), block, weights)
        subjects = table.schema.names(Role.SUBJECT)
        return Release(
            with_columns(data, released),
            Schema(tuple(c for c in table.schema.columns if c.role.leaves)),
            table.dialect,
            table.data.column(subjects[0]) if subjects else None,
        )

    def _released(self, points: Points, block: Block, weights: NDArray[np.float64] | None) -> dict[str, pa.Array]:
        """Return the columns of a block as they leave; `points` are those of its attributes."""
        whole = self.round_integers
        if block.values is None:
            return {
                a.name: a.centroid(block.labels, weights, whole=whole, categories=self.categories)
                for a in points.attributes
            }
        if weights is not None:
            raise ParameterError(
                "Centroid: a method that makes the values itself has no means to weight. Leave out the weight column's "
                "role, or take another method."
            )
        released = {}
        for attribute in points.attributes:
            if not isinstance(attribute, Numbers):
                raise SchemaError(
                    f"Column {attribute.name!r}: this method makes the values that leave itself, and can do so for "
                    f"numbers, moments and ranks only, none of them missing. Take another method, exclude records "
                    f"(when_missing), or give it another role."
                )
            (j,) = points.places[attribute.name]
            released[attribute.name] = attribute.decode(points.footings[j].undo(block.values[:, j]), whole=whole)
        return released
