"""Cells as numbers of categories, by what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.stream.points._cells import each, listed
from shoal.types import called
from shoal.types.stream import Taken


def numbered(categories: Sequence[Any]) -> dict[str, int]:
    """Return the number of each category by what it is called; blanks are no value, and none of them."""
    return {called(category): at for at, category in enumerate(categories) if called(category).strip()}


def codes_of(name: str, cells: Any, number: Mapping[str, int], among: str) -> Taken:
    """Return the number of each cell's category; what is none of them is a fault."""
    items = listed(cells)
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

    sentence = f"must be in {among}, got something else. Add it there, or correct the record."
    values, faults = each(name, items, read, sentence)
    codes = np.array([0 if value is None else value for value in values], np.int64)
    return Taken(codes, np.zeros(len(items), np.bool_), faults)
