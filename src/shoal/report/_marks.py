"""Round numbers along an axis: where bars begin and end, and what is written below."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.report._numerals import moment, number

_CELLS = 20  # about so many bars
_TICKS = 5  # numbers that are written, at most
_MONTHS = (1, 2, 3, 6, 12, 24, 36, 60, 120, 240, 600, 1200, 6000)
_MONTH = 30.436875  # days


class Marks(NamedTuple):
    """Where one cell ends and the next begins, and what is written along the axis, in cells."""

    edges: NDArray[np.float64]
    ticks: tuple[tuple[float, str], ...]


def marks_between(low: float, high: float, *, whole: bool, dated: bool) -> Marks | None:
    """Return round numbers from about `low` to about `high`; None if there are none between them.

    >>> marks_between(0.0, 100.0, whole=False, dated=False).edges[:3].tolist()
    [0.0, 5.0, 10.0]
    >>> [text for _, text in marks_between(0.0, 8000.0, whole=False, dated=True).ticks]
    ['1970', '1975', '1980', '1985', '1990']
    """
    raw = (high - low) / _CELLS
    if not (math.isfinite(raw) and raw > 0 and max(abs(low), abs(high)) < 1e15 * raw):
        return None
    if dated and raw > 20 and abs(low) < 2e5 and abs(high) < 5e5:  # years that everybody can read
        return _of_months(low, high, raw)
    step = _round_up(raw)
    if whole:
        step = max(step, 1.0) if step != 2.5 else 5.0
    if whole and step == 1.0:  # a bar for each number, written below its middle
        numbers = np.arange(math.floor(low), math.ceil(high) + 1, dtype=np.float64)
        return Marks(numbers[1:] - 0.5, _some((at + 0.5, number(float(v), 12)) for at, v in enumerate(numbers)))
    edges = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1, dtype=np.float64)
    return Marks(edges, _some(_written(edges, moment if dated else _brief(step))))


def _of_months(low: float, high: float, raw: float) -> Marks:
    step = next((months for months in _MONTHS if months * _MONTH >= 0.9 * raw), _MONTHS[-1])
    first, last = (np.datetime64(int(day), "D").astype("datetime64[M]").astype(int) for day in (low, high))
    months = np.arange(-(-first // step) * step, last + 1, step).astype("datetime64[M]")
    edges = months.astype("datetime64[D]").astype(np.float64)
    texts = [str(month)[:4] if step % 12 == 0 else str(month) for month in months]
    return Marks(edges, _some((at + 1.0, text) for at, text in enumerate(texts)))


def _round_up(raw: float) -> float:
    """Return the least of 1, 2, 2.5 or 5 times a power of ten that is not below."""
    power: float = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9))


def _brief(step: float) -> Callable[[float], str]:
    """Return how numbers are written that lie a step apart: all with as many decimals as they need."""
    places = max(0, -math.floor(math.log10(step) + 1e-9)) + (f"{step:e}"[2] == "5")

    def written(value: float) -> str:
        if abs(value) >= 1e6 or step < 1e-6:
            return f"{number(value / 1e6, 6)} M" if 1e6 <= abs(value) < 1e11 else number(value, 5)
        return f"{value:,.{places if step < 10 else 0}f}".replace("-", "−")

    return written


def _written(edges: NDArray[np.float64], text: Callable[[float], str]) -> Iterable[tuple[float, str]]:
    return ((at + 1.0, text(float(edge))) for at, edge in enumerate(edges))


def _some(ticks: Iterable[tuple[float, str]]) -> tuple[tuple[float, str], ...]:
    """Return so many of the ticks that they do not touch each other."""
    found = tuple(ticks)
    apart = -(-len(found) // _TICKS)
    return found[:: max(apart, 1)]
