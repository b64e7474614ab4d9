"""Table → Points → Partition → Release, with what it lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal import progress, registry
from shoal.errors import DataError, ParameterError, SchemaError, data_rows, listing, raise_all
from shoal.flow.certifying import certify
from shoal.flow.measuring import measure
from shoal.parameters import build, declarations, unknown
from shoal.recipe import Recipe
from shoal.types import (
    Attribute,
    Certificate,
    Dialect,
    Kind,
    Partition,
    Points,
    Readings,
    Release,
    Role,
    Table,
    with_columns,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def anonymise(
    table: Table, recipe: Recipe, *, certified: bool = False
) -> tuple[Partition, Release, Readings, Certificate | None]:
    """Form the classes of a table, release them, measure what was lost, and certify it if asked to."""
    import numpy as np

    from shoal.points.encoding import Encoding

    method, release, encoding = _components(recipe, Encoding)
    enough_records(type(method).__name__, recipe.k, len(table))
    rng = np.random.default_rng(recipe.seed)
    typed, attributes = encode(table, table.schema.names(Role.QUASI))
    weights = _weights(table)
    points = encoding.encode(attributes)
    progress.stage("Partition")
    strata = _strata(table, recipe.k)
    parts = [_partition(points.only(names), method, strata, rng) for names in recipe.all_blocks]
    partition = Partition(tuple(block for part in parts for block in part.blocks))
    released = release.release(typed, points, partition, weights, rng)
    readings = measure(attributes, released.data)
    certificate = None
    if certified:
        progress.stage("Certify")
        tables = [points.only(block.attributes) for block in partition.blocks]
        certificate = certify(tables, [block.labels for block in partition.blocks], strata, recipe.k)
    return partition, released, readings, certificate


def enough_records(owner: str, k: int, n: int) -> None:
    """Refuse a k that no class of n records can have."""
    if n < k:
        raise DataError(
            f"{owner}: k must be at most the number of records, got k = {k:,} and {n:,} in the table. Lower k."
        )


def _components(recipe: Recipe, encoding: type) -> tuple[Any, Any, Any]:
    """Make method, release and encoding; each parameter of `set` belongs to those that declare it."""
    classes = (registry.load("partition", recipe.method), registry.load("release", recipe.release), encoding)
    known = {d.name for cls in classes for d in declarations(cls)} - {"k"}
    raise_all(
        ParameterError,
        [unknown("Recipe", "parameter (in set)", n, known) for n in recipe.set if n not in known],
    )
    given = {**recipe.set, "k": recipe.k}
    made = [build(c, {d.name: given[d.name] for d in declarations(c) if d.name in given}) for c in classes]
    return made[0], made[1], made[2]


def encode(table: Table, names: Sequence[str], *, what: str = "a quasi-identifier") -> tuple[Table, list[Attribute]]:
    """Return the table with cells of these columns as values, and the attributes; raises all faults at once."""
    import pyarrow as pa

    from shoal.schema.cells import is_text, moment_sign, values

    faults: list[str] = []
    attributes: list[Attribute] = []
    typed = {}
    moment = "T"
    for name in names:
        kind = table.schema[name].kind
        try:
            encoder, column = _encoder(name, kind, what, table), table.data.column(name)
            if is_text(column):
                dialect = table.dialect or Dialect()
                moment = moment_sign(column) if kind is Kind.DATETIME else moment
                column = typed[name] = values(column, name, kind, dialect)
            attributes.append(encoder.encode(name, column))
        except (DataError, SchemaError) as error:
            faults.append(str(error))
        except pa.ArrowException:  # whose message may hold a value
            faults.append(f"Column {name!r}: {column.type} cannot be {kind.value}. Give it another kind or role.")
    raise_all(DataError, faults)
    dialect_out = replace(table.dialect, moment=moment) if table.dialect is not None else None
    return replace(table, data=with_columns(table.data, typed), dialect=dialect_out), attributes


def _encoder(name: str, kind: Kind, what: str, table: Table) -> Any:
    encoder = registry.claims("points", "kinds").get(kind)
    if encoder is None:
        served = [k.value for k in Kind if k in registry.claims("points", "kinds")]
        raise SchemaError(
            f"Column {name!r}: {what} must be {', '.join(served[:-1])} or {served[-1]}, this one is {kind.value}. "
            f"{_way_out(name, served[0], table)}"
        )
    return encoder


def _way_out(name: str, kind: str, table: Table) -> str:
    """Say what may help with a column whose kind cannot be aggregated."""
    from shoal.schema.cells import has_decimal_comma, is_text

    if not is_text(table.data.column(name)):
        return "Give it another role."
    if table.dialect is not None and has_decimal_comma(table.data.column(name), table.dialect):
        return "Its cells look like numbers with a decimal comma: give --decimal , then."
    return f"Give it another role, or another kind (--kind {name}={kind}) if its values are numbers."


def _weights(table: Table) -> NDArray[np.float64] | None:
    """Return the sampling weight of each record, relative to the largest."""
    import numpy as np

    names = table.schema.names(Role.WEIGHT)
    if not names:
        return None
    if table.schema[names[0]].kind not in (Kind.CONTINUOUS, Kind.INTEGER):
        raise SchemaError(f"Column {names[0]!r}: a weight must be a number, this one is {table.schema[names[0]].kind}.")
    _, attributes = encode(table, names, what="a weight")
    weights = attributes[0].values
    negative = (weights < 0).nonzero()[0].tolist()
    if negative:
        raise DataError(f"Column {names[0]!r}: weights must be ≥ 0, but not in {data_rows(negative)}. Correct them.")
    if not weights.any():
        raise DataError(f"Column {names[0]!r}: some weight must be > 0, all are 0. Name the right column.")
    return np.asarray(weights / weights.max())  # only ratios matter, and sums must not overflow


def _strata(table: Table, k: int) -> NDArray[np.int64] | None:
    """Return the stratum of each record; a stratum smaller than k cannot be served."""
    import numpy as np

    names = table.schema.names(Role.STRATA)
    if not names:
        return None
    strata = np.zeros(len(table), np.int64)
    for name in names:
        codes = _codes(name, table.data.column(name))
        strata = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    sizes = np.bincount(strata)
    if sizes.min() < k:
        raise DataError(
            f"Strata of {listing([repr(n) for n in names])}: every stratum must hold at least k = {k} records, "
            f"{int((sizes < k).sum()):,} of {len(sizes):,} hold fewer (the smallest {int(sizes.min())}). "
            f"Join small strata before, or lower k."
        )
    return strata


def _codes(name: str, column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a number for each different value of a column, a missing one among them."""
    import numpy as np
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowException:
        raise DataError(f"Column {name!r}: {column.type} cannot be strata. Give it another role.") from None
    return np.asarray(encoded.indices.to_numpy(), np.int64)


def _partition(points: Points, method: Any, strata: NDArray[np.int64] | None, rng: np.random.Generator) -> Partition:
    """Partition the points, stratum by stratum where there are strata."""
    import numpy as np

    if strata is None:
        whole: Partition = method.partition(points, rng)
        return whole
    labels = np.empty(len(points), np.int64)
    classes = 0
    for stratum in range(int(strata.max()) + 1):
        rows = np.flatnonzero(strata == stratum)
        part = method.partition(points.rows(rows), rng)
        labels[rows] = part.labels + classes
        classes += len(part)
    return Partition.of(labels, tuple(dict.fromkeys(points.owners)))
