"""How far a statistic of each attribute moved, in the table and in each of its strata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Reading
from shoal.utility._columns import MOST, Numbers, left_out, notes, nothing, numbers_of, worst

#: (before, after, where each group of records begins, the table's deviation) → changes of statistics in each group
Change = Callable[
    [NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], float], Mapping[str, NDArray[np.float64]]
]


def read_changes(key: str, measure: Any, comparison: Comparison, change: Change) -> Reading:
    """Read how far a statistic moved: the value is the largest change in the table, parts have their signs.

    Groups of records stand one after the other. Strata are named by their numbers only.
    """
    columns = numbers_of(comparison)
    if not columns:
        return nothing(key, measure, "no attribute is a number")
    table: list[tuple[str, float]] = []
    inside: list[tuple[str, float]] = []
    for column in columns:
        found = change(column.before, column.after, np.zeros(1, np.int64), column.spread)
        table += [(column.name + label, float(values[0])) for label, values in found.items()]
        if comparison.strata is not None:
            inside += _inside(column, comparison.strata[column.there], change)
    value = max(abs(part) for _, part in table)
    parts = worst(table)
    if inside:
        most = max(inside, key=lambda part: abs(part[1]))
        parts = (*worst(table, MOST - 1), ("largest in a stratum", abs(most[1])))
        parts = (*parts, *worst(inside, MOST - len(parts)))
    cut = len(table) + len(inside) > MOST
    note = notes(left_out(columns), f"parts are the {MOST} largest changes" if cut else "")
    names = tuple(column.name for column in columns)
    return Reading(key, value, measure.goal, measure.range, names, parts=parts, note=note)


def _inside(column: Numbers, strata: NDArray[np.int64], change: Change) -> list[tuple[str, float]]:
    order, begins = in_groups(strata)
    numbers = strata[order[begins]]
    found = change(column.before[order], column.after[order], begins, column.spread)
    parts = []
    for label, values in found.items():
        far = np.sort(np.argsort(-np.abs(values), kind="stable")[:MOST])  # more than are shown nobody needs
        parts += [(f"{column.name}{label} in stratum {numbers[at]}", float(values[at])) for at in far]
    return parts


def in_groups(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records group after group, and where each group begins."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    return order, np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def sizes_of(begins: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return how many records each group has."""
    return np.diff(np.append(begins, n))
