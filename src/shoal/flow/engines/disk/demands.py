"""Demands on classes of a table on disk: confidential values and people, with which the plan can refuse in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from shoal.errors import ParameterError
from shoal.flow.engines.blockwise.facts import SUBJECT
from shoal.flow.engines.disk.survey import Survey
from shoal.flow.stages.encode import confidential_columns
from shoal.flow.stages.summary import Summary, people_tally, value_tallies
from shoal.types import Column, Confidential, Kind, Role, Schema, Table

_RECORD, _VALUE = 70, 40  # bytes in memory while classes are united: for a record, and for each confidential value


def refuse_memory(found: Survey, memory: int) -> None:
    """Refuse requirements on more confidential values than fit into memory."""
    recipe = found.recipe
    if recipe.t is None and not recipe.require:
        return
    needed = found.records * (_RECORD + _VALUE * len(recipe.confidential))
    if needed > memory:
        raise ParameterError(
            f"Disk engine: with t or require, about {needed / 1e9:.1f} GB of memory are needed for the confidential "
            f"values of {found.records:,} records, got {memory / 1e9:.1f} GB. Raise --memory, or leave them out."
        )


def demands_on(tables: Callable[..., Iterator[Table]], found: Survey) -> tuple[tuple[Confidential, ...], Summary]:
    """Read what requirements are about: the confidential values of all records, and the summary with all tallies."""
    recipe, summary = found.recipe, found.summary()
    required = recipe.t is not None or bool(recipe.require)
    if not required and recipe.subject is None:
        return (), summary
    table = _columns(tables, found, found.schema.names(Role.CONFIDENTIAL) if required else ())
    people = people_tally(table, recipe, None)
    if not required:
        return (), replace(summary, people=people)
    confidential = confidential_columns(table)
    return confidential, replace(summary, people=people, values=value_tallies(table))


def _columns(tables: Callable[..., Iterator[Table]], found: Survey, names: tuple[str, ...]) -> Table:
    """Return the confidential columns, strata and people of all released records."""
    wanted = [*names, *found.recipe.strata]
    columns = [found.schema[name] for name in wanted]
    if wanted:
        read = []
        for number, table in enumerate(tables(wanted)):
            data = table.data.filter(pa.array(found.kept[number])) if found.kept else table.data
            read.append(data)
        data, dialect = pa.concat_tables(read).unify_dictionaries(), found.dialect
    else:
        data, dialect = pa.table({"record": np.zeros(found.records, np.int8)}), found.dialect
        columns = [Column("record", Role.OTHER, Kind.INTEGER)]
    if (subject := found.recipe.subject) is not None:
        digests = pa.chunked_array([chunk for part in found.parts() for chunk in part.column(SUBJECT).chunks])
        data = data.append_column(subject, digests)
        columns.append(found.schema[subject])
    return Table(data, Schema(tuple(columns)), dialect)
