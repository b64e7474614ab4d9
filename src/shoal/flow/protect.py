"""Protect a frame or a file, from source to audit."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal import progress
from shoal.errors import rows_kept
from shoal.flow.anonymising import anonymise
from shoal.flow.excluding import complete_rows, only_rows
from shoal.flow.gating import gate, read_back
from shoal.flow.reading import read_table, schema_for
from shoal.flow.together import keep_apart
from shoal.flow.writing import open_sink, staged
from shoal.places import Place
from shoal.recipe import Recipe
from shoal.types import Audit, Certificate, Partition, Readings, Role, Schema, Table


@dataclass(frozen=True, eq=False)
class Protected:
    """What came out: the data, the classes, what the audit found, what was lost."""

    data: Any = field(repr=False)  # a repr must never show a cell
    partition: Partition
    audit: Audit
    readings: Readings
    recipe: Recipe
    schema: Schema
    certificate: Certificate | None = None  #: a lower bound on the SSE, if it was asked for
    left_out: int = 0  #: records that do not leave, because a quasi-identifier of theirs is missing


def protect_frame(frame: Any, recipe: Recipe, *, certify: bool = False) -> Protected:
    """Protect a frame of pandas, polars or pyarrow; the same kind comes back, audited as it is handed over."""
    from shoal.sinks.frame import Frame as FrameSink
    from shoal.sources.frame import Frame as FrameSource

    data, unread = FrameSource().read(frame)
    table = Table(data, schema_for(data, recipe, None, unread))
    rows = complete_rows(table, recipe)
    if rows is not None:
        table, frame = only_rows(table, rows), FrameSink().rows(frame, rows)
    with rows_kept(rows):
        partition, release, readings, certificate = anonymise(table, recipe, certified=certify)
    progress.stage("Audit")
    quasi = table.schema.names(Role.QUASI)
    gone = table.schema.names(Role.IDENTIFIER, Role.SUBJECT)
    merged = recipe.strata if recipe.small_strata == "merge" else ()
    changed = [*quasi, *(n for n in merged if not release.data.column(n).equals(table.data.column(n)))]
    native = FrameSink().write(frame, release.data.select(changed), gone)
    leaving, _ = FrameSource().read(native)
    audit = gate(replace(release, data=leaving), recipe, partition)
    left_out = 0 if rows is None else data.num_rows - len(rows)
    return Protected(native, partition, audit, readings, recipe, table.schema, certificate, left_out)


def protect_file(
    source: Place,
    target: Place,
    recipe: Recipe,
    *,
    force: bool = False,
    save_recipe: Path | None = None,
    certify: bool = False,
) -> Protected:
    """Protect a file; the output appears whole and audited, or not at all, and so does the saved recipe."""
    from shoal.sinks.atomic import atomic

    sink = open_sink(target, recipe.set)
    keep_apart(source, target, save_recipe)
    with ExitStack() as stack:
        if save_recipe is not None:
            written_recipe = stack.enter_context(atomic(save_recipe, force=force))
            written_recipe.write_text(recipe.to_toml(save_recipe.parent), encoding="utf-8")
        hidden = stack.enter_context(staged(sink, target, force=force))
        progress.stage("Read")
        whole = read_table(source, recipe, textual=sink.textual)
        rows = complete_rows(whole, recipe)
        table = only_rows(whole, rows)
        with rows_kept(rows):
            partition, release, readings, certificate = anonymise(table, recipe, certified=certify, sink=type(sink))
        progress.stage("Write")
        if hasattr(sink, "fitted"):  # a format that has not all types says what it makes of them, or refuses
            release = replace(release, data=sink.fitted(release.data))
        dialect = sink.dialect_for(target.at, release.dialect) if sink.textual else None
        sink.write(release.data, hidden, dialect)
        progress.stage("Audit")
        written = read_back(hidden, release, dialect)
        audit = gate(written, recipe, partition)
    left_out = len(whole) - len(table)
    return Protected(release.data, partition, audit, readings, recipe, table.schema, certificate, left_out)
