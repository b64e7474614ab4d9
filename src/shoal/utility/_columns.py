"""Columns before and after, their statistics by stratum, and order-independent sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.sums import orderless_total
from shoal.types import Coded, Comparison, Measure, Reading

MOST = 200  #: most parts that a reading shows

Parts = tuple[tuple[str, float], ...]


class Numbers(NamedTuple):
    """Column before and after, without missing values, scaled by a power of two so that squares do not overflow."""

    name: str
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    there: NDArray[np.bool_]  #: for each record of the table, whether it is included
    spread: float  #: the population standard deviation before; the column's own unit if nothing varies

    @property
    def left_out(self) -> int:
        """Return how many records are left out."""
        return len(self.there) - len(self.before)


def numbers_of(comparison: Comparison) -> list[Numbers]:
    """Return the numeric attributes, without those that have no value at all."""
    columns = (_numbers(name, comparison) for name in comparison.numeric)
    return [column for column in columns if len(column.before)]


def _numbers(name: str, comparison: Comparison) -> Numbers:
    before, after = comparison.numbers[name]
    there = ~(np.isnan(before) | np.isnan(after))
    before, after = before[there], after[there]
    exponent = int(np.frexp(np.max(np.abs(before), initial=0.0))[1])
    before, after = np.ldexp(before, -exponent), np.ldexp(after, -exponent)
    own = float(np.ldexp(1.0, -exponent))
    return Numbers(name, before, after, there, (deviation(before) if len(before) else 0.0) or own)


def deviation(values: NDArray[np.float64]) -> float:
    """Return the population standard deviation; exactly 0 if nothing varies."""
    offsets = values - values[0]
    return float(np.sqrt(np.mean((offsets - offsets.mean()) ** 2))) if offsets.any() else 0.0


def left_out(columns: Iterable[Numbers]) -> str:
    """Report how many values were left out."""
    return missing(sum(column.left_out for column in columns), "value")


def missing(count: int, what: str) -> str:
    """Report how many values, or records with a value, were left out because one is missing.

    >>> missing(1, "value")
    '1 value was omitted, because it is missing before or after'
    """
    if not count:
        return ""
    many = f"{count:,} {what}s were" if count > 1 else f"1 {what} was"
    why = "a value is" if what == "record" else "they are" if count > 1 else "it is"
    return f"{many} omitted, because {why} missing before or after"


def worst(parts: Sequence[tuple[str, float]], most: int = MOST) -> Parts:
    """Return the largest parts, in their original order."""
    if len(parts) <= most:
        return tuple(parts)
    sizes = np.abs([value for _, value in parts])
    return tuple(parts[at] for at in np.sort(np.argsort(-sizes, kind="stable")[:most]))


def notes(*sentences: str) -> str:
    """Join the non-empty sentences."""
    return "; ".join(sentence for sentence in sentences if sentence)


#: (before, after, start of each group of records, the table's deviation) → changes of statistics in each group
Change = Callable[
    [NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], float], Mapping[str, NDArray[np.float64]]
]


def read_changes(measure: Measure, comparison: Comparison, change: Change) -> Reading:
    """Measure how far a statistic moved: the value is the largest change in the table, parts have their signs.

    Records are sorted by group. Strata are named by their numbers only.
    """
    columns = numbers_of(comparison)
    if not columns:
        return measure.undefined("no attribute is a number")
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
    return measure.reading(value, names, parts, note)


def _inside(column: Numbers, strata: NDArray[np.int64], change: Change) -> list[tuple[str, float]]:
    order, begins = in_groups(strata)
    numbers = strata[order[begins]]
    found = change(column.before[order], column.after[order], begins, column.spread)
    parts = []
    for label, values in found.items():
        far = np.sort(np.argsort(-np.abs(values), kind="stable")[:MOST])  # no more than are shown
        parts += [(f"{column.name}{label} in stratum {numbers[at]}", float(values[at])) for at in far]
    return parts


def in_groups(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records sorted by group, and the start of each group."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    return order, np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def sizes_of(begins: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the size of each group."""
    return np.diff(np.append(begins, n))


def sse_of(comparison: Comparison) -> float:
    """Return the sum of squared differences between original and masked values."""
    if "sse" not in comparison.cache:
        comparison.cache["sse"] = orderless_total(comparison.squares.ravel())
    return float(comparison.cache["sse"])


def absolute_of(comparison: Comparison) -> float:
    """Return the sum of absolute differences between original and masked values."""
    if "absolute" not in comparison.cache:
        comparison.cache["absolute"] = orderless_total(np.sqrt(comparison.squares).ravel())
    return float(comparison.cache["absolute"])


def cells_of(comparison: Comparison) -> int:
    """Return the number of compared values, at least 1."""
    return max(len(comparison) * len(comparison.attributes), 1)


def sst_of(comparison: Comparison) -> float:
    """Return the sum of squared differences between original values and their means."""
    if "sst" not in comparison.cache:
        comparison.cache["sst"] = sum(variations(comparison.original))
    return comparison.cache["sst"]


def variations(x: NDArray[np.float64] | Coded) -> list[float]:
    """Return the sum of squared differences from the mean, for each summand of a squared distance."""
    if isinstance(x, Coded):
        summands = x.layout.order.tolist()
        return [x.variation(~at) if at < 0 else _variation(x.numbers[:, at]) for at in summands]
    return [_variation(column) for column in x.T]


def _variation(column: NDArray[np.float64]) -> float:
    column = np.ascontiguousarray(column)
    return float(orderless_total((column - orderless_total(column) / len(column)) ** 2))
