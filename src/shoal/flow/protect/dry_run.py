"""Dry run: the plan, the refusals and a time estimate; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from shoal import progress
from shoal.errors import ShoalError, raise_together
from shoal.flow.engines.blockwise.plan import DISK, blocks_of, refuse_in_blocks, refuse_one_block, refuse_population
from shoal.flow.engines.disk.needs import needs_of, refuse_full_disk
from shoal.flow.plan.engine import engine_for
from shoal.flow.plan.estimate import Estimate
from shoal.flow.plan.plan import Plan, make_plan
from shoal.flow.plan.release_traits import in_two_tables
from shoal.flow.protect.files import NOTHING, SideFiles, keep_apart, read_file, read_frame
from shoal.flow.protect.holdout import draw_holdout, refuse_holdout, released_rows
from shoal.flow.protect.protect import people_for, sink_for
from shoal.flow.protect.row_order import Kept
from shoal.flow.protect.time import time_of
from shoal.flow.recoding.recode import refuse_unknown
from shoal.flow.stages.batches import open_batches
from shoal.flow.stages.read import schema_for
from shoal.flow.stages.summary import ColumnSummary, Summary, summarise
from shoal.flow.stages.write import writes_folder
from shoal.locations import Place, Url, beside
from shoal.partition import auto
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import of_population
from shoal.types import Planned, Role, Table
from shoal.types.protocols import Sink

_FIRST_ROWS = 10_000  # from which kinds of columns in text files are inferred


def plan_file(
    source: Place,
    target: Place | None,
    recipe: Recipe,
    *,
    force: bool = False,
    side_files: SideFiles = NOTHING,
    certify: bool = False,
    engine: str | None = None,
    memory: str | int | None = None,
    population: Any = None,
    holdout: float | None = None,
) -> Planned:
    """Plan to protect a file, without forming a class; a named output is checked but not touched.

    A database is not contacted before the run; an object store is. Of a file that would be protected on disk only the
    first rows are read.
    """
    from shoal.io.sinks._atomic import check_target
    from shoal.io.sinks._folder import check_folder

    faults: list[ShoalError] = []
    sink = None
    if target is not None:
        sink = sink_for(source, target, recipe)
        check_output = check_folder if writes_folder(target, source) else check_target
        places = (target, beside(target)) if in_two_tables(recipe) else (target,)
        paths = [path for path in (*(one.at for one in places), *side_files.paths.values()) if isinstance(path, Path)]
        checks: list[Callable[[], None]] = [partial(keep_apart, source, place, side_files.paths) for place in places]
        checks += [partial(check_output if path == target.at else check_target, path, force=force) for path in paths]
        if isinstance(target.at, Url) and target.stored is not None:
            checks.append(partial(_check_store, target.at, force=force))
        faults += _refused(checks)
    in_store = target is not None and target.stored is not None
    report = side_files.report is not None
    chosen = engine_for(source, sink, engine, memory, report=report, in_store=in_store)
    faults += _refused([partial(refuse_holdout, holdout, recipe, chosen, side_files.holdout)])
    if chosen == "disk":
        faults += _refused([partial(refuse_population, DISK, given=population is not None)])
        return _planned_on_disk(source, target, recipe, faults, sink, certify=certify)
    progress.stage("Read")
    whole = read_file(source, recipe, textual=False if sink is None else sink.textual)
    faults += _refused([partial(_check_population, population, recipe, whole)])
    timed = partial(time_of, report=report, text=sink is None or sink.textual)
    maker = None if sink is None else type(sink)
    return _planned(whole, recipe, faults, timed, certify=certify, sink=maker, holdout=holdout)


def _check_population(population: Any, recipe: Recipe, table: Table) -> None:
    """Refuse a population that cannot be counted, and requirements that lack one."""
    people_for(population, recipe, table)


def _check_store(url: Url, *, force: bool) -> None:
    """Refuse an output in an object store that must not be written to."""
    from shoal.io.stores.folder import open_store
    from shoal.io.stores.upload import check_store_folder

    check_store_folder(open_store(url), force=force)


def plan_frame(
    frame: Any,
    recipe: Recipe,
    *,
    certify: bool = False,
    report: bool = False,
    population: Any = None,
    holdout: float | None = None,
) -> Planned:
    """Plan to protect a frame, without forming a class."""
    from shoal.io.sources.frame import index_as_columns

    frame = index_as_columns(frame, (*recipe.identifier, *recipe.columns(Role.SUBJECT)))[0]
    timed = partial(time_of, report=report)
    table = read_frame(frame, recipe)[0]
    checks = [partial(refuse_holdout, holdout, recipe), partial(_check_population, population, recipe, table)]
    faults = list(_refused(checks))
    return _planned(table, recipe, faults, timed, certify=certify, sink=None, holdout=holdout)


def _planned(
    whole: Table,
    recipe: Recipe,
    faults: list[ShoalError],
    timed: Callable[[Plan, Table], Estimate],
    *,
    certify: bool,
    sink: type[Sink] | None,
    holdout: float | None,
) -> Planned:
    progress.stage("Plan")
    table, kept, plan = whole, Kept(), None
    summary = Summary(len(whole))
    try:
        table, kept = released_rows(whole, recipe, draw_holdout(whole, None if faults else holdout, recipe))
        summary = summarise(table, recipe)
        plan = make_plan(recipe, table.schema, summary, certify=certify, sink=sink)
    except ShoalError as error:
        faults.append(error)
    found = Planned(
        len(table),
        kept.left_out,
        table.schema,
        {name: _described(one) for name, one in summary.columns.items()},
        suppressed=kept.suppressed,
    )
    if plan is not None:
        found = replace(found, decisions=tuple(_decisions(plan)))
    if plan is not None and not faults:
        time = timed(plan, table)
        found = replace(found, seconds=time.cpu, wall_seconds=time.wall)
    return _with_refusals(found, faults)


def _planned_on_disk(
    source: Place, target: Place | None, recipe: Recipe, faults: list[ShoalError], sink: Sink | None, *, certify: bool
) -> Planned:
    """Plan to protect a file or folder on disk, from its footers, sizes and first rows."""
    progress.stage("Plan")
    textual = sink is not None and sink.textual
    batches = open_batches(source, recipe, textual=textual)
    schema = schema_for(next(batches.read(rows=_FIRST_ROWS)), recipe, batches.dialect)
    needs = needs_of(batches, recipe, textual=textual)
    faults += _refused([partial(refuse_in_blocks, recipe, certify=certify), partial(refuse_unknown, recipe, schema)])
    if target is not None and isinstance(target.at, Path):
        faults += _refused([partial(refuse_full_disk, needs, target.at)])
    found, plan = Planned(needs.records, 0, schema), None
    records = needs.records if batches.records is not None else max(needs.records, recipe.k)  # text is not counted
    try:
        plan = make_plan(recipe, schema, Summary(records, counted=False), sink=None if sink is None else type(sink))
    except ShoalError as error:
        faults.append(error)
    if plan is not None:
        blocks = blocks_of(plan, records)
        if recipe.method == "auto" and batches.records is not None and records < auto.LARGE:
            faults += _refused([partial(refuse_one_block, plan, records, DISK)])
        how = f"disk, in {blocks:,} block{'s' * (blocks > 1)} with effort {recipe.effort or 'default'}"
        found = replace(found, decisions=(("Engine", how), *_decisions(plan)))
    if plan is not None and not faults:
        found = replace(found, seconds=needs.time.cpu, wall_seconds=needs.time.wall, disk=needs.disk)
    return _with_refusals(found, faults)


def _refused(checks: Iterable[Callable[[], None]]) -> Iterator[ShoalError]:
    """Yield the refusals of some checks."""
    for check in checks:
        try:
            check()
        except ShoalError as error:
            yield error


def _with_refusals(found: Planned, faults: list[ShoalError]) -> Planned:
    try:
        raise_together(faults)
    except ShoalError as error:
        return replace(found, refusals=error.sentences, exit_code=error.exit_code)
    return found


def _described(column: ColumnSummary) -> str:
    """Describe a column in words; never a value.

    >>> from collections import Counter
    >>> _described(ColumnSummary(3, 0.5, 9.25, Counter({1: 1, 2: 8})))
    '3 missing, up to 2 decimals'
    """
    parts = [f"{column.missing:,} missing"] if column.missing else []
    if column.categories:
        parts.append(f"{len(column.categories):,} categor{'y' if len(column.categories) == 1 else 'ies'}")
    elif column.decimals:
        most = max(column.decimals)
        parts.append("whole numbers" if most == 0 else f"up to {most} decimal{'s' if most > 1 else ''}")
    return ", ".join(parts)


def _decisions(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the decisions, topic by topic."""
    recipe, summary = plan.recipe, plan.summary
    if plan.method.promises_k:
        least = plan.method.k
        most = sum(int(size) // least for size in summary.strata.counts) if summary.strata else summary.records // least
        raised = f", raised from {recipe.k} for the share of one person" if least > recipe.k else ""
        yield "Classes", f"{recipe.method} with k = {least}{raised}: at most {max(most, 1):,} classes"
    else:
        yield "Classes", f"{recipe.method}, which promises no k"
    if recipe.blocking is not None and recipe.block_count > 1:
        word, size = recipe.blocking
        yield "Blocks", f"{recipe.block_count} of {word} quasi-identifiers, at most {size} in each"
    elif len(recipe.all_blocks) > 1:
        yield "Blocks", "; ".join(", ".join(names) for names in recipe.all_blocks)
    if summary.strata is not None:
        sizes = summary.strata.counts
        small = "; small ones are merged" if plan.merges_strata else ""
        yield "Strata", f"{len(sizes):,} strata of at least {int(sizes.min()):,} records{small}"
    if recipe.counted is not None:
        yield "k counts", f"different values of {recipe.counted!r}{', never split' if recipe.together else ''}"
    for one in plan.required:
        levels = ", ".join(f"{name} = {level:g}" for name, level in one.levels if isinstance(level, int | float))
        about = f" of {', '.join(one.columns or recipe.confidential)}" if recipe.confidential else ""
        if of_population(one.key):
            yield "Audited", f"{one.key} with {levels}; not enforced: nothing is written if it does not hold"
            continue
        yield "Required", f"{one.key} with {levels}{about}"
    after = [
        *(["repair until every requirement holds"] if plan.repairs else []),
        *([f"refine with effort {recipe.refinement}"] if recipe.refinement is not None else []),
        *(["bound the loss from below"] if plan.certify else []),
    ]
    if after:
        yield "Afterwards", "; ".join(after)
    yield "Release", recipe.release
    yield (
        "Rows",
        {"keep": "in their order", "shuffle": "shuffled"}.get(
            recipe.row_order, "shuffled if their order gives values away"
        ),
    )
