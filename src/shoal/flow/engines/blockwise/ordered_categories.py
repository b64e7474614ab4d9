"""Ordered categories of a table on disk: those that released records have, over all batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


class OrderedCategories:
    """The categories of every column with an ordered dictionary, and which of them occur.

    A file lists the categories of such a column in full, in their order, with its first batch. So all batches must be
    known before: the list must hold every category that a released record has, and no other.
    """

    def __init__(self) -> None:
        self._order: dict[str, dict[Any, None]] = {}
        self._used: dict[str, set[Any]] = {}

    def add(self, data: pa.Table) -> None:
        """Take in released records."""
        for field in data.schema:
            if not pa.types.is_dictionary(field.type) or not field.type.ordered:
                continue
            for chunk in data.column(field.name).chunks:
                known = chunk.dictionary.to_pylist()
                used = np.unique(chunk.indices.drop_null().to_numpy()).tolist()
                self._order.setdefault(field.name, {}).update(dict.fromkeys(known))
                self._used.setdefault(field.name, set()).update(known[at] for at in used)

    def lists(self) -> dict[str, list[Any]]:
        """Return the categories that occur, column by column, in their order."""
        return {name: [one for one in order if one in self._used[name]] for name, order in self._order.items()}
