"""Columns of numbers before and after as several measures look at them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Reading

MOST = 200  #: parts that a reading shows at most

Parts = tuple[tuple[str, float], ...]


class Numbers(NamedTuple):
    """A column before and after, where both values are there, times a power of two so that squares do not overflow."""

    name: str
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    there: NDArray[np.bool_]  #: for each record of the table whether it is among them
    spread: float  #: the population standard deviation before; the column's own unit where nothing varies

    @property
    def left_out(self) -> int:
        """How many records are not among them."""
        return len(self.there) - len(self.before)


def numbers_of(comparison: Comparison) -> list[Numbers]:
    """Return the attributes that are numbers; those without a single value are left out."""
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
    """Return the population standard deviation; exactly 0 where nothing varies."""
    offsets = values - values[0]
    return float(np.sqrt(np.mean((offsets - offsets.mean()) ** 2))) if offsets.any() else 0.0


def left_out(columns: Iterable[Numbers]) -> str:
    """Say how many values were not looked at."""
    return missing(sum(column.left_out for column in columns), "value")


def missing(count: int, what: str) -> str:
    """Say how many values, or records with a value, were left out because of what is missing.

    >>> missing(1, "value")
    '1 value was left out, because it is missing before or after'
    """
    if not count:
        return ""
    many = f"{count:,} {what}s were" if count > 1 else f"1 {what} was"
    why = "a value is" if what == "record" else "they are" if count > 1 else "it is"
    return f"{many} left out, because {why} missing before or after"


def worst(parts: Sequence[tuple[str, float]], most: int = MOST) -> Parts:
    """Return the parts of largest size, in the order that they have."""
    if len(parts) <= most:
        return tuple(parts)
    sizes = np.abs([value for _, value in parts])
    return tuple(parts[at] for at in np.sort(np.argsort(-sizes, kind="stable")[:most]))


def notes(*sentences: str) -> str:
    """Join what there is to say."""
    return "; ".join(sentence for sentence in sentences if sentence)


def nothing(key: str, measure: Any, why: str) -> Reading:
    """Return the reading of a measure that has nothing to look at."""
    unit, short = getattr(measure, "unit", ""), getattr(measure, "short", "")
    return Reading(key, math.nan, measure.goal, measure.range, unit=unit, note=why, short=short)
