"""Row order of a table on disk: detects, batch by batch, that it is sorted by a column that is not released."""

from __future__ import annotations

import pyarrow as pa

from shoal.flow.stages.sorted_rows import comparable, is_order, order_columns, steps
from shoal.recipe.recipe import Recipe
from shoal.types import Table


class Steps:
    """How often each column rises and falls from row to row, over all batches."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._counts: dict[str, list[int]] = {}
        self._last: dict[str, pa.ChunkedArray] = {}

    def add(self, table: Table) -> None:
        """Count the steps of a batch, and that from the batch before."""
        for name in order_columns(table, self._recipe):
            column = comparable(table, name)
            before = self._last.get(name)
            if before is not None and before.type == column.type:
                column = pa.chunked_array([*before.chunks, *column.chunks])
            up, down = steps(column)
            counts = self._counts.setdefault(name, [0, 0])
            counts[0] += up
            counts[1] += down
            self._last[name] = column.slice(len(column) - 1)

    def sorted_by(self) -> str | None:
        """Return the first column by which the rows are sorted, if any."""
        return next((name for name, (up, down) in self._counts.items() if is_order(up, down)), None)
