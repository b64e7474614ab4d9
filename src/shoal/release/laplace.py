"""Laplace: the mean of each class with noise, so that ε-differential privacy holds of what is claimed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.parameters import Checked, Param
from shoal.release._budget import shares
from shoal.release._cells import Cells
from shoal.release._noise import Noise
from shoal.release._refused import refuse_missing, refuse_table, refuse_unknown
from shoal.release._representative import STAND_INS
from shoal.release._taken import refuse_values
from shoal.types import (
    Block,
    Domain,
    Entry,
    Kind,
    Ledger,
    Numbers,
    Partition,
    Points,
    Release,
    Role,
    Schema,
    Table,
    domains,
    with_columns,
)

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Laplace(Checked):
    """Class means with Laplace noise, one draw for each class and attribute, shared by its members ([SD17]).

    Categories with a taxonomy leave as one of its categories, drawn by the exponential mechanism: the nearer to the
    members of the class, the likelier.

    Values beyond the bounds are moved to them before, and so is what leaves. What ε means depends on the claim:

    - ``microaggregated``: neighbours are two microaggregated data sets with the same classes. The mean of class C
      changes by at most ΔD/|C|, so the scale is ΔD/(|C|·ε), ΔD added up over the attributes of the block.
    - ``original``: neighbours are two tables that differ in one record. Needs the method ``insensitive``, which says,
      with a proof, how far the list of all means can move, and of categories their scores; the scale is the same for
      all classes. Only attributes with noise leave. Rows keep the order of the table, which must be a random one: that
      of the input would tell ranks.

    A medoid in place of the mean moves as far as a record can: no division by |C|; see `_representative.py`.

    **Guarantee.** Records of a class are equal in its block's attributes. The noise is at least what ε needs. Sums are
    correctly rounded, whatever the order of rows, and what rounding is left is added to the sensitivity.

    **Complexity.** O(nd) and a draw for each class and attribute, about 30 µs each.

    **Departures.** [SD17] take 1.5 times the largest value as bound, which tells it; here bounds come from the user.
    Within a block attributes share ε in proportion to their widths, which is Algorithm 1: one scale for all of them.

    References: [SD17] Algorithms 1 and 2, Expression (1).

    >>> Laplace(epsilon=1.0, bounds={"age": [0, 120]}).claim
    'microaggregated'
    """

    fate: ClassVar[str] = "value of its class with noise"
    takes: ClassVar[tuple[str, ...]] = ("epsilon", "bounds", "claim")

    epsilon: Annotated[float | Mapping[str, float], Param("The privacy budget, or that of each attribute.")]
    bounds: Annotated[Mapping[str, Any] | str, Param("For each attribute the ends of its domain.")]
    claim: Annotated[Literal["microaggregated", "original"], Param("What differential privacy is claimed for.")] = (
        "microaggregated"
    )
    representative: Annotated[
        Literal["mean", "medoid"],
        Param("What noise is added to: the mean of a class, or its medoid, which takes as much as a single record."),
    ] = "mean"
    split: Annotated[
        Literal["even", "expression1", "least"],
        Param(
            "How blocks share epsilon: evenly, by their widths ([SD17] Expression (1)), or as the method weighed it."
        ),
    ] = "even"
    round_integers: Annotated[bool, Param("Round the values of integer columns to integers.")] = False
    not_private_seed: Annotated[
        int | None, Param("For tests: where the noise starts. What leaves is NOT private then.", low=0)
    ] = None

    def refuse(self, table: Table) -> None:
        """Refuse a table that noise cannot be added to so that the claim is true, before work is done on it."""
        refuse_table(self, table.schema)

    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Replace each quasi-identifier by its class's mean with noise."""
        self.refuse(table)
        refuse_missing(table)
        refuse_values(self, partition)
        refuse_unknown(self, partition)
        numbers = [a for a in points.attributes if isinstance(a, Numbers)]
        cells = Cells(table, {a.name: a.values for a in numbers}, domains(self.bounds, numbers))
        noise = Noise(self.not_private_seed)
        budget = shares(self, partition, cells.limits)
        entries: list[Entry] = []
        released: dict[str, pa.Array] = {}
        for number, block in enumerate(partition.blocks):
            stand = STAND_INS[self.representative](block, partial(cells.near, block))
            for name in block.attributes:
                reach = self._reach(stand.block, name, cells, len(table))
                values, scales = cells.drawn(name, stand, (reach, budget[name]), noise)
                released[name] = self._column(values, block.labels, cells.limits.get(name), table.schema[name].kind)
                entries.append(Entry(number, name, budget[name], cells.mechanism(name), reach, scales))
        ledger = self._ledger(table, cells, tuple(entries), noise, partition)
        return _as_release(table, released, partition, ledger)

    def _reach(self, block: Block, name: str, cells: Cells, n: int) -> NDArray[np.float64]:
        """Return by how much the value of each class can change, or as one number the list of all; with rounding."""
        width, rounding = cells.width(name), 1.0 + 2.0**-40 + n * 2.0**-50
        if self.claim == "original":
            assert block.moves is not None  # or it was refused
            steps = dict(zip(block.attributes, block.moves, strict=True))
            return np.array([steps[name] * width * rounding + len(block) * width * 2.0**-50])
        return np.asarray(width / block.sizes * rounding)  # [SD17] Proposition 2

    def _column(
        self, values: NDArray[np.float64] | pa.Array, labels: NDArray[np.int64], domain: Domain | None, kind: Kind
    ) -> pa.Array:
        """Return the values of classes as records leave with them; numbers within the bounds."""
        import pyarrow as pa

        if domain is None:
            return values.take(pa.array(labels))
        if not (self.round_integers and kind is Kind.INTEGER):
            return pa.array(values[labels])
        low, high = max(math.ceil(domain.low), -(2**62)), min(math.floor(domain.high), 2**62)
        if low > high:
            raise ParameterError("Laplace: bounds must hold an integer where integers are rounded. Widen them.")
        return pa.array(np.clip(np.rint(np.clip(values[labels], low, high)).astype(np.int64), low, high))

    def _ledger(
        self,
        table: Table,
        cells: Cells,
        entries: tuple[Entry, ...],
        noise: Noise,
        partition: Partition,
    ) -> Ledger:
        beyond = {name: cells.limits[name].beyond(values) for name, values in cells.numbers.items()}
        leaves = [c.name for c in table.schema.columns if c.role.leaves and c.role is not Role.QUASI]
        return Ledger(
            self.claim,
            entries,
            cells.limits,
            {name: count for name, count in beyond.items() if count},
            tuple(leaves),
            noise.name,
            from_data=isinstance(self.bounds, str),
            seeded=self.not_private_seed is not None,
            strips=partition.blocks[0].strips if self.claim == "original" else (),
            weighed=not isinstance(self.epsilon, Mapping)
            and any(block.share is not None for block in partition.blocks),
            representative=self.representative,
        )


def _as_release(table: Table, released: dict[str, pa.Array], partition: Partition, ledger: Ledger) -> Release:
    data = table.data.select([name for name in table.data.column_names if table.schema[name].role.leaves])
    return Release(
        with_columns(data, released),
        Schema(tuple(column for column in table.schema.columns if column.role.leaves)),
        table.dialect,
        classes={name: block.labels for block in partition.blocks for name in block.attributes},
        ledger=ledger,
    )
