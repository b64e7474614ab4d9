"""Facts of a table that is read in batches: what a plan must know, and the columns from which classes are formed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import secret
from shoal.errors import DataError, SchemaError, data_rows, raise_all
from shoal.flow.engines.blockwise.columns import QuasiColumn
from shoal.flow.engines.blockwise.ordered_categories import OrderedCategories
from shoal.flow.stages.encode import numbers_in
from shoal.flow.stages.summary import Summary, Tally
from shoal.flow.stages.values import categories, lacking_a_value, told_apart
from shoal.recipe.recipe import Recipe
from shoal.types import Kind, Role, Schema, Table

ROW, SUBJECT = "\0row", "\0subject"  #: row numbers, keyed digests of people; no column has these names
WEIGHT, STRATUM = "\0weight", "\0stratum"  #: more columns in scratch; no column has these names
_DIGEST = 16  # bytes of the keyed digest of a person


@dataclass
class Facts:
    """The facts of a table, as far as it has been read; those of parts can be merged."""

    schema: Schema
    recipe: Recipe
    missing: str
    columns: list[QuasiColumn]
    records: int = 0  #: released records
    read: int = 0  #: records of the input
    strata: Tally | None = None
    stratum_of: dict[tuple[object, ...], int] = field(default_factory=dict)
    heaviest: float = 0.0
    key: bytes = field(default_factory=secret.fresh, repr=False)  #: of the digests of people
    ordered: OrderedCategories = field(default_factory=OrderedCategories)

    def summary(self) -> Summary:
        """Return the facts that the plan needs."""
        return Summary(self.records, {one.name: one.summary() for one in self.columns}, self.strata)

    def add(self, table: Table) -> dict[str, pa.Array]:
        """Take in a batch of released records; return its columns as they are stored.

        Raises
        ------
        DataError
            If values of a column cannot be compared.
        """
        _refuse_incomparable(table.data, self.recipe)
        self.ordered.add(table.data)
        values: dict[str, pa.Array] = {one.name: one.add(table) for one in self.columns}
        self.records += len(table)
        return values | self._beside(table)

    def stored(self, table: Table) -> dict[str, pa.Array]:
        """Return the stored columns of a batch of a table that was read to its end."""
        return {one.name: one.stored(table) for one in self.columns} | self._beside(table)

    def merge(self, other: Facts) -> None:
        """Take in the facts of another part of the table, without its ordered categories."""
        for one, more in zip(self.columns, other.columns, strict=True):
            one.merge(more)
        self.records += other.records
        self.read += other.read
        self.heaviest = max(self.heaviest, other.heaviest)
        if other.strata is not None:
            self.strata = other.strata if self.strata is None else self.strata.merged(other.strata)
        for stratum in other.stratum_of:
            self.stratum_of.setdefault(stratum, len(self.stratum_of))

    def check(self) -> None:
        """Refuse a table that was read to its end and cannot be released.

        Raises
        ------
        DataError
            If no record is left, or no record has a weight.
        """
        if self.records == 0:
            raise DataError(
                "Recipe: when_missing must leave records, but all of them lack a quasi-identifier and would be "
                "excluded. Choose another when_missing, or other quasi-identifiers."
            )
        if self.recipe.weight is not None and self.heaviest == 0.0:
            raise DataError(
                f"Column {self.recipe.weight!r}: some weight must be > 0, all are 0. Name the right column."
            )

    def _beside(self, table: Table) -> dict[str, pa.Array]:
        """Return the stored columns of a batch that are not quasi-identifiers."""
        extra = {WEIGHT: _weights(table, self), STRATUM: _strata(table, self), SUBJECT: _people(table, self)}
        return {name: one for name, one in extra.items() if one is not None}


def complete(table: Table, recipe: Recipe) -> NDArray[np.bool_] | None:
    """Tell which records of a batch are released, if those that lack a quasi-identifier are excluded; None: all."""
    return ~lacking_a_value(table) if recipe.when_missing == "exclude" else None


_OTHERWISE = {
    Role.QUASI: "cannot be compared. Give it another role.",
    Role.CONFIDENTIAL: "cannot be counted. Give the column another role.",
    Role.SUBJECT: "cannot be a subject. Give it another role.",
    Role.STRATA: "cannot be strata. Give it another role.",
}


def _refuse_incomparable(data: pa.Table, recipe: Recipe) -> None:
    """Refuse columns of lists and other types without equality, by their types alone."""
    faults = []
    for role, otherwise in _OTHERWISE.items():
        for name in recipe.columns(role):
            try:
                categories(name, data.column(name).slice(0, 0), otherwise)
            except DataError as error:
                faults.append(str(error))
    raise_all(DataError, faults)


def facts_of(schema: Schema, recipe: Recipe) -> Facts:
    """Return the facts of a table before any of it is read."""
    missing = "fill" if recipe.when_missing == "fill" else "category"
    return Facts(schema, recipe, missing, [QuasiColumn(schema[name], missing) for name in schema.names(Role.QUASI)])


def _weights(table: Table, found: Facts) -> pa.Array | None:
    """Return the weights of a batch, refusing those that no record can have."""
    name = found.recipe.weight
    if name is None:
        return None
    if table.schema[name].kind not in (Kind.CONTINUOUS, Kind.INTEGER):
        raise SchemaError(f"Column {name!r}: a weight must be a number, this one is {table.schema[name].kind}.")
    weights = numbers_in(table, name, "a weight")
    if negative := (weights < 0).nonzero()[0].tolist():
        raise DataError(f"Column {name!r}: weights must be ≥ 0; negative in {data_rows(negative)}. Correct them.")
    found.heaviest = max(found.heaviest, float(weights.max()))
    return pa.array(weights)


def _people(table: Table, found: Facts) -> pa.Array | None:
    """Return the person of each record of a batch, as a digest that cannot be computed without the key of this run."""
    name = found.recipe.subject
    if name is None:
        return None
    encoded = told_apart(table, name, exact=found.recipe.subject_exact).combine_chunks().dictionary_encode()
    digests = [
        hashlib.blake2b(repr(one).encode("utf-8", "surrogatepass"), digest_size=_DIGEST, key=found.key).digest()
        for one in encoded.dictionary.to_pylist()
    ]
    return pa.array(digests, pa.binary(_DIGEST)).take(encoded.indices)


def _strata(table: Table, found: Facts) -> pa.Array | None:
    """Return the stratum of each record of a batch, numbered by first appearance."""
    names = table.schema.names(Role.STRATA)
    if not names:
        return None
    tally = Tally.of(table.data.select(list(names)))
    found.strata = tally if found.strata is None else found.strata.merged(tally)
    codes = np.zeros(len(table), np.int64)
    keys: list[tuple[object, ...]] = [()]
    for name in names:
        column = table.data.column(name)
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        encoded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
        values = encoded.dictionary.to_pylist()
        both, codes = np.unique(codes * len(values) + encoded.indices.to_numpy(), return_inverse=True)
        keys = [(*keys[at // len(values)], *stratum_key(values[at % len(values)])) for at in both.tolist()]
    own = [found.stratum_of.setdefault(key, len(found.stratum_of)) for key in keys]
    return pa.array(np.array(own, np.int32)[codes])


def stratum_key(*cells: object) -> tuple[object, ...]:
    """Return the cells of a stratum so that they can be compared: NaN differs from itself, and −0 equals 0.

    >>> stratum_key("north", -0.0, float("nan"))
    ('north', '-0x0.0p+0', 'nan')
    """
    return tuple(cell.hex() if isinstance(cell, float) else cell for cell in cells)


def cell_of(key: object, kind: pa.DataType) -> object:
    """Return the cell of a stratum with a part of its key."""
    return float.fromhex(key) if isinstance(key, str) and pa.types.is_floating(kind) else key
