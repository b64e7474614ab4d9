"""Audits in parts: the models that allow them, the distribution of the whole table, and the findings of all parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import DataError, Nowhere, ParameterError, raise_all, rows_kept
from shoal.flow.stages.parts import SUBJECT, WEIGHT, InParts
from shoal.flow.stages.values import as_values
from shoal.recipe.requirements import Required, model_of
from shoal.schema.cell_summary import CellSummary
from shoal.schema.cells import WORDS
from shoal.types import Audit, Column, Dialect, Finding, Reference, Release, Schema, Table

_CELLS = 1 << 17  # counted at a time


def refuse_unmergeable(required: Sequence[Required], owner: str = "Audit") -> None:
    """Refuse models whose findings cannot be merged from parts of a table that does not fit into memory."""
    raise_all(
        ParameterError,
        [
            f"{owner}: {one.key} must be audited with the whole table in memory, which is too small for it. Raise the "
            f"memory, or leave out {one.key}."
            for one in required
            if not is_mergeable(one.key)
        ],
    )


def is_mergeable(key: str) -> bool:
    """Tell whether a model can audit a table in parts that hold whole classes.

    >>> is_mergeable("t_closeness"), is_mergeable("n_t_closeness")
    (True, False)
    """
    return bool(registry.says("privacy", key, "mergeable"))


def merged_findings(parts: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Return the findings of a table from those of its parts, which are about the same in each part."""
    return [merged(same) for same in zip(*parts, strict=True)]


def merged(same: Sequence[Finding]) -> Finding:
    """Return one finding of a table from those of its parts."""
    return model_of(same[0].model)().merge(same)


def merged_audit(parts: Sequence[Audit]) -> Audit:
    """Return the audit of a table from those of its parts."""
    findings = merged_findings([part.findings for part in parts])
    at = next((i for i, one in enumerate(parts[0].findings) if one is parts[0].overall), None)
    overall = merged([part.overall for part in parts]) if at is None else findings[at]
    records = sum(part.records for part in parts)
    return replace(parts[0], records=records, overall=overall, findings=tuple(findings))


def references_in(parts: InParts, schema: Schema, arrow: pa.Schema, dialect: Dialect | None) -> dict[str, Reference]:
    """Return the distributions of confidential columns in the whole table, parsed once."""
    found = {}
    for name, (cells, counts) in parts.distributions.items():
        column = cells
        if name in parts.orders:
            places = pc.index_in(cells.combine_chunks(), value_set=parts.orders[name])
            column = pa.chunked_array([pa.DictionaryArray.from_arrays(places, parts.orders[name], ordered=True)])
        one = pa.table([column], schema=pa.schema([arrow.field(name).with_type(column.type)]))
        try:
            values = as_values(name, Table(one, Schema((schema[name],)), dialect))
        except DataError:  # about distinct cells
            refuse_unreadable(schema[name], column, counts, dialect)
            raise
        found[name] = Reference(cells, values, counts)
    return found


def refuse_unreadable(
    column: Column, cells: pa.ChunkedArray, counts: NDArray[np.int64], dialect: Dialect | None
) -> None:
    """Refuse text that does not read as values of its column, given distinct cells and the number of each.

    Parts have no row numbers; all cells are counted.
    """
    if dialect is None or column.kind not in WORDS:
        return
    ends, summary = np.cumsum(counts), CellSummary()
    for start in range(0, int(ends[-1]), _CELLS):
        rows = np.arange(start, min(start + _CELLS, int(ends[-1])))
        repeated = cells.take(pa.array(np.searchsorted(ends, rows, side="right")))
        summary = summary.merged(CellSummary.of(repeated, column.kind, dialect))
    if not summary.readable:
        with rows_kept(Nowhere):
            raise DataError(summary.refusal(column.name, column.kind, dialect))


def release_of(part: pa.Table, schema: Schema, dialect: Dialect | None, references: Mapping[str, Reference]) -> Release:
    """Return a part as an audit sees it, with its unreleased subjects and weights."""
    shown = [name for name in part.column_names if name not in (SUBJECT, WEIGHT)]
    return Release(
        part.select(shown),
        schema,
        dialect,
        part.column(SUBJECT) if SUBJECT in part.column_names else None,
        weights=numbers(part.column(WEIGHT)) if WEIGHT in part.column_names else None,
        references=references,
        read={name: part.column(name) for name in references},  # audits look up the values of the whole table
    )


def numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return numbers unchanged; a missing one is NaN."""
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
