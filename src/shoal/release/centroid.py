"""Centroid: every member of a class leaves with the class's mean; totals are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.types import Partition, Points, Release, Role, Schema, Table, with_columns


@dataclass(frozen=True)
class Centroid(Checked):
    """The mean of the class in place of each quasi-identifier.

    Numbers: the mean, weighted where the table has sampling weights, so that (weighted) totals are kept. Integers
    leave as numbers with decimals unless `round_integers`. Dates and times: the mean moment, to the nearest tick
    of the column's type.

    **Guarantee.** Records of a class are equal in its block's attributes; what is not a quasi-identifier is
    unchanged; identifiers and subjects are gone; rows and columns keep their order.
    """

    round_integers: Annotated[bool, Param("Round the means of integer columns to integers.")] = False

    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Replace each quasi-identifier by its class's centroid."""
        attributes = {a.name: a for a in points.attributes}
        labels = {name: block.labels for block in partition.blocks for name in block.attributes}
        data = table.data.select([name for name in table.data.column_names if table.schema[name].role.leaves])
        released = {
            name: attributes[name].centroid(classes, weights, whole=self.round_integers)
            for name, classes in labels.items()
        }
        subjects = table.schema.names(Role.SUBJECT)
        return Release(
            with_columns(data, released),
            Schema(tuple(c for c in table.schema.columns if c.role.leaves)),
            table.dialect,
            table.data.column(subjects[0]) if subjects else None,
        )
