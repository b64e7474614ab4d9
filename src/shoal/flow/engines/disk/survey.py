"""First pass over a table on disk: its facts for the plan, and its columns as scratch for the passes that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.errors import rows_kept
from shoal.flow.engines.blockwise.columns import QuasiColumn
from shoal.flow.engines.blockwise.facts import ROW, Facts, complete, facts_of
from shoal.flow.engines.disk.row_order import Steps
from shoal.recipe.recipe import Recipe
from shoal.types import Dialect, Role, Schema, Table

T = TypeVar("T")
_SCRATCH, _BEFORE = "rows", "rows before recoding"


@dataclass
class Survey(Facts):
    """The facts of a table, and where its columns are stored."""

    kept: list[NDArray[np.bool_]] = field(default_factory=list)  #: of each batch, if some records are excluded
    dialect: Dialect | None = None
    steps: Steps = field(init=False)
    path: Path = Path()
    before: list[QuasiColumn] = field(default_factory=list)  #: recoded quasi-identifiers, as they were read

    def __post_init__(self) -> None:
        self.steps = Steps(self.recipe)

    def parts(self) -> Iterator[pa.Table]:
        """Yield the stored columns, batch by batch, with row numbers from 0."""
        return _stored_in(self.path)

    def over(self, work: Callable[[pa.Table], T]) -> Iterable[T]:
        """Yield what a function returns for each batch of the stored columns."""
        return map(work, self.parts())

    @property
    def path_before(self) -> Path:
        """Where the columns before recoding are stored."""
        return self.path.with_name(_BEFORE)

    def parts_before(self) -> Iterator[pa.Table]:
        """Yield the recoded quasi-identifiers as they were read, in the same batches."""
        return _stored_in(self.path_before)

    def positions(self, rows: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Return for each released row, given its row in the input, its number among the kept rows; None: the same."""
        return (
            np.searchsorted(np.flatnonzero(np.concatenate(self.kept)), rows) if rows is not None and self.kept else rows
        )

    def over_before(self, work: Callable[[pa.Table], T]) -> Iterable[T]:
        """Yield what a function returns for each batch of these."""
        return map(work, self.parts_before())


def _stored_in(path: Path) -> Iterator[pa.Table]:
    with pa.OSFile(str(path), "rb") as file, pa.ipc.open_stream(file) as stream:
        for batch in stream:
            yield pa.Table.from_batches([batch])


def survey(
    tables: Callable[[], Iterator[Table]],
    schema: Schema,
    recipe: Recipe,
    folder: Path,
    total: int | None,
    read: Schema | None = None,
) -> Survey:
    """Read a table once: check its cells, gather its facts, and store the columns that form classes.

    Parameters
    ----------
    tables
        Yields the table, batch by batch.
    schema, recipe
        The meaning of its columns, and the request.
    read
        The meaning of its columns before they were recoded; None: none is.
    folder
        The scratch folder.
    total
        Number of records, for the progress bar; None: unknown.
    """
    nothing = facts_of(schema, recipe)
    found = Survey(schema, recipe, nothing.missing, nothing.columns, path=folder / _SCRATCH)
    recoded = [name for name in schema.names(Role.QUASI) if name in recipe.recode]
    found.before = [QuasiColumn((read or schema)[name], found.missing) for name in recoded]
    with ExitStack() as stack:
        rows_file, before = (_Stored(path, stack) for path in (found.path, found.path_before))
        for batch in tables():
            progress.report(found.read, total or found.read + len(batch))
            numbers = np.arange(found.read, found.read + len(batch))
            found.read += len(batch)
            found.dialect = batch.dialect
            with rows_kept(numbers):
                rows = _complete(batch, found)
            table = batch if rows is None else batch.rows(rows)
            if len(table) == 0:
                continue
            with rows_kept(numbers if rows is None else numbers[rows]):
                rows_file.write(_stored(table, found))
                if found.before:
                    before.write(pa.table({one.name: one.add(table.as_read) for one in found.before}))
    found.check()
    if found.read > found.records:
        for one in (*found.columns, *found.before):
            one.drop_unused()
    return found


class _Stored:
    """A file of stored columns, created with its first batch."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path, self._stack = path, stack
        self._writer: pa.RecordBatchStreamWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Write a batch, without metadata of the input."""
        plain = table.cast(pa.schema([pa.field(one.name, one.type) for one in table.schema]))
        if self._writer is None:
            file = self._stack.enter_context(pa.OSFile(str(self._path), "wb"))
            self._writer = self._stack.enter_context(pa.ipc.new_stream(file, plain.schema))
        self._writer.write_table(plain)


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
        found.steps.add(table.as_read)
    rows = pa.array(np.arange(found.records, found.records + len(table)))
    return pa.table({ROW: rows, **found.add(table)})
