"""Table → Points → Partition → Release, with what it lost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal import progress
from shoal.errors import DataError, raise_all
from shoal.flow.classes.certify import certify
from shoal.flow.classes.form import form
from shoal.flow.classes.weights import weights_compared, weights_for_means, with_released_weights
from shoal.flow.plan.release_traits import as_written, deals_by_key, with_origins
from shoal.flow.stages.encode import confidential_columns
from shoal.flow.stages.measure import compared, measures, of_partition, read_measures
from shoal.flow.stages.subjects import named
from shoal.recipe.recipe import Recipe
from shoal.types import (
    Certificate,
    Comparison,
    Partition,
    Points,
    Readings,
    Release,
    Role,
    Table,
    with_columns,
    without_unused,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Anonymised:
    """What became of a table: its classes, what leaves, and what was lost."""

    partition: Partition
    release: Release
    readings: Readings
    certificate: Certificate | None
    comparison: Comparison = field(repr=False)


def anonymise(
    table: Table, recipe: Recipe, *, certified: bool = False, sink: type | None = None, key: bytes | None = None
) -> Anonymised:
    """Form the classes of a table, release them, measure what was lost, and certify it if asked to.

    A release that deals values takes the key that is given, or a fresh one.
    """
    confidential = confidential_columns(table)  # refuses what the audit could not read, before any work is done
    made = form(table, recipe, certified=certified, sink=sink)
    if key is not None and deals_by_key(recipe):
        made = replace(made, release=replace(made.release, key=key))
    table, typed, points, partition, strata = made.table, made.typed, made.points, made.partition, made.strata
    weights = weights_for_means(table, recipe, partition)
    released, left = _released(made.release, table, typed, points, partition, weights, made.rng)
    released = replace(released, subject_exact=recipe.subject_exact)
    released = with_released_weights(released, table, recipe, partition)
    exact = None if released.exact is None else {name: _column(made) for name, made in released.exact.items()}
    comparison = compared(made.attributes, table.schema, typed.data, left, exact=exact)
    comparison = replace(
        comparison,
        strata=strata,
        confidential=confidential,
        seed=recipe.seed,
        weights=weights_compared(table, recipe, partition),
    )
    readings = Readings((*read_measures(comparison, measures(quick=True)).readings, *of_partition(comparison)))
    if not certified:
        return Anonymised(partition, released, readings, None, comparison)
    progress.stage("Certify")
    tables = [points.only(block.attributes) for block in partition.blocks]
    certificate = certify(tables, [block.labels for block in partition.blocks], strata, recipe.k)
    return Anonymised(partition, released, readings, certificate, comparison)


def _released(
    release: Any,
    table: Table,
    typed: Table,
    points: Points,
    partition: Partition,
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> tuple[Release, pa.Table]:
    """Release the classes, from cells as they are written or from values; and what leaves, as values to be measured."""
    if as_written(release):
        released: Release = _without_unused(release.release(table, points, partition, weights, rng))
        left = with_origins(released, typed.data)
    else:
        released = _without_unused(release.release(typed, points, partition, weights, rng))
        _refuse_codes(released)
        left = released.data
    subject = next(iter(table.schema.names(Role.SUBJECT)), None)
    return replace(released, subjects=named(table.data, subject), weights=weights), left


def _column(values: pa.Array) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([values])


def _without_unused(release: Release) -> Release:
    """Return a release whose quasi-identifiers have no categories that none of its records has.

    Under the claim ``original`` they keep those that the recipe declares: which ones occur depends on the data.
    """
    if release.ledger is not None and release.ledger.claim == "original":
        return release
    names = release.schema.names(Role.QUASI)
    fresh = {name: without_unused(release.data.column(name)) for name in names}
    return replace(release, data=with_columns(release.data, fresh))


def _refuse_codes(release: Release) -> None:
    """Refuse values of classes that the file of the table would take for missing ones, which they are not."""
    from shoal.schema.order import without_user_missing

    faults = []
    for name in release.schema.names(Role.QUASI):
        column = release.data.column(name)
        lost = without_user_missing(release.data.schema.field(name), column).null_count - column.null_count
        if lost:
            faults.append(
                f"Column {name!r}: the value of a class must be none that its file declares to be missing, those of "
                f"{lost:,} of {len(column):,} records are. Choose another k or method, or other codes."
            )
    raise_all(DataError, faults)
