"""Medoid: every member of a class gets the quasi-identifiers of its most central record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.class_statistics import class_means
from shoal.parameters import Checked
from shoal.release._taken_cells import cell_ranks, refuse_values, taken
from shoal.types import Coded, Partition, Points, Release, Table, sort_keys
from shoal.types.protocols import Releaser

_TIE = 1e-9  # of the largest squared distance of a class: records within this tolerance are equally near


@dataclass(frozen=True)
class Medoid(Checked, Releaser):
    """Quasi-identifiers of one record of the class in place of all of them.

    The medoid is the record nearest to the class's mean in the points, where attributes are scaled and weighted; the
    mean is weighted if the table has sampling weights. Among several equally near records it is the lowest by its
    values, in any row order. Cells are released as written.

    **Guarantee.** Records of a class are equal in its block's attributes, and have there the values of one of them:
    with one block, every released combination was in the table. Other columns are unchanged; identifiers and subjects
    are removed; rows and columns keep their order. Nothing is random.

    **Complexity.** O(nd) for n records in d coordinates.

    **Departures.** The record of least total squared distance to its class is the record nearest to the mean, so the
    search is for the latter. Totals are not kept.

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> table = Table(pa.table({"age": [30, 31, 50]}), Schema((Column("age", Role.QUASI, Kind.INTEGER),)))
    >>> points = Points(np.array([[30.0], [31.0], [50.0]]), ("age",))
    >>> part = Partition.of(np.array([0, 0, 0]), ["age"])
    >>> Medoid().release(table, points, part, None, np.random.default_rng(0)).data["age"].to_pylist()
    [31, 31, 31]
    """

    as_written: ClassVar[bool] = True
    publishes_readings: ClassVar[bool] = True
    fate: ClassVar[str] = "as in one record per class"
    limits: ClassVar[str] = (  #: for the report: what to know beyond its privacy model
        "Each class is released with the quasi-identifiers of one of its records: they are true of that record, not of "
        "the others."
    )

    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Give each record the quasi-identifiers of its class's medoid."""
        refuse_values(self, partition)
        rows: dict[str, NDArray[np.int64]] = {}
        for block in partition.blocks:
            cells = [cell_ranks(table.data.column(name)) for name in block.attributes]
            chosen = medoids(points.only(block.attributes).x, block.labels, weights, cells)
            rows |= dict.fromkeys(block.attributes, chosen[block.labels])
        return taken(table, rows)


def medoids(
    x: NDArray[np.float64] | Coded,
    labels: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    cells: Sequence[NDArray[np.int64]] = (),
) -> NDArray[np.int64]:
    """Return the record of each class nearest to the class's (weighted) mean.

    Ties go to the lowest by value, then by the ranks of its cells: equal numbers may be written differently.
    """
    near = np.zeros(len(labels))
    numbers = x.numbers if isinstance(x, Coded) else x
    heaviest = float(np.sqrt(x.layout.weight.max())) if isinstance(x, Coded) else 0.0
    largest = max(float(np.abs(numbers).max(initial=0.0)), heaviest) or 1.0  # squares must not overflow
    for at in x.layout.order.tolist() if isinstance(x, Coded) else range(x.shape[1]):
        if at < 0:
            assert isinstance(x, Coded)
            near += x.from_means(~at, labels, weights) / largest / largest
        else:
            scaled = numbers[:, at] / largest
            near += (scaled - class_means(scaled, labels, weights)[labels]) ** 2
    classes = int(labels.max(initial=-1)) + 1
    least, most = np.full(classes, np.inf), np.zeros(classes)
    np.minimum.at(least, labels, near)
    np.maximum.at(most, labels, near)
    nearest = np.flatnonzero(near - least[labels] <= _TIE * most[labels])
    keys = [*(key[nearest] for key in sort_keys(x)), *(ranks[nearest] for ranks in cells)]
    ordered = nearest[np.lexsort((*keys[::-1], labels[nearest]))]
    return np.asarray(ordered[np.unique(labels[ordered], return_index=True)[1]])
