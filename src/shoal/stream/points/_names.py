"""Attributes of categories: cells as numbers of categories, by what they are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.stream.points._cells import each, listed
from shoal.types import called
from shoal.types.stream import Taken


@dataclass(frozen=True)
class Categories:
    """An attribute of categories that were named before, ordered or not."""

    name: str
    categories: tuple[Any, ...] = field(repr=False)
    among: str  #: where they were named, in messages

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The number of each category by what it is called; blanks are no value, and none of them."""
        return {called(category): at for at, category in enumerate(self.categories) if called(category).strip()}

    def fits(self, cell: Any) -> bool:
        """Tell at a glance whether a cell is one of the categories; if not, it may still be read."""
        return type(cell) is str and cell in self._numbers

    def take(self, cells: Any) -> Taken:
        """Read categories; those that nobody named before are faults."""
        items, number = listed(cells), self._numbers
        try:
            quick = [number.get(cell, -1) for cell in items]  # text is called what it is
        except TypeError:  # a list, a table: no category
            quick = [-1] * len(items)
        if -1 not in quick:
            return Taken(np.array(quick, np.int64), np.zeros(len(items), np.bool_), [])

        def read(cell: Any) -> int | None:
            if isinstance(cell, str):
                return number.get(cell, number.get(cell.strip()))
            return None if isinstance(cell, (list, dict)) else number.get(called(cell))

        sentence = f"must be in {self.among}, got something else. Add it there, or correct the record."
        values, faults = each(self.name, items, read, sentence)
        codes = np.array([0 if value is None else value for value in values], np.int64)
        return Taken(codes, np.zeros(len(items), np.bool_), faults)

    def plain(self, values: NDArray[Any]) -> list[Any]:
        """Return categories as they were named before."""
        return [self.categories[code] for code in values.tolist()]
