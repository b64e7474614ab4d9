"""First pass over a table on disk: its facts for the plan, and its columns as scratch for the passes that follow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress, secret
from shoal.errors import DataError, SchemaError, data_rows, rows_kept
from shoal.flow.engines.disk.columns import QuasiColumn
from shoal.flow.engines.disk.ordered_categories import OrderedCategories
from shoal.flow.engines.disk.row_order import Steps
from shoal.flow.engines.disk.store import ROW, SUBJECT
from shoal.flow.stages.encode import numbers_in
from shoal.flow.stages.summary import Summary, Tally
from shoal.flow.stages.values import lacking_a_value, told_apart
from shoal.recipe.recipe import Recipe
from shoal.types import Dialect, Kind, Role, Schema, Table

WEIGHT, STRATUM = "\0weight", "\0stratum"  #: scratch columns next to the quasi-identifiers; no column is named so
_DIGEST = 16  # bytes of the keyed digest of a person
_SCRATCH = "rows"


@dataclass
class Survey:
    """The facts of a table, and where its columns are stored."""

    schema: Schema
    recipe: Recipe
    missing: str
    columns: list[QuasiColumn]
    records: int = 0  #: released records
    read: int = 0  #: records of the input
    kept: list[NDArray[np.bool_]] = field(default_factory=list)  #: of each batch, if some records are excluded
    strata: Tally | None = None
    stratum_of: dict[tuple[object, ...], int] = field(default_factory=dict)
    heaviest: float = 0.0
    dialect: Dialect | None = None
    key: bytes = field(default_factory=secret.fresh, repr=False)  #: of the digests of people
    steps: Steps = field(init=False)
    ordered: OrderedCategories = field(default_factory=OrderedCategories)
    path: Path = Path()

    def __post_init__(self) -> None:
        self.steps = Steps(self.recipe)

    def parts(self) -> Iterator[pa.Table]:
        """Yield the stored columns, batch by batch, with row numbers from 0."""
        with pa.OSFile(str(self.path), "rb") as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])

    def summary(self) -> Summary:
        """Return what the plan must know."""
        return Summary(self.records, {one.name: one.summary() for one in self.columns}, self.strata)


def survey(
    tables: Callable[[], Iterator[Table]], schema: Schema, recipe: Recipe, folder: Path, total: int | None
) -> Survey:
    """Read a table once: check its cells, gather its facts, and store the columns that form classes.

    Parameters
    ----------
    tables
        Yields the table, batch by batch.
    schema, recipe
        The meaning of its columns, and the request.
    folder
        The scratch folder.
    total
        Number of records, for the progress bar; None: unknown.
    """
    missing = "fill" if recipe.when_missing == "fill" else "category"
    columns = [QuasiColumn(schema[name], missing) for name in schema.names(Role.QUASI)]
    found = Survey(schema, recipe, missing, columns, path=folder / _SCRATCH)
    writer: pa.RecordBatchStreamWriter | None = None
    with pa.OSFile(str(found.path), "wb") as file:
        for batch in tables():
            progress.report(found.read, total or found.read + len(batch))
            numbers = np.arange(found.read, found.read + len(batch))
            found.read += len(batch)
            found.dialect = batch.dialect
            with rows_kept(numbers):
                complete = _complete(batch, found)
            table = batch if complete is None else replace(batch, data=batch.data.take(complete))
            if len(table) == 0:
                continue
            with rows_kept(numbers if complete is None else numbers[complete]):
                stored = _stored(table, found)
            if writer is None:
                writer = pa.ipc.new_stream(file, stored.schema)
            writer.write_table(stored.cast(writer_schema(stored)))
        if writer is None:
            raise DataError(
                "Recipe: when_missing must leave records, but all of them lack a quasi-identifier and would be "
                "excluded. Choose another when_missing, or other quasi-identifiers."
            )
        writer.close()
    if found.read > found.records:
        for one in columns:
            one.drop_unused()
    if recipe.weight is not None and found.heaviest == 0.0:
        raise DataError(f"Column {recipe.weight!r}: some weight must be > 0, all are 0. Name the right column.")
    return found


def writer_schema(table: pa.Table) -> pa.Schema:
    """Return the schema of stored columns, without metadata of the input."""
    return pa.schema([pa.field(one.name, one.type) for one in table.schema])


def _complete(table: Table, found: Survey) -> NDArray[np.int64] | None:
    """Return the rows of a batch that are released, if records that lack a value are excluded; None: all."""
    if found.recipe.when_missing != "exclude":
        return None
    found.kept.append(~lacking_a_value(table))
    return None if found.kept[-1].all() else np.flatnonzero(found.kept[-1])


def _stored(table: Table, found: Survey) -> pa.Table:
    """Return the stored columns of a batch."""
    found.ordered.add(table.data)
    if found.recipe.row_order == "auto":
        found.steps.add(table)
    values: dict[str, pa.Array] = {one.name: one.add(table) for one in found.columns}
    extra = {WEIGHT: _weights(table, found), STRATUM: _strata(table, found), SUBJECT: _people(table, found)}
    values |= {name: one for name, one in extra.items() if one is not None}
    rows = len(next(iter(values.values())))
    values = {ROW: pa.array(np.arange(found.records, found.records + rows)), **values}
    found.records += rows
    return pa.table(values)


def _weights(table: Table, found: Survey) -> pa.Array | None:
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


def _people(table: Table, found: Survey) -> pa.Array | None:
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


def _strata(table: Table, found: Survey) -> pa.Array | None:
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
        keys = [(*keys[at // len(values)], values[at % len(values)]) for at in both.tolist()]
    own = [found.stratum_of.setdefault(key, len(found.stratum_of)) for key in keys]
    return pa.array(np.array(own, np.int32)[codes])
