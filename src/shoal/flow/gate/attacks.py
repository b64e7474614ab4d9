"""Attacks of the gate: the quick ones, run on every release before it is published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import registry
from shoal.errors import GuaranteeError, ShoalError
from shoal.flow.stages.values import as_values
from shoal.types import Attempt, Attempts, Case, Column, Kind, Release, Role, Schema, Table, with_columns
from shoal.types.attack import NOT_RUN, AllRecords

_PARSED = (Role.QUASI, Role.CONFIDENTIAL, Role.WEIGHT)


def attack_release(
    original: Table,
    release: Release,
    recipe: Mapping[str, Any],
    notes: Iterable[str] = (),
    *,
    keep_metadata: bool = False,
    everything: AllRecords | None = None,
) -> tuple[Attempt, ...]:
    """Attack a release as it will be published, and refuse it if an attack succeeds that must not.

    Parameters
    ----------
    original
        The records that are released, in their order.
    release
        Its one or two tables, as they were read back.
    recipe
        The fields of the recipe.
    notes
        Texts that the staged files hold in addition to their tables.
    keep_metadata
        Whether metadata was to be kept; then names in it are reported only.
    everything
        All records, if `original` and `release` are a sample of whole classes; every attempt then says so.

    Raises
    ------
    GuaranteeError
        If an attack that must not succeed does.
    """
    tables = tuple(as_released(one, original) for one in (release, release.apart) if one is not None)
    rows, known = np.arange(len(original)), tuple(notes)
    case = Case(with_parsed(original, exact=True), tables, recipe, rows, notes=known, everything=everything)
    found = run_attacks(case, [key for key in registry.keys("attack") if registry.says("attack", key, "quick")])
    for one in found.succeeded:
        if registry.says("attack", one.attack, "stops") and not (one.attack == "metadata" and keep_metadata):
            raise GuaranteeError(
                f"The attack {one.attack!r} on the output must fail, but it succeeded. {one.sentence} "
                "Nothing was written."
            )
    return tuple(_measured(one, case) for one in found.attempts)


def _measured(found: Attempt, case: Case) -> Attempt:
    """Return an attempt that says so if it was made on a sample."""
    if case.everything is None or found.verdict == NOT_RUN or found.records == case.everything.records:
        return found
    return replace(found, sentence=f"{found.sentence} Measured on a sample of {len(case):,} records.")


def note_on_order(attempts: Iterable[Attempt], row_order: str) -> tuple[str, ...]:
    """Return a note if positions tell more than released values do, and the recipe did not choose the order.

    It has no figures: like the decision to shuffle, it may depend on who has which row. The audit itself warns about
    columns that make records unique.
    """
    if row_order == "auto" and any(one.attack == "row_order" and one.succeeded for one in attempts):
        return ('The order of rows tells more about single records than their values do. Set row_order = "shuffle".',)
    return ()


def notes_in(staged: Iterable[Any]) -> list[str]:
    """Return the texts that files hold in addition to their tables; databases hold none."""
    files = [at for at in staged if isinstance(at, Path)]
    found = [registry.for_place("io.sources", at)().properties(at) for at in files]
    return [text for properties in found for text in properties.values() if text]


def run_attacks(case: Case, keys: Iterable[str]) -> Attempts:
    """Run attacks by their keys."""
    return Attempts(tuple(_run(key, case) for key in keys))


def _run(key: str, case: Case) -> Attempt:
    found: Attempt = registry.load("attack", key)().run(case)
    advice = registry.says("attack", key, "advice") if found.succeeded else ""
    return replace(found, sentence=f"{found.sentence} {advice}") if advice else found


def as_released(release: Release, original: Table) -> Table:
    """Return a table of a release with parsed cells; what it shares with the original has the same kind."""
    known = set(original.schema.names())
    columns = [
        _with_decimals(original.schema[name]) if name in known else Column(name, Role.OTHER, Kind.NOMINAL)
        for name in release.data.column_names
    ]
    return with_parsed(Table(release.data, Schema(tuple(columns)), release.dialect))


def _with_decimals(column: Column) -> Column:
    """Return a column of weights as decimal numbers, because the mean of whole ones is not whole."""
    return replace(column, kind=Kind.CONTINUOUS) if column.role is Role.WEIGHT else column


def with_parsed(table: Table, *, exact: bool = False) -> Table:
    """Return a table in which text cells are values, by the kind of their column; cells that do not fit stay text.

    With `exact`, integers stay integers, as in the original; it has such cells parsed already.
    """
    found = {}
    for column in table.schema.columns:
        if column.role in _PARSED and column.name in table.data.column_names:
            try:
                found[column.name] = as_values(column.name, table, exact=exact and column.role is Role.QUASI)
            except (ShoalError, pa.ArrowException):
                continue
    changed = {name: one for name, one in found.items() if one is not table.data.column(name)}
    return replace(table, data=with_columns(table.data, changed)) if changed else table
