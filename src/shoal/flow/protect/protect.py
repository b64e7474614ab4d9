"""`protect` for a frame or a file, from source to audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal import progress
from shoal.deadline import stopping_after
from shoal.errors import ParameterError, listing, rows_kept
from shoal.flow.engines.blockwise.plan import DISK, refuse_population
from shoal.flow.engines.blockwise.record import with_losses
from shoal.flow.engines.disk.protect import DiskRun, protect_on_disk
from shoal.flow.evidence.build import Proof, digest_at
from shoal.flow.evidence.receipt import Digest, Receipt, of_path, of_table, receipt_of
from shoal.flow.gate.attacks import attack_release, note_on_order, notes_in
from shoal.flow.gate.gate import gate
from shoal.flow.gate.read_back import check_metadata, hand_over, read_back, with_released_metadata
from shoal.flow.gate.recoded import check_recoded
from shoal.flow.gate.suppressed import check_suppressed
from shoal.flow.plan.engine import engine_for
from shoal.flow.plan.estimate import LONG
from shoal.flow.plan.plan import Plan
from shoal.flow.plan.promise import promise_of
from shoal.flow.plan.release_traits import covers_originals, in_two_tables, whole_lists
from shoal.flow.protect.anonymise import anonymise, measured, plan_for
from shoal.flow.protect.files import (
    NOTHING,
    SideFiles,
    keep_apart,
    keep_receipt,
    read_file,
    read_frame,
    read_receipt,
    refuse_other_input,
)
from shoal.flow.protect.holdout import Held, draw_holdout, refuse_holdout, released_rows, write_holdout
from shoal.flow.protect.protected import Protected
from shoal.flow.protect.pseudonyms import note_on_pseudonyms
from shoal.flow.protect.row_order import RowOrder, order_rows
from shoal.flow.protect.time import time_of
from shoal.flow.stages.batches import files_of
from shoal.flow.stages.population import read_population
from shoal.flow.stages.values import told_apart, with_values
from shoal.flow.stages.write import open_sink, part_suffix, writes_folder
from shoal.locations import Place, beside
from shoal.memory import ceiling
from shoal.recipe.contents import seconds_in
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import refuse_without_population, resolve
from shoal.types import (
    Comparison,
    Dialect,
    Release,
    Role,
    Run,
    Table,
)
from shoal.types.attack import Attempt
from shoal.types.protocols import Sink


def protect_frame(
    frame: Any,
    recipe: Recipe,
    *,
    certify: bool = False,
    keep_metadata: bool = False,
    repeat: Path | None = None,
    population: Any = None,
    holdout: float | None = None,
) -> Protected:
    """Protect a frame of pandas, polars or pyarrow; return the same kind, audited in its final form."""
    from shoal.io.sinks.frame import Frame as FrameSink
    from shoal.io.sources.frame import Frame as FrameSource
    from shoal.io.sources.frame import index_as_columns

    earlier = None if repeat is None else read_receipt(repeat, recipe)
    refuse_holdout(holdout, recipe)
    whole = frame
    frame, index, note = index_as_columns(frame, (*recipe.identifier, *recipe.columns(Role.SUBJECT)))
    table, data = read_frame(frame, recipe)
    people = people_for(population, recipe, table)
    given = data.drop_columns(index)
    if earlier is not None:
        refuse_other_input(earlier, of_table(given))
    held = draw_holdout(table, holdout, recipe, earlier)
    records = table
    table, kept = released_rows(records, recipe, held)
    order = order_rows(table, kept.rows, recipe, is_frame=True, repeat=earlier)
    table = order.arranged(table)
    if order.rows is not None:
        frame = FrameSink().rows(frame, order.rows)
    with rows_kept(order.rows), stopping_after(seconds_in(recipe.deadline)):
        plan = plan_for(table, recipe, certify=certify).with_keys(*_keys(earlier))
        recipe = plan.recipe
        progress.expect(lambda: time_of(plan, table, timed_from=LONG).wall)
        run = anonymise(plan, table).with_comparison()  # the caller may write to the frame
    progress.stage("Audit")
    release = order.marked(run.release)
    native, second = (
        one
        if one is None
        else hand_over(frame, one, table.schema, keep=keep_metadata, whole=whole_lists(recipe, table))
        for one in _as_frames(frame, release, table, recipe)
    )
    leaving = _as_handed_over(release, native)
    if release.apart is not None:
        leaving = replace(leaving, apart=replace(release.apart, data=FrameSource().read(second)[0]))
    seen = with_people(leaving, people, recipe)
    audit = gate(seen, promise_of(recipe, run.partition))
    _check_rows(leaving, records, recipe, order, kept.suppressed, held)
    _check_recoded(leaving, plan, table)
    about = check_metadata(data.schema, leaving, keep=keep_metadata, whole=whole_lists(recipe, table))
    attempts = attack_release(table, leaving, recipe.to_dict(), keep_metadata=keep_metadata)
    ordered = _notes_on_order(order, attempts, recipe)
    control = () if held is None else (held.note("the attribute holdout of the result"),)
    notes = (*recipe.notes, *((note,) if note else ()), *note_on_pseudonyms(recipe), *ordered, *about, *control)
    run = replace(run, checked=audit, left_out=kept.left_out, suppressed=kept.suppressed, held=_held(held))
    run = replace(run, notes=notes, attempts=attempts, compared=in_population(run, seen))
    receipt = _receipt(run, plan, table, order, lambda: of_table(given), held)
    proof = partial(Proof.of_frame, leaving, receipt)
    outside = None if held is None else FrameSink().rows(whole, held.rows)
    return Protected(native, recipe, run, second, proof=proof, rows=order.rows, holdout=outside)


def people_for(population: Any, recipe: Recipe, table: Table) -> pa.Table | None:
    """Read the population of a table, a place or a frame, before any class is formed; None: none is given."""
    refuse_without_population("Recipe", resolve("Recipe", recipe.require), given=population is not None)
    if population is None:
        return None
    if covers_originals(recipe):
        raise ParameterError(
            "Laplace: with claim = original a population is not possible, because ε does not cover figures about the "
            "people in it. Leave it out."
        )
    if recoded := [name for name in recipe.recode if name in recipe.quasi]:
        raise ParameterError(
            f"Recipe: a population is not possible with recode of quasi-identifiers, got {listing(recoded)}: its "
            "values are not recoded. Leave out one of them, or audit the output with a population that is recoded."
        )
    people = read_population(population, recipe.text)
    if recipe.counted is None:
        people.refuse_smaller_than(len(table))
    else:
        people.refuse_smaller_than(
            len(told_apart(table, recipe.counted, exact=recipe.subject_exact).unique()),
            f" different values of {recipe.counted!r}",
        )
    return people.parsed(table.schema, (*recipe.quasi, *recipe.strata))


def with_people(release: Release, people: pa.Table | None, recipe: Recipe) -> Release:
    """Return a release with the population that it is audited against, and its columns parsed to find the nearest."""
    if people is None:
        return release
    return with_values(replace(release, population=people), (*recipe.quasi, *recipe.strata))


def in_population(run: Run, release: Release) -> Callable[[], Comparison]:
    """Return the comparison of a run with the population that its release was audited against, if there is one."""
    if release.population is None:
        return run.compared
    from shoal.privacy.counting.population import of_records

    (counts, own), earlier = of_records(release, run.schema.names(Role.QUASI)), run.compared
    return lambda: replace(earlier(), population=counts, combinations=own)


def _held(held: Held | None) -> int:
    """Return the number of records that are set aside as a control."""
    return 0 if held is None else len(held.rows)


def _as_handed_over(release: Release, native: Any) -> Release:
    """Return a release as the frame shows it; columns that Arrow cannot hold are read as text."""
    import narwhals as nw

    from shoal.io.sources.frame import Frame as FrameSource

    data, unread = FrameSource().read(native)
    cells: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
    texts = {name: pa.chunked_array([list(map(repr, cells[name].to_list()))], pa.string()) for name in unread}
    return replace(release, data=data, read={**release.read, **texts})


def _keys(earlier: Receipt | None) -> tuple[bytes | None, bytes | None]:
    """Return the secret keys of an earlier run."""
    return (None, None) if earlier is None else (earlier.swap_key, earlier.choice_key)


def _receipt(
    run: Run, plan: Plan, table: Table, order: RowOrder, source: Callable[[], Digest], held: Held | None
) -> Callable[[], Receipt]:
    """Return a function that makes the receipt of a run; it digests the input only when called."""

    def receipt() -> Receipt:
        column = next(iter(table.schema.names(Role.SUBJECT)), None)
        subjects = None if column is None else told_apart(table, column, exact=run.release.subject_exact)
        made = receipt_of(source(), run.partition, subjects=subjects, rows=order.rows)
        made = replace(made, swap_key=run.release.swap_key, choice_key=plan.choice_key)
        return made if held is None else replace(made, holdout_key=held.key)

    return receipt


def _as_frames(frame: Any, release: Release, table: Table, recipe: Recipe) -> tuple[Any, Any]:
    """Return the frame with released values and without removed columns; and a second one, if there are two."""
    from shoal.io.sinks.frame import Frame as FrameSink

    if covers_originals(recipe):  # nothing of the input frame is kept: no types, index or other columns
        return FrameSink().fresh(frame, release.data), None
    schema, left = table.schema, release.data.column_names
    weights = schema.names(Role.WEIGHT)
    gone = (
        *(name for name in schema.names(Role.IDENTIFIER, Role.SUBJECT) if name != recipe.pseudonym),
        *(name for name in weights if name not in left),
    )
    averaged = weights if recipe.release_weight == "class" and release.apart is None else ()
    pseudonym = () if recipe.pseudonym is None else (recipe.pseudonym,)
    merged = recipe.strata if recipe.small_strata == "merge" else ()
    merged = tuple(n for n in merged if not release.data.column(n).equals(table.data.column(n)))
    merged = tuple(dict.fromkeys((*merged, *(n for n in recipe.recode if n in left))))
    if release.apart is None or release.link is None:
        return FrameSink().write(
            frame,
            release.data.select(list(dict.fromkeys((*schema.names(Role.QUASI), *averaged, *merged, *pseudonym)))),
            gone,
        ), None
    apart, link = release.apart, release.link
    confidential = schema.names(Role.CONFIDENTIAL)
    first = FrameSink().write(frame, release.data.select([link, *merged]), (*gone, *confidential))
    sorted_ = FrameSink().rows(frame, apart.origins[confidential[0]])
    others = [column.name for column in schema.columns if column.name not in confidential]
    recoded = (n for n in recipe.recode if n in confidential)
    second = FrameSink().write(sorted_, apart.data.select([link, *recoded]), others)
    return first, FrameSink().in_order(second, apart.data.column_names)


def _check_rows(
    leaving: Release, table: Table, recipe: Recipe, order: RowOrder, suppressed: int, held: Held | None
) -> None:
    outside = None if held is None else held.rows
    check_suppressed(table, recipe, order.rows, suppressed, outside, written=leaving.data.num_rows)


def _check_recoded(leaving: Release, plan: Plan, table: Table) -> None:
    recipe = plan.recipe
    check_recoded(
        leaving,
        recipe.recode,
        table,
        as_written=plan.release.as_written,
        noisy=recipe.epsilon is not None,
        resolution=recipe.resolution,
        merges=plan.merges_strata,
    )


def _notes_on_order(order: RowOrder, attempts: Sequence[Attempt], recipe: Recipe) -> tuple[str, ...]:
    """Return what was done about the order of rows, or what it reveals."""
    return (order.note,) if order.note else note_on_order(attempts, recipe.row_order)


def protect_file(
    source: Place,
    target: Place,
    recipe: Recipe,
    *,
    force: bool = False,
    side_files: SideFiles = NOTHING,
    certify: bool = False,
    keep_metadata: bool = False,
    repeat: Path | None = None,
    engine: str | None = None,
    memory: str | int | None = None,
    population: Any = None,
    holdout: float | None = None,
) -> Protected:
    """Protect a file; the audited output and all side files appear together, or none of them."""
    sink = sink_for(source, target, recipe)
    report = side_files.report is not None
    chosen = engine_for(source, sink, engine, memory, report=report, in_store=target.stored is not None)
    refuse_holdout(holdout, recipe, chosen, side_files.holdout)
    if chosen == "disk":
        refuse_population(DISK, given=population is not None)
        return protect_large(
            source,
            target,
            recipe,
            sink,
            force=force,
            side_files=side_files,
            certify=certify,
            keep_metadata=keep_metadata,
            repeat=repeat,
            memory=memory,
        )
    second = beside(target) if in_two_tables(recipe) else None
    earlier = None if repeat is None else read_receipt(repeat, recipe)
    for place in (target, second):
        if place is not None:
            keep_apart(source, place, side_files.paths)
            keep_receipt(repeat, place, side_files.paths)
    with ExitStack() as stack:
        stack.enter_context(stopping_after(seconds_in(recipe.deadline)))
        papers = stack.enter_context(side_files.staged(force=force))
        hidden = (
            (stack.enter_context(sink.staged(target.at, force=force)),)
            if second is None
            else stack.enter_context(sink.staged_both(target.at, second, force=force))
        )
        progress.stage("Read")
        whole = read_file(source, recipe, textual=sink.textual)
        people = people_for(population, recipe, whole)
        if earlier is not None:
            refuse_other_input(earlier, digest_at(source.at, whole.as_read.data))
        held = draw_holdout(whole, holdout, recipe, earlier)
        table, kept = released_rows(whole, recipe, held)
        order = order_rows(table, kept.rows, recipe, is_frame=False, repeat=earlier)
        table = order.arranged(table)
        with rows_kept(order.rows):
            plan = plan_for(table, recipe, certify=certify, sink=type(sink)).with_keys(*_keys(earlier))
            recipe = plan.recipe
            progress.expect(lambda: time_of(plan, table, report=report, text=sink.textual, timed_from=LONG).wall)
            run = anonymise(plan, table)
        side_files.write_recipe(papers, recipe, run.partition)
        progress.stage("Write")
        lists = whole_lists(recipe, table)
        release = _written(
            with_released_metadata(order.marked(run.release), keep=keep_metadata, whole=lists), sink, target, hidden
        )
        progress.stage("Audit")
        leaving = _read_back(release, hidden)
        seen = with_people(leaving, people, recipe)
        audit = gate(seen, promise_of(recipe, run.partition))
        _check_rows(leaving, whole, recipe, order, kept.suppressed, held)
        _check_recoded(leaving, plan, table)
        about = check_metadata(whole.as_read.data.schema, leaving, hidden, keep=keep_metadata, whole=lists)
        attempts = attack_release(table, leaving, recipe.to_dict(), notes_in(hidden), keep_metadata=keep_metadata)
        control = write_holdout(held, side_files.holdout, papers, _reader(source, recipe, whole, sink))
        run = replace(
            run,
            checked=audit,
            left_out=kept.left_out,
            suppressed=kept.suppressed,
            held=_held(held),
            notes=(
                *recipe.notes,
                *whole.notes,
                *note_on_pseudonyms(recipe),
                *_notes_on_order(order, attempts, recipe),
                *about,
                *control,
            ),
            attempts=attempts,
            source=source.name,
            target=target.name,
            compared=in_population(run, seen),
        )
        receipt = _receipt(run, plan, table, order, lambda: digest_at(source.at, whole.as_read.data), held)
        files = tuple(zip((target.name, "" if second is None else second.name), hidden, strict=False))
        _write_about(side_files, papers, run, lambda: Proof.of_files(leaving, files, receipt))
    confidential = None if release.apart is None else release.apart.data
    outside = None if held is None else whole.as_read.data.take(held.rows)
    done = Protected(release.data, recipe, run, confidential, "" if second is None else str(second), rows=order.rows)
    return replace(done, holdout=outside)


def _write_about(side_files: SideFiles, papers: dict[str, Path], run: Run, proof: Callable[[], Proof]) -> None:
    """Write the report, the evidence and the receipt of a run, as requested."""
    if side_files.report is not None:
        progress.stage("Report")
        side_files.write_report(papers, measured(run))
    if side_files.evidence is not None or side_files.receipt is not None:
        side_files.write_proof(papers, run, proof())


def _reader(source: Place, recipe: Recipe, whole: Table, sink: Sink) -> Callable[[bool], Table]:
    """Return a function that gives the input for a text or another file; it is read again only if necessary."""
    return lambda textual: whole if textual == sink.textual else read_file(source, recipe, textual=textual)


def sink_for(source: Place, target: Place, recipe: Recipe) -> Sink:
    """Return the sink of an output; that of a folder writes the format of the input's files."""
    folder = writes_folder(target, source)
    if target.stored is not None and not isinstance(source.at, Path):
        raise ParameterError(
            f"{target}: an output in an object store must be made from files, got a database. Export it to Parquet."
        )
    if not folder or not isinstance(source.at, Path):
        return open_sink(target, recipe.set)
    suffix = part_suffix(files_of(source.at)[0])
    return open_sink(replace(target, at=Path(f"part{suffix}")), recipe.set)


def protect_large(
    source: Place,
    target: Place,
    recipe: Recipe,
    sink: Sink,
    *,
    force: bool,
    side_files: SideFiles,
    certify: bool,
    keep_metadata: bool,
    repeat: Path | None,
    memory: str | int | None,
) -> Protected:
    """Protect a file or folder on disk; the audited output and all side files appear together, or none of them."""
    keep_apart(source, target, side_files.paths)
    with side_files.staged(force=force) as papers:

        def finish(done: DiskRun) -> None:
            run, records = done.run, done.run.audit.records
            write_about_sample(side_files, papers, recipe, run)
            if side_files.evidence is not None or side_files.receipt is not None:
                assert isinstance(source.at, Path)  # it is a file or a folder
                digest = partial(of_path, source.at)
                receipt = partial(_receipt_on_disk, digest, done)
                proof = Proof.of_path(run.release, target.name, done.staged, receipt, records, done.class_sizes)
                side_files.write_proof(papers, run, proof)

        done = protect_on_disk(
            source,
            target,
            recipe,
            sink,
            memory=ceiling(memory),
            force=force,
            keep_metadata=keep_metadata,
            certify=certify,
            repeat=repeat,
            finish=finish,
        )
    return Protected(dataset_of(target, done.run.release.dialect), recipe, done.run, rows=done.rows)


def write_about_sample(side_files: SideFiles, papers: dict[str, Path], recipe: Recipe, run: Run) -> None:
    """Write the recipe and the report of a run whose record holds a sample, as requested."""
    side_files.write_recipe(papers, recipe, run.partition)
    if side_files.report is not None:
        progress.stage("Report")
        side_files.write_report(papers, with_losses(measured(run), run.readings, run.audit.records))


def _receipt_on_disk(digest: Callable[[], Digest], done: DiskRun) -> Receipt:
    return receipt_of(digest(), done.run.partition, rows=done.rows)


def dataset_of(target: Place, dialect: Dialect | None) -> Any:
    """Return a written table that is larger than memory, to be read lazily."""
    from pyarrow import csv, dataset

    system = None
    if isinstance(target.at, Path):
        files = [str(one) for one in (sorted(target.at.glob("part-*")) if target.at.is_dir() else [target.at])]
    else:
        from shoal.io.stores.download import published_parts

        system, files = published_parts(target.at)
    if files[0].endswith((".parquet", ".pq")):
        return dataset.dataset(files, filesystem=system)
    parsed = (
        csv.ParseOptions(delimiter=dialect.delimiter, quote_char=dialect.quote, newlines_in_values=True)
        if dialect
        else None
    )
    read = csv.ReadOptions(encoding=dialect.encoding) if dialect else None
    form = dataset.CsvFileFormat(parse_options=parsed, read_options=read)
    return dataset.dataset(files, format=form, filesystem=system)


def _written(release: Release, sink: Sink, target: Place, hidden: tuple[Any, ...]) -> Release:
    """Write the tables of a release, and return it as written, in the format's types and text."""
    before = None if release.original is None else sink.fitted(release.original)  # else "" ≠ missing
    release = replace(release, data=sink.fitted(release.data), original=before)
    dialect = sink.dialect_for(target.at, release.dialect)
    sink.write(release.data, hidden[0], dialect)
    apart = None if release.apart is None else _written(release.apart, sink, target, hidden[1:])
    return replace(release, dialect=dialect, apart=apart)


def _read_back(release: Release, hidden: tuple[Any, ...]) -> Release:
    """Read the written tables back."""
    apart = None if release.apart is None else _read_back(release.apart, hidden[1:])
    return replace(read_back(hidden[0], release, release.dialect), apart=apart)
