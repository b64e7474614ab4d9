"""First pass over a table on disk: its facts for the plan, and its columns as scratch for the passes that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.errors import rows_kept
from shoal.flow.engines.blockwise.facts import ROW, Facts, complete, facts_of
from shoal.flow.engines.disk.row_order import Steps
from shoal.recipe.recipe import Recipe
from shoal.types import Dialect, Schema, Table

T = TypeVar("T")
_SCRATCH = "rows"


@dataclass
class Survey(Facts):
    """The facts of a table, and where its columns are stored."""

    kept: list[NDArray[np.bool_]] = field(default_factory=list)  #: of each batch, if some records are excluded
    dialect: Dialect | None = None
    steps: Steps = field(init=False)
    path: Path = Path()

    def __post_init__(self) -> None:
        self.steps = Steps(self.recipe)

    def parts(self) -> Iterator[pa.Table]:
        """Yield the stored columns, batch by batch, with row numbers from 0."""
        with pa.OSFile(str(self.path), "rb") as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])

    def over(self, work: Callable[[pa.Table], T]) -> Iterable[T]:
        """Yield what a function returns for each batch of the stored columns."""
        return map(work, self.parts())


def survey(
    tables: Callable[[], Iterator[Table]], schema: Schema, recipe: Recipe, folder: Path, total: int | None
) -> Survey:
    """Read a table once: check its cells, gather its facts, and store the columns that form classes.

    Parameters
    ----------
    tables
        Yields the table, batch by batch.
    schema, recipe
        The meaning of its columns, and the request.
    folder
        The scratch folder.
    total
        Number of records, for the progress bar; None: unknown.
    """
    nothing = facts_of(schema, recipe)
    found = Survey(schema, recipe, nothing.missing, nothing.columns, path=folder / _SCRATCH)
    writer: pa.RecordBatchStreamWriter | None = None
    with pa.OSFile(str(found.path), "wb") as file:
        for batch in tables():
            progress.report(found.read, total or found.read + len(batch))
            numbers = np.arange(found.read, found.read + len(batch))
            found.read += len(batch)
            found.dialect = batch.dialect
            with rows_kept(numbers):
                rows = _complete(batch, found)
            table = batch if rows is None else replace(batch, data=batch.data.take(rows))
            if len(table) == 0:
                continue
            with rows_kept(numbers if rows is None else numbers[rows]):
                stored = _stored(table, found)
            if writer is None:
                writer = pa.ipc.new_stream(file, stored.schema)
            writer.write_table(stored.cast(writer_schema(stored)))
        if writer is not None:
            writer.close()
    found.check()
    if found.read > found.records:
        for one in found.columns:
            one.drop_unused()
    return found


def writer_schema(table: pa.Table) -> pa.Schema:
    """Return the schema of stored columns, without metadata of the input."""
    return pa.schema([pa.field(one.name, one.type) for one in table.schema])


def _complete(table: Table, found: Survey) -> NDArray[np.int64] | None:
    """Return the rows of a batch that are released, if records that lack a value are excluded; None: all."""
    whole = complete(table, found.recipe)
    if whole is None:
        return None
    found.kept.append(whole)
    return None if whole.all() else np.flatnonzero(whole)


def _stored(table: Table, found: Survey) -> pa.Table:
    """Return the stored columns of a batch."""
    if found.recipe.row_order == "auto":
        found.steps.add(table)
    rows = pa.array(np.arange(found.records, found.records + len(table)))
    return pa.table({ROW: rows, **found.add(table)})
