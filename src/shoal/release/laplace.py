"""Laplace: the mean of each class with noise, so that ε-differential privacy holds of what is claimed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError, SchemaError, listing, raise_all
from shoal.parameters import Checked, Param
from shoal.release._budget import shares
from shoal.release._noise import Noise
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

_NUMERIC = (Kind.CONTINUOUS, Kind.INTEGER)


@dataclass(frozen=True)
class Laplace(Checked):
    """Class means with Laplace noise, one draw for each class and attribute, shared by its members ([SD17]).

    Values beyond the bounds are moved to them before, and so is what leaves. What ε means depends on the claim:

    - ``microaggregated``: neighbours are two microaggregated data sets with the same classes. The mean of class C
      changes by at most ΔD/|C|, so the scale is ΔD/(|C|·ε), ΔD added up over the attributes of the block.
    - ``original``: neighbours are two tables that differ in one record. Needs the method ``insensitive``, which says,
      with a proof, how far the list of all means can move; the scale is the same for all classes. Only the attributes
      with noise leave, and rows leave in the order of the classes: the order of the input would tell ranks.

    **Guarantee.** Records of a class are equal in its block's attributes. The noise is at least what ε needs. Sums are
    correctly rounded, whatever the order of rows, and what rounding is left is added to the sensitivity.

    **Complexity.** O(nd) and a draw for each class and attribute, about 30 µs each.

    **Departures.** [SD17] take 1.5 times the largest value as bound, which tells it; here bounds come from the user.
    Within a block attributes share ε in proportion to their widths, which is Algorithm 1: one scale for all of them.

    References: [SD17] Algorithms 1 and 2, Expression (1).

    >>> Laplace(epsilon=1.0, bounds={"age": [0, 120]}).claim
    'microaggregated'
    """

    fate: ClassVar[str] = "mean of its class with noise"
    takes: ClassVar[tuple[str, ...]] = ("epsilon", "bounds", "claim")

    epsilon: Annotated[float | Mapping[str, float], Param("The privacy budget, or that of each attribute.")]
    bounds: Annotated[Mapping[str, Any] | str, Param("For each attribute the ends of its domain.")]
    claim: Annotated[Literal["microaggregated", "original"], Param("What differential privacy is claimed for.")] = (
        "microaggregated"
    )
    split: Annotated[
        Literal["even", "expression1"],
        Param("How blocks share epsilon: evenly, or in proportion to their widths, [SD17] Expression (1)."),
    ] = "even"
    round_integers: Annotated[bool, Param("Round the values of integer columns to integers.")] = False
    not_private_seed: Annotated[
        int | None, Param("For tests: where the noise starts. What leaves is NOT private then.", low=0)
    ] = None

    def refuse(self, table: Table) -> None:
        """Refuse a table that noise cannot be added to so that the claim is true, before work is done on it."""
        schema = table.schema
        faults = [
            f"Column {name!r}: {schema[name].kind} attributes cannot have noise, only numbers can. Give it another "
            f"role, or take another release."
            for name in schema.names(Role.QUASI)
            if schema[name].kind not in _NUMERIC
        ]
        raise_all(SchemaError, faults)
        if not isinstance(self.bounds, str) and (
            lacking := [name for name in schema.names(Role.QUASI) if name not in self.bounds]
        ):
            raise ParameterError(
                f"Laplace: bounds must name every quasi-identifier, {listing(lacking)} has none. Give the ends of its "
                f"domain, from what is known without the data."
            )
        for role in (Role.WEIGHT, Role.SUBJECT):
            if schema.names(role):
                raise ParameterError(
                    f"Laplace: there must be no column of role {role}, got one: ε is for single records, all of the "
                    f"same weight. Leave it out, or make it an identifier, which does not leave."
                )
        stays = [c.name for c in schema.columns if c.role.leaves and c.role is not Role.QUASI]
        if self.claim == "original" and stays:
            raise ParameterError(
                f"Laplace: with claim = original only columns with noise may leave, but {listing(stays)} would leave "
                f"as they are. Make them identifiers, which do not leave, or quasi-identifiers."
            )

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
        refuse_values(self, partition)
        _refuse_unknown(self, points, partition)
        numbers = [a for a in points.attributes if isinstance(a, Numbers)]
        limits = domains(self.bounds, numbers)
        noise = Noise(self.not_private_seed)
        budget = shares(self, partition, limits)
        order = np.argsort(partition.labels, kind="stable") if self.claim == "original" else None
        entries: list[Entry] = []
        released: dict[str, pa.Array] = {}
        for number, block in enumerate(partition.blocks):
            for j, attribute in enumerate(a for a in numbers if a.name in block.attributes):
                name, domain = attribute.name, limits[attribute.name]
                reach = _reach(block, j, domain, len(table), whole=self.claim == "original")
                values, scales = noisy(attribute.values, block.labels, domain, (reach, budget[name]), noise)
                entries.append(Entry(number, name, budget[name], "laplace", reach, scales))
                rows = values[block.labels] if order is None else values[block.labels][order]
                released[name] = self._column(rows, domain, table.schema[name].kind)
        ledger = self._ledger(table, numbers, limits, tuple(entries), noise, partition)
        return _as_release(table, released, partition, ledger, order)

    def _column(self, values: NDArray[np.float64], domain: Domain, kind: Kind) -> pa.Array:
        """Return numbers as they leave, within the bounds."""
        import pyarrow as pa

        if not (self.round_integers and kind is Kind.INTEGER):
            return pa.array(values)
        low, high = max(math.ceil(domain.low), -(2**62)), min(math.floor(domain.high), 2**62)
        if low > high:
            raise ParameterError("Laplace: bounds must hold an integer where integers are rounded. Widen them.")
        return pa.array(np.clip(np.rint(np.clip(values, low, high)).astype(np.int64), low, high))

    def _ledger(
        self,
        table: Table,
        numbers: list[Numbers],
        limits: Mapping[str, Domain],
        entries: tuple[Entry, ...],
        noise: Noise,
        partition: Partition,
    ) -> Ledger:
        beyond = {a.name: limits[a.name].beyond(a.values) for a in numbers}
        leaves = [c.name for c in table.schema.columns if c.role.leaves and c.role is not Role.QUASI]
        return Ledger(
            self.claim,
            entries,
            limits,
            {name: count for name, count in beyond.items() if count},
            tuple(leaves),
            noise.name,
            from_data=isinstance(self.bounds, str),
            seeded=self.not_private_seed is not None,
            strips=partition.blocks[0].strips if self.claim == "original" else (),
        )


def noisy(
    values: NDArray[np.float64],
    labels: NDArray[np.int64],
    domain: Domain,
    cost: tuple[NDArray[np.float64], float],
    noise: Noise,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of each class with noise, within the bounds, and the scale of the noise of each class.

    `cost` is by how much the mean of each class can change (or, as one number, the list of all), and ε.
    """
    reach, epsilon = cost
    offsets = domain.clamped(values) - domain.low  # from 0: what is rounded is then small beside the width
    means = exact_means(offsets, labels)
    every = np.broadcast_to(reach, means.shape)
    found, scales = np.empty(len(means)), np.empty(len(means))
    for one in np.unique(every):  # classes of one size at once: by parallel composition each has ε
        where = np.flatnonzero(every == one)
        found[where], scales[where] = noise.laplace(means[where], float(one), epsilon)
    return domain.clamped(found + domain.low), scales


def exact_means(values: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each class from its correctly rounded sum: no order of rows changes a bit of it.

    >>> exact_means(np.array([1e16, 1.0, -1e16, 5.0]), np.array([0, 0, 0, 1])).tolist()
    [0.3333333333333333, 5.0]
    """
    order = np.argsort(labels, kind="stable")
    cuts = np.cumsum(np.bincount(labels))[:-1]
    return np.array([math.fsum(part.tolist()) / len(part) for part in np.split(values[order], cuts)])


def _reach(block: Block, j: int, domain: Domain, n: int, *, whole: bool) -> NDArray[np.float64]:
    """Return by how much the mean of each class can change, or as one number the list of all; rounding included."""
    rounding = 1.0 + 2.0**-40 + n * 2.0**-50
    if whole:
        assert block.moves is not None  # or it was refused
        return np.array([block.moves[j] * domain.width * rounding])
    return domain.width / block.sizes * rounding  # [SD17] Proposition 2


def _refuse_unknown(release: Laplace, points: Points, partition: Partition) -> None:
    """Refuse missing values, and classes of which it is not known what one record moves."""
    if odd := [a.name for a in points.attributes if not isinstance(a, Numbers)]:
        raise DataError(
            f"Laplace: columns with noise must have no missing values, {listing(odd)} has some. Exclude these records "
            f"(when_missing), or fill them before."
        )
    known = len(partition.blocks) == 1 and partition.blocks[0].moves is not None
    if release.claim == "original" and not known:
        raise ParameterError(
            "Laplace: with claim = original the classes must come from an order that does not depend on the data, "
            "these do not. Take the method insensitive, for one block."
        )


def _as_release(
    table: Table, released: dict[str, pa.Array], partition: Partition, ledger: Ledger, order: NDArray[np.int64] | None
) -> Release:
    data = table.data.select([name for name in table.data.column_names if table.schema[name].role.leaves])
    return Release(
        with_columns(data, released),
        Schema(tuple(column for column in table.schema.columns if column.role.leaves)),
        table.dialect,
        classes={
            name: block.labels if order is None else block.labels[order]
            for block in partition.blocks
            for name in block.attributes
        },
        ledger=ledger,
        order=order,
    )
