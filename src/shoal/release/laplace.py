"""Laplace: the mean of each class with noise, for ε-differential privacy of the stated claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.parameters import Checked, Param
from shoal.release._noise_claims import refuse_missing, refuse_table, refuse_unknown, shares
from shoal.release._noise_representative import STAND_INS, Cells, as_declared
from shoal.release._noise_sampler import Grid, Noise, step_of
from shoal.release._taken_cells import refuse_values
from shoal.types import (
    Block,
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
from shoal.types.protocols import Releaser


@dataclass(frozen=True)
class Laplace(Checked, Releaser):
    """Class means with Laplace noise, one draw for each class and attribute, shared by its members ([SD17]).

    Categories with a taxonomy are released as one of its categories, drawn by the exponential mechanism: the nearer to
    the members of the class, the more likely.

    Values are clipped to the bounds before noise is added, and noisy values are clipped again. Each of these is then
    rounded on its own: integers to whole numbers, other numbers to the resolution that the recipe declares, if any; see
    `_noise_sampler.py`. The meaning of ε depends on the claim:

    - ``microaggregated``: neighbours are two microaggregated data sets with the same classes. The mean of class C
      changes by at most ΔD/|C|, so the scale is ΔD/(|C|·ε), with ΔD summed over the attributes of the block.
    - ``original``: neighbours are two tables that differ in one record. Needs the method ``insensitive``, which bounds,
      with a proof, how far the list of all means, or the scores of categories, can move; the scale is the same for all
      classes. Only attributes with noise are released. Rows keep the order of the table, which must be random: that of
      the input would disclose ranks. Types, digits, categories and their order come from the recipe.

    A medoid in place of the mean moves as far as a record can: no division by |C|; see `_noise_representative.py`.

    **Guarantee.** Records of a class are equal in its block's attributes. The noise is at least what ε needs. Sums are
    correctly rounded in any row order, and remaining rounding errors are added to the sensitivity. Rounding noisy
    values is post-processing, because the resolution never depends on the data: it costs no privacy. Rounded values
    stay inside the bounds.

    **Complexity.** O(nd) and a draw for each class and attribute, about 30 µs each.

    **Departures.** [SD17] take 1.5 times the largest value as bound, which discloses it; here bounds come from the
    user. Within a block, attributes share ε in proportion to their widths, which is Algorithm 1: one scale for all of
    them.

    References: [SD17] Algorithms 1 and 2, Expression (1).

    >>> Laplace(epsilon=1.0, bounds={"age": [0, 120]}).claim
    'microaggregated'
    """

    fate: ClassVar[str] = "value of its class with noise"
    takes: ClassVar[tuple[str, ...]] = ("epsilon", "bounds", "claim", "resolution", "exact_means")

    epsilon: Annotated[float | Mapping[str, float], Param("The privacy budget, or that of each attribute.")]
    bounds: Annotated[Mapping[str, Any] | str, Param("The ends of each attribute's domain.")]
    claim: Annotated[Literal["microaggregated", "original"], Param("What differential privacy is claimed for.")] = (
        "microaggregated"
    )
    representative: Annotated[
        Literal["mean", "medoid"],
        Param("Value that noise is added to: a class's mean, or its medoid, which needs as much noise as one record."),
    ] = "mean"
    split: Annotated[
        Literal["even", "expression1", "least"],
        Param("How blocks share epsilon: evenly, by their widths ([SD17] Expression (1)), or as the method chose."),
    ] = "even"
    round_integers: Annotated[
        bool, Param("Accepted for old recipes: integers are always whole numbers, unless exact_means.")
    ] = True
    not_private_seed: Annotated[
        int | None, Param("For tests: seed of the noise. The release is NOT private then.", low=0)
    ] = None
    resolution: Annotated[Mapping[str, Any], Param("The step of each attribute's released values.")] = field(
        default_factory=dict
    )
    exact_means: Annotated[bool, Param("Release all digits: noisy values are not rounded.")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.round_integers:
            raise ParameterError(
                "Laplace: round_integers must be true, got False. To release noisy values with all their digits, "
                "leave it out and set exact_means = true in the recipe (--exact-means)."
            )

    def refuse(self, schema: Schema) -> None:
        """Refuse a table for which noise cannot make the claim true, before work is done on it."""
        refuse_table(self, schema)

    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Replace each quasi-identifier by its class's mean with noise."""
        self.refuse(table.schema)
        refuse_missing(table)
        refuse_values(self, partition)
        refuse_unknown(self, partition)
        numbers = [a for a in points.attributes if isinstance(a, Numbers)]
        cells = Cells(table, {a.name: a.values for a in numbers}, domains(self.bounds, numbers))
        noise = Noise(self.not_private_seed)
        budget = shares(self, partition, cells.limits)
        grids = self._grids(table.schema, cells)
        entries: list[Entry] = []
        released: dict[str, pa.Array] = {}
        for number, block in enumerate(partition.blocks):
            stand = STAND_INS[self.representative](block, partial(cells.near, block))
            for name in block.attributes:
                reach = self._reach(stand.block, name, cells, len(table))
                values, scales = cells.drawn(name, stand, (reach, budget[name]), noise)
                released[name] = self._column(name, values, grids, table.schema).take(pa.array(block.labels))
                entries.append(Entry(number, name, budget[name], cells.mechanism(name), reach, scales))
        steps = {name: float(grid.step) for name, grid in grids.items()}
        ledger = self._ledger(table, cells, tuple(entries), noise, partition, steps)
        return _as_release(table, released, partition, ledger)

    def _reach(self, block: Block, name: str, cells: Cells, n: int) -> NDArray[np.float64]:
        """Return the largest change of each class's value, or of the list of all as one number, including rounding."""
        width, rounding = cells.width(name), 1.0 + 2.0**-40 + n * 2.0**-50
        if self.claim == "original":
            assert block.moves is not None  # otherwise it was refused
            steps = dict(zip(block.attributes, block.moves, strict=True))
            return np.array([steps[name] * width * rounding + len(block) * width * 2.0**-50])
        return np.asarray(width / block.sizes * rounding)  # [SD17] Proposition 2

    def _grids(self, schema: Schema, cells: Cells) -> dict[str, Grid]:
        """Return the grid that each rounded attribute is rounded to."""
        if self.exact_means:
            return {}
        steps = {name: step_of(schema[name].kind, self.resolution.get(name)) for name in cells.limits}
        return {
            name: Grid.of(name, step, cells.limits[name], whole=schema[name].kind is Kind.INTEGER)
            for name, step in steps.items()
            if step is not None
        }

    def _column(
        self, name: str, values: NDArray[np.float64] | pa.Array, grids: Mapping[str, Grid], schema: Schema
    ) -> pa.Array:
        """Return the released values of classes: rounded numbers, or categories."""
        if name in grids:
            return grids[name].rounded(values)
        taxonomy = schema[name].taxonomy
        if self.claim == "original" and taxonomy is not None:  # all of its categories, whichever were drawn
            return as_declared(values, taxonomy)
        return pa.array(values)

    def _ledger(
        self,
        table: Table,
        cells: Cells,
        entries: tuple[Entry, ...],
        noise: Noise,
        partition: Partition,
        steps: Mapping[str, float],
    ) -> Ledger:
        original = self.claim == "original"
        beyond = {} if original else {name: cells.limits[name].beyond(v) for name, v in cells.numbers.items()}
        leaves = [c.name for c in table.schema.columns if c.role.leaves and c.role is not Role.QUASI]
        return Ledger(
            self.claim,
            entries,
            cells.limits,
            None if original else {name: count for name, count in beyond.items() if count},
            tuple(leaves),
            noise.name,
            from_data=isinstance(self.bounds, str),
            seeded=self.not_private_seed is not None,
            strips=partition.blocks[0].strips if original else (),
            weighed=not isinstance(self.epsilon, Mapping)
            and any(block.share is not None for block in partition.blocks),
            representative=self.representative,
            steps=steps,
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
