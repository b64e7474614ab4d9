"""Anatomy with k, as it is defined: join the two tables, and look at every class. Obviously right, and slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def anatomy_k(
    classes: Sequence[object],
    before: Sequence[tuple],
    apart_classes: Sequence[object],
    apart: Sequence[tuple],
    subjects: Sequence[object] | None = None,
) -> int:
    """Return the fewest confidential rows, or subjects, of a class; 0 if the rows of one are not its own."""
    levels = []
    for one in {*classes, *apart_classes}:
        rows = [row for row, its in enumerate(classes) if its == one]
        had = Counter(before[row] for row in rows)
        has = Counter(cells for cells, its in zip(apart, apart_classes, strict=True) if its == one)
        if one is None or had != has:
            levels.append(0)
        elif subjects is None:
            levels.append(len(rows))
        else:
            levels.append(len({subjects[row] for row in rows}))
    return min(levels, default=0)
