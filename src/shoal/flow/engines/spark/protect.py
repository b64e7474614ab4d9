"""`protect` on a cluster: a DataFrame, from its rows to an audited output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.errors import GuaranteeError
from shoal.flow.engines.blockwise.block import CLASS
from shoal.flow.engines.blockwise.facts import SUBJECT, Facts
from shoal.flow.engines.blockwise.record import Sampled
from shoal.flow.engines.spark.audit import WrittenFrame, audit_written
from shoal.flow.engines.spark.checks import contents
from shoal.flow.engines.spark.classes import FormedOnSpark, form_on_spark
from shoal.flow.engines.spark.frames import RECORDS, Rows, changed, in_order_of_digests, over, quoted, unpacked
from shoal.flow.engines.spark.input import Input, input_of
from shoal.flow.engines.spark.plan import refuse_on_spark
from shoal.flow.engines.spark.publish import Output, Staged
from shoal.flow.engines.spark.release import ORIGINAL
from shoal.flow.engines.spark.row_groups import packed_rows, rows_of
from shoal.flow.engines.spark.scratch import Scratch
from shoal.flow.engines.spark.survey import Surveyed, survey_on_spark
from shoal.flow.gate.attacks import attack_release
from shoal.flow.gate.files import Audited
from shoal.flow.plan.plan import make_plan
from shoal.flow.plan.promise import Promise, promise_of
from shoal.flow.stages.row_digests import occurrences
from shoal.recipe.recipe import Recipe
from shoal.types import Attempt, Block, Kind, Partition, Release, Role, Run, Schema, Step, Table, Unchanged
from shoal.types.attack import AllRecords

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_CATEGORIES = (Kind.NOMINAL, Kind.ORDINAL)


@dataclass(frozen=True, eq=False)
class SparkRun:
    """A run on a cluster: its record, with a sample in place of all records, and its output."""

    run: Run
    class_sizes: list[list[int]] = field(repr=False)  #: number of classes of each size in records
    staged: Staged = field(repr=False)  #: the output before it is visible
    data: DataFrame | None = field(default=None, repr=False)  #: the published output


def protect_on_spark(
    frame: DataFrame,
    recipe: Recipe,
    output: Output,
    scratch: Scratch,
    *,
    folder: Path | None = None,
    finish: Callable[[SparkRun], None] = lambda run: None,
) -> SparkRun:
    """Protect a DataFrame; the audited output becomes visible as a whole, or not at all.

    Parameters
    ----------
    frame
        The table.
    recipe
        The request.
    output
        Where the release goes.
    scratch
        Where rows are written between passes. It holds original values, and is emptied afterwards.
    folder
        The Parquet files that the DataFrame reads as they are, if any.
    finish
        Called when the output is audited, before it is visible: for files that appear with it.
    """
    refuse_on_spark(recipe)
    try:
        progress.stage("Read")
        table = input_of(frame, recipe)
        table, frame = _needed(table, frame)
        surveyed = survey_on_spark(rows_of(frame, folder), table, scratch)
        facts, summary = surveyed.facts, surveyed.summary
        plan = make_plan(recipe, table.schema, summary)
        progress.stage("Partition")
        formed = form_on_spark(plan, facts, table, surveyed.rows, scratch)
        progress.stage("Write")
        rows = reduce(lambda one, other: one.unionByName(other), formed.rows)
        released = formed.release.example(table.arrow)
        packed = packed_rows(rows, scratch) if len(formed.rows) == 1 else Rows(rows.select(quoted(RECORDS)))
        shown = in_order_of_digests(packed, formed.release.columns.names(), facts.records, released)
        with output.staged(shown, scratch) as staged:
            progress.stage("Audit")
            sample = _Sample.of(packed, staged.frame, formed, table)
            partition = Partition((Block(recipe.quasi, sample.labels, by_value=formed.together),), formed.note)
            promise = promise_of(recipe, partition)
            audited = _audited(_opened(rows, released), staged, formed, promise, surveyed)
            run = sample.sampled(formed, facts).run(partition)
            attempts = _attacked(sample, staged.frame, formed, facts, audited.audit.unchanged)
            audit = replace(audited.audit, attacker=formed.atoms.attacker(promise))
            run = replace(run, checked=audit, attempts=attempts, notes=recipe.notes, target=output.name)
            run = replace(run, left_out=facts.read - facts.records)
            done = SparkRun(run, audited.class_sizes, staged)
            finish(done)
        return replace(done, data=output.data(staged))
    finally:
        scratch.close()


def _needed(table: Input, frame: DataFrame) -> tuple[Input, DataFrame]:
    """Return the table without direct identifiers: nothing after this sees them."""
    kept = tuple(one for one in table.schema.columns if one.role is not Role.IDENTIFIER)
    names = [one.name for one in kept]
    arrow = pa.schema([table.arrow.field(name) for name in names])
    return Input(Schema(kept), arrow, table.recipe), frame.select(*map(quoted, names))


def _audited(rows: DataFrame, staged: Staged, formed: FormedOnSpark, promise: Promise, surveyed: Surveyed) -> Audited:
    """Audit the output as written: with people and weights where k counts them, and then as others see it."""
    release, facts = formed.release, surveyed.facts
    steps = {name: one for name, one in release.encoded.resolutions.items() if isinstance(one, (Step, str))}
    published = staged.frame
    shown = WrittenFrame(published, release.columns, facts.records, (), steps, surveyed.content, staged.folder)
    if not release.hidden:
        return audit_written(shown, promise)
    names = [*release.columns.names(), *release.hidden]
    with_hidden = replace(shown, frame=rows.select(*map(quoted, names)), hidden=release.hidden, folder=None)
    audited = audit_written(with_hidden, promise)
    audit_written(shown, replace(promise, counted=None, persons=(), hidden_figures=False))
    if contents(rows, release.columns.names()) != contents(published, release.columns.names()):
        raise GuaranteeError("The output differs from the rows that were audited with their people and weights.")
    return audited


@dataclass(frozen=True)
class _Sample:
    """Some whole classes: their records before and after, and their classes from 0."""

    original: Table
    released: pa.Table
    labels: NDArray[np.int64]
    names: dict[str, pa.ChunkedArray]  #: the different cells of confidential categories, of all records

    @classmethod
    def of(cls, rows: Rows, published: DataFrame, formed: FormedOnSpark, table: Input) -> _Sample:
        """Collect the sample."""
        found = pa.concat_tables(over(rows, _in_sample))
        columns, recipe = formed.release.columns, table.recipe
        before = {one.name: found.column(ORIGINAL + one.name) for one in formed.release.encoded.columns}
        kept = {one.name: found.column(one.name) for one in columns.columns if one.name not in before}
        if SUBJECT in found.column_names and recipe.subject is not None:
            kept[recipe.subject] = found.column(SUBJECT)
        schema = Schema(tuple(one for one in table.schema.columns if one.name in {**before, **kept}))
        data = pa.table({one.name: {**before, **kept}[one.name] for one in schema.columns})
        labels = np.unique(found.column(CLASS).to_numpy(), return_inverse=True)[1]
        named = [one for one in columns.columns if one.role is Role.CONFIDENTIAL and one.kind in _CATEGORIES]
        names = {one.name: published.select(quoted(one.name)).distinct().toArrow().column(0) for one in named}
        return cls(Table(data, schema), found.select(columns.names()), labels.astype(np.int64), names)

    def sampled(self, formed: FormedOnSpark, facts: Facts) -> Sampled:
        """Return the sample for the record of the run."""
        values = {one.name: self.released.column(one.name) for one in formed.release.encoded.columns}
        columns = formed.release.columns
        found = Sampled(facts.recipe, facts.missing, self.original, columns, values, self.names, formed.sse, formed.sst)
        return replace(found, weighed=facts.recipe.release_weight == "record")


def _in_sample(table: pa.Table) -> pa.Table:
    """Return the released rows of some blocks that are in the sample."""
    rows = unpacked(table.column(RECORDS))
    return rows.filter(rows.column(CLASS).is_valid())


def _opened(rows: DataFrame, schema: pa.Schema) -> DataFrame:
    """Return packed rows as rows."""
    return changed(Rows(rows.select(quoted(RECORDS))), lambda table: unpacked(table.column(RECORDS)), schema)


def _attacked(
    sample: _Sample, published: DataFrame, formed: FormedOnSpark, facts: Facts, unchanged: Unchanged | None
) -> tuple[Attempt, ...]:
    """Run the quick attacks on the sample, and refuse the output if one succeeds that must not."""
    everything = None
    if formed.release.every > 1:
        shown = sample.released

        def times(names: list[str]) -> NDArray[np.int64]:
            if unchanged is not None and unchanged.unique == 0 and set(names) <= set(unchanged.columns):
                return np.full(len(shown), 2)  # or more
            some = shown.select(list(names))
            parts = over(Rows(published.select(*map(quoted, names))), lambda data: occurrences(some, [data], names))
            return np.asarray(np.sum(parts, axis=0), np.int64)

        everything = AllRecords(
            facts.records,
            lambda: [sample.original.data],
            lambda: [sample.released],
            times,  # type: ignore[arg-type]
        )
    released = Release(sample.released, Schema(()))
    return attack_release(sample.original, released, facts.recipe.to_dict(), everything=everything)
