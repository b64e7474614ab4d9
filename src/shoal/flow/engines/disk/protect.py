"""`protect` out of core: a file or folder that is larger than memory, from source to audited output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from shoal import progress
from shoal.errors import DataError, GuaranteeError
from shoal.flow.engines.blockwise.facts import ROW, SUBJECT, WEIGHT
from shoal.flow.engines.blockwise.plan import refuse_in_blocks
from shoal.flow.engines.disk.classes import Formed, form_on_disk
from shoal.flow.engines.disk.demands import demands_on, refuse_memory
from shoal.flow.engines.disk.gate import check_written
from shoal.flow.engines.disk.needs import needs_of, refuse_full_disk
from shoal.flow.engines.disk.output import Output, parted, shuffled
from shoal.flow.engines.disk.sample import Sample, run_of
from shoal.flow.engines.disk.staging import staging
from shoal.flow.engines.disk.survey import Survey, survey
from shoal.flow.evidence.receipt import of_file
from shoal.flow.gate.attacks import note_on_order
from shoal.flow.gate.files import Written, audit_files
from shoal.flow.plan.plan import Plan, make_plan
from shoal.flow.plan.promise import promise_of
from shoal.flow.recoding.batches import RecodedReader
from shoal.flow.stages.batch_tables import BatchReader, schema_of_batches
from shoal.flow.stages.batches import open_batches
from shoal.flow.stages.row_digests import ColumnDigests
from shoal.flow.stages.write import part_suffix
from shoal.io.manifest import Part, write_manifest
from shoal.io.sinks._folder import parts_writer
from shoal.locations import Place
from shoal.recipe.recipe import Recipe
from shoal.types import Block, Dialect, Partition, Role, Run, Step
from shoal.types.protocols import Sink
from shoal.types.released import released


@dataclass(frozen=True, eq=False)
class DiskRun:
    """A run on disk: its record, with a sample in place of all records, and facts about the whole output."""

    run: Run
    class_sizes: list[list[int]] = field(repr=False)  #: number of classes of each size in records
    rows: NDArray[np.int64] | None = field(repr=False)  #: for each released row its row in the input; None: the same
    staged: Path = field(repr=False)  #: the output, a file or a folder, before it gets its name


def protect_on_disk(
    source: Place,
    target: Place,
    recipe: Recipe,
    sink: Sink,
    *,
    memory: int,
    force: bool = False,
    keep_metadata: bool = False,
    certify: bool = False,
    repeat: Path | None = None,
    finish: Callable[[DiskRun], None] = lambda run: None,
) -> DiskRun:
    """Protect a file or folder within a ceiling of memory; the audited output appears as a whole, or not at all.

    `finish` is called when the output is audited, before it gets its name: for files that appear with it.
    """
    refuse_in_blocks(recipe, certify=certify, repeat=repeat)
    with ExitStack() as stack:
        places = stack.enter_context(staging(target, source, sink, force=force))
        staged, scratch = places.staged, places.scratch
        progress.stage("Read")
        batches = open_batches(source, recipe, textual=sink.textual)
        needs = needs_of(batches, recipe, textual=sink.textual)
        refuse_full_disk(needs, places.path)
        progress.expect(lambda: needs.time.wall, needs.disk)
        schema = schema_of_batches(batches, recipe)
        reader = RecodedReader.of(BatchReader(batches, schema, sink.textual), recipe)
        tables = reader.read
        found = survey(tables, reader.schema, recipe, scratch, batches.records, read=schema)
        refuse_memory(found, memory)
        confidential, summary = demands_on(tables, found)
        plan = make_plan(recipe, reader.schema, summary, sink=type(sink))
        progress.stage("Partition")
        formed = form_on_disk(plan, found, confidential, scratch)
        del confidential
        partition = _partition(plan, formed)
        progress.stage("Write")
        output = Output(formed, found, recipe, tables, reader.example if recipe.recode else None)
        suffix = places.part_suffix(part_suffix(batches.files[0]))
        into = _Into(sink, staged, suffix, sink.dialect_for(places.path, reader.dialect))
        note, written, rows, counts, cells = _written(output, into, scratch, keep_metadata=keep_metadata)
        progress.stage("Audit")
        promise = promise_of(recipe, partition)
        sample = Sample.of(output)
        look = partial(audit_files, written, promise, memory=memory, scratch=scratch)
        with _reading_back():
            audited = look()
            about, attempts = check_written(output, sample, written, batches.arrow, rows, cells, keep=keep_metadata)
        audit = replace(audited.audit, attacker=formed.atoms.attacker(promise))
        ordered = (note,) if note else note_on_order(attempts, recipe.row_order)
        run = replace(run_of(output, sample, partition), checked=audit, attempts=attempts)
        run = replace(run, notes=(*recipe.notes, *batches.notes, *ordered, *about))
        parts = _list_parts(staged, written, counts) if staged.is_dir() else []
        run = replace(run, source=source.name, target=target.name, left_out=found.read - found.records)
        run = replace(run, partition=_in_released_order(partition, found.positions(rows)))
        done = DiskRun(run, audited.class_sizes, rows, staged)
        finish(done)
        if places.upload is not None:
            progress.stage("Publish")
            with _reading_back():
                note = places.upload.publish(staged, parts, look)
            done = replace(done, run=replace(run, notes=(*run.notes, *((note,) if note else ()))))
    return done


@contextmanager
def _reading_back() -> Iterator[None]:
    """Refuse to publish files that cannot be read back."""
    try:
        yield
    except DataError as error:
        raise GuaranteeError(f"The written files cannot be read back: {error} Nothing was published.") from None


def _partition(plan: Plan, formed: Formed) -> Partition:
    """Return the classes as other stages see them."""
    names = tuple(name for name in formed.values.column_names if name in plan.recipe.quasi)
    block = Block(names, formed.labels, by_value=formed.together)  # type: ignore[arg-type]
    return Partition((block,), formed.note)


def _in_released_order(partition: Partition, positions: NDArray[np.int64] | None) -> Partition:
    """Return classes, whose records are in the order of the input, in that of the released rows."""
    if positions is None:
        return partition
    return replace(partition, blocks=tuple(one.rows(positions) for one in partition.blocks))


class _Into(NamedTuple):
    """The staged output, a file or a folder, and how it is written."""

    sink: Sink
    staged: Path
    suffix: str  #: of the files of a folder
    dialect: Dialect | None

    def open(self, schema: pa.Schema, fresh: Any) -> Any:
        """Open it for batches."""
        if self.staged.is_dir():
            return parts_writer(self.sink, self.staged, self.suffix, schema, self.dialect, fresh)
        return self.sink.writer(self.staged, schema, self.dialect, fresh)


def _written(
    output: Output, target: _Into, scratch: Path, *, keep_metadata: bool
) -> tuple[str, Written, NDArray[np.int64] | None, list[int], ColumnDigests]:
    """Write the released rows, and separately the facts that the audit needs but the output must not show.

    The last result is the number of records of each file.
    """
    recipe, found, batches = output.recipe, output.found, output.batches()
    shuffle, note = _decision(found, recipe)
    total = found.records * (1 + shuffle)
    batches = _reported(batches, 0, total)
    if shuffle:
        batches = _reported(shuffled(batches, found.records, scratch), found.records, total)
    first = next(batches)
    unchanged = [one.name for one in output.schema.columns if one.name not in recipe.quasi]
    fresh = partial(released, unchanged=unchanged, keep=keep_metadata, whole=output.ordered_lists)
    hidden, rows = scratch / "hidden.parquet", list[NDArray[np.int64]]()
    roles = (Role.CONFIDENTIAL, Role.OTHER, Role.STRATA, *((Role.WEIGHT,) if recipe.release_weight == "record" else ()))
    cells = ColumnDigests([one.name for one in output.schema.columns if one.role in roles])
    with ExitStack() as stack:
        into, beside = stack.enter_context(target.open(parted(first)[0].schema, fresh)), None
        for table in chain([first], batches):
            leaving, own = parted(table)
            cells.add(leaving)
            into.write(leaving)
            if shuffle:
                rows.append(own.column(ROW).to_numpy())
            if (needed := _for_audit(own)) is not None:
                beside = beside or stack.enter_context(parquet.ParquetWriter(hidden, needed.schema))
                beside.write_table(needed)
    paths, counts = (into.files, into.records) if target.staged.is_dir() else ([target.staged], [found.records])
    steps = {name: step for name, step in output.formed.resolutions.items() if isinstance(step, (Step, str))}
    written = Written(tuple(paths), output.schema, found.records, target.dialect, hidden if beside else None, steps)
    return note, written, _rows(found, rows), counts, cells


def _reported(tables: Iterator[pa.Table], done: int, total: int) -> Iterator[pa.Table]:
    """Yield tables, and report progress in rows."""
    for table in tables:
        yield table
        done += table.num_rows
        progress.report(done, total)


def _list_parts(folder: Path, written: Written, counts: list[int]) -> list[Part]:
    """Write the manifest of a folder, and return what it lists."""
    parts = []
    for path, records in zip(written.paths, counts, strict=True):
        digest = of_file(path)
        parts.append(Part(path.name, records, digest.size or 0, digest.hex))
    write_manifest(folder, written.schema.names(), parts)
    return parts


def _rows(found: Survey, shuffled_rows: list[NDArray[np.int64]]) -> NDArray[np.int64] | None:
    """Return for each released row its row in the input; None: the same."""
    kept = np.flatnonzero(np.concatenate(found.kept)) if found.read > found.records else None
    if not shuffled_rows:
        return kept
    rows = np.concatenate(shuffled_rows)
    return rows if kept is None else np.asarray(kept[rows])


def _for_audit(hidden: pa.Table) -> pa.Table | None:
    """Return the hidden columns that the audit needs; None: none."""
    names = [name for name in (SUBJECT, WEIGHT) if name in hidden.column_names]
    return hidden.select(names).rename_columns([name.lstrip("\0") for name in names]) if names else None


def _decision(found: Survey, recipe: Recipe) -> tuple[bool, str]:
    """Return whether to shuffle the rows, and a note."""
    if recipe.row_order != "auto":
        return recipe.row_order == "shuffle", ""
    name = found.steps.sorted_by()
    if name is None:
        return False, ""
    return True, f"The rows were shuffled, because they are sorted by {name!r} in the input."
