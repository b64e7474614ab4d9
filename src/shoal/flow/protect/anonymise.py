"""Table → Run: classes formed, released and measured; the audit follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.flow.classes.form import (
    Formed,
    form,
    points_of,
    weights_compared,
    weights_for_means,
    with_released_weights,
)
from shoal.flow.classes.improve import certify, in_order_of_values
from shoal.flow.plan.plan import Plan, make_plan
from shoal.flow.plan.promise import unique_by_few
from shoal.flow.plan.release_traits import with_origins
from shoal.flow.protect.pseudonyms import with_pseudonyms
from shoal.flow.protect.replay import replayed
from shoal.flow.stages.encode import confidential_columns, encode, weights_in
from shoal.flow.stages.losses import loss_readings
from shoal.flow.stages.measure import RECODING, compared, measures, of_partition, read_measures, recoding_readings
from shoal.flow.stages.summary import summarise
from shoal.flow.stages.values import named, people_in, read_as_missing, refuse_codes
from shoal.flow.stages.versions import versions
from shoal.partition._shared import blocks_by_correlation
from shoal.points.before_and_after import Compared
from shoal.recipe.recipe import Recipe
from shoal.types import (
    Attribute,
    Audit,
    Comparison,
    Points,
    Reading,
    Readings,
    Release,
    Role,
    Run,
    Table,
    with_columns,
    without_unused,
)
from shoal.types.protocols import Sink


def plan_for(table: Table, recipe: Recipe, *, certify: bool = False, sink: type[Sink] | None = None) -> Plan:
    """Return the plan for a table in memory; blocks that the recipe wants by correlation are listed in its recipe."""
    summary = summarise(table, recipe)
    plan = make_plan(recipe, table.schema, summary, certify=certify, sink=sink)
    if recipe.blocking is None:
        return plan
    blocks = blocks_by_correlation(recipe, points_of(plan, table)[2], *recipe.blocking)
    listed = recipe.override(attribute_blocks=blocks, block_size=None)
    return make_plan(listed, table.schema, summary, certify=certify, sink=sink)


def anonymise(plan: Plan, table: Table) -> Run:
    """Form the classes of a table, release them, measure the loss, and bound it if the plan says so."""
    recipe = plan.recipe
    made = form(plan, table)
    points, partition, strata = made.points, made.partition, made.strata
    weights = weights_for_means(made.table, recipe, partition)
    released, left = _released(made, weights)
    released = replace(released, subject_exact=recipe.subject_exact, replays=replayed(plan, table, made))
    released = with_released_weights(released, made.table, recipe, partition)
    released = with_pseudonyms(released, made.table, recipe, points.subjects)
    before = _before_recoding(made, table)
    scaled = _scaled(made, left, released, before)
    done = Run(
        recipe.to_dict(),
        recipe.to_toml(),
        recipe.fingerprint,
        table.schema,
        partition,
        partial(_comparison, replace(made, points=_NO_POINTS), left, scaled, before),
        Readings((*loss_readings(scaled).readings, *_of_recoding(made, before))),
        released,
        ledger=released.ledger,
        versions=versions(),
    )
    if not plan.certify:
        return done
    progress.stage("Certify")
    tables = [points.only(block.attributes) for block in partition.blocks]
    return replace(done, certificate=certify(tables, [block.labels for block in partition.blocks], strata, recipe.k))


def measured(run: Run) -> Run:
    """Return a run with every measure, including slow ones, for a report."""
    comparison = in_order_of_values(run.comparison)
    recoding = (one for one in run.readings.readings if one.name.endswith(RECODING))
    readings = (*read_measures(comparison, measures()).readings, *of_partition(comparison), *recoding)
    run = replace(run, compared=lambda: comparison, readings=Readings(readings))
    return replace(run, checked=_with_few(run))


def _with_few(run: Run) -> Audit | None:
    """Add the records that a few unchanged columns make unique to the audit, if all records are in memory."""
    audit, data = run.checked, run.release.data
    if audit is None or audit.unchanged is None or data.num_rows != audit.records:
        return audit
    names = [name for name in audit.unchanged.columns if name in data.column_names]
    return replace(audit, unchanged=replace(audit.unchanged, few=unique_by_few([data.column(n) for n in names])))


class _Before(NamedTuple):
    """Quasi-identifiers before they were recoded: losses are measured against these."""

    typed: Table
    attributes: Sequence[Attribute]
    recoded: frozenset[str]


def _before_recoding(made: Formed, table: Table) -> _Before:
    """Return the quasi-identifiers as they were read; those of the formed table if none of them was recoded."""
    quasi = frozenset(table.schema.names(Role.QUASI)) & made.plan.recipe.recode.keys()
    if not quasi or table.before is None:
        return _Before(made.typed, made.attributes, frozenset())
    assert len(table.before) == len(table)
    typed, attributes = encode(table.before, table.schema.names(Role.QUASI), missing=made.plan.missing)
    return _Before(typed, attributes, quasi)


def _of_recoding(made: Formed, before: _Before) -> tuple[Reading, ...]:
    """Return the loss of recoding alone, as if every record were released as recoded."""
    if not before.recoded:
        return ()
    columns = [made.typed.data.column(one.name) for one in before.attributes]
    return recoding_readings(loss_readings(Compared(before.attributes, columns)))


def _scaled(made: Formed, left: pa.Table, released: Release, before: _Before) -> Compared:
    """Return the columns to compare, and what is known of them: exact means, and scales from forming classes."""
    exact = None if released.exact is None else {name: _column(values) for name, values in released.exact.items()}
    points, recipe = made.points, made.plan.recipe
    as_compared = (
        made.plan.encoding.scale_for(made.attributes) == "standard"
        and not recipe.attribute_weights
        and not recipe.coordinates
        and recipe.epsilon is None  # bounds change scales
    )
    footings = {
        name: points.footings[places[0]]
        for name, places in points.places.items()
        if as_compared and name not in before.recoded
    }
    return Compared(before.attributes, [left.column(one.name) for one in made.attributes], exact, footings)


_NO_POINTS = Points(np.zeros((0, 0)))  # a comparison needs none, and they are large


def _comparison(made: Formed, left: pa.Table, scaled: Compared, before: _Before) -> Comparison:
    recipe = made.plan.recipe
    return replace(
        compared(before.attributes, before.typed.schema, before.typed.data, left, scaled=scaled),
        strata=made.strata,
        confidential=confidential_columns(made.table),
        seed=recipe.seed,
        weights=weights_compared(made.table, recipe, made.partition),
        sampling=weights_in(made.table),
        people=people_in(made.table, next(iter(recipe.columns(Role.SUBJECT)), None), exact=recipe.subject_exact),
        pseudonyms=recipe.pseudonym is not None,
    )


def _released(made: Formed, weights: NDArray[np.float64] | None) -> tuple[Release, pa.Table]:
    """Release the classes, from written cells or from values; also return the values to measure."""
    copies = made.release.as_written
    table = made.table if copies else made.typed
    released = made.release.release(table, made.points, made.partition, weights, made.rng)
    released = _without_unused(released)
    if not copies:
        _refuse_codes(released)
    subject = next(iter(table.schema.names(Role.SUBJECT)), None)
    left = with_origins(released, made.typed.data) if copies else released.data
    return replace(released, subjects=named(made.table.data, subject), weights=weights), left


def _column(values: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([values])


def _without_unused(release: Release) -> Release:
    """Drop categories of quasi-identifiers that none of the released records has.

    Under the claim ``original`` the categories that the recipe declares stay: which ones occur depends on the data.
    """
    if release.ledger is not None and release.ledger.claim == "original":
        return release
    names = release.schema.names(Role.QUASI)
    fresh = {name: without_unused(release.data.column(name)) for name in names}
    return replace(release, data=with_columns(release.data, fresh))


def _refuse_codes(release: Release) -> None:
    """Refuse class values that the table's file format would read as missing."""
    data = release.data
    lost = {
        name: read_as_missing(data.schema.field(name), data.column(name)) for name in release.schema.names(Role.QUASI)
    }
    refuse_codes({name: int(flags.sum()) for name, flags in lost.items()}, data.num_rows)
