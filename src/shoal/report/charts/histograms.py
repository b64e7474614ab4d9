"""Histograms of an attribute before and after, in which no bar represents only a few records.

A chart of the original must not show any person's value. The smallest and largest value of a column belong to single
people, so the first and last bar are open and begin at round numbers; a bar that would represent fewer than `least`
records is merged with its neighbour; rare categories share one bar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.report.charts.numbers import moment, number
from shoal.types import Codes, Pair

_CELLS = 20  # approximate number of bars
_TICKS = 5  # maximum number of tick labels
_MONTHS = (1, 2, 3, 6, 12, 24, 36, 60, 120, 240, 600, 1200, 6000)
_MONTH = 30.436875  # days


class Marks(NamedTuple):
    """The edges between cells, and the labels along the axis, in cells."""

    edges: NDArray[np.float64]
    ticks: tuple[tuple[float, str], ...]


def marks_between(low: float, high: float, *, whole: bool, dated: bool) -> Marks | None:
    """Return round numbers from about `low` to about `high`; None if nothing lies between them.

    >>> marks_between(0.0, 100.0, whole=False, dated=False).edges[:3].tolist()
    [0.0, 5.0, 10.0]
    >>> [text for _, text in marks_between(0.0, 8000.0, whole=False, dated=True).ticks]
    ['1970', '1975', '1980', '1985', '1990']
    """
    raw = (high - low) / _CELLS
    if not (math.isfinite(raw) and raw > 0 and max(abs(low), abs(high)) < 1e15 * raw):
        return None
    if dated and raw > 20 and abs(low) < 2e5 and abs(high) < 5e5:  # plain calendar years
        return _of_months(low, high, raw)
    step = _round_up(raw)
    if whole:
        step = max(step, 1.0) if step != 2.5 else 5.0
    if whole and step == 1.0:  # a bar for each number, labelled at its middle
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
    """Return the smallest of 1, 2, 2.5 or 5 times a power of ten that is not below."""
    power: float = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9))


def _brief(step: float) -> Callable[[float], str]:
    """Return a formatter for numbers a step apart: all with as many decimals as needed."""
    places = max(0, -math.floor(math.log10(step) + 1e-9)) + (f"{step:e}"[2] == "5")

    def written(value: float) -> str:
        if abs(value) >= 1e6 or step < 1e-6:
            return f"{number(value / 1e6, 6)} M" if 1e6 <= abs(value) < 1e11 else number(value, 5)
        return f"{value:,.{places if step < 10 else 0}f}".replace("-", "−")

    return written


def _written(edges: NDArray[np.float64], text: Callable[[float], str]) -> Iterable[tuple[float, str]]:
    return ((at + 1.0, text(float(edge))) for at, edge in enumerate(edges))


def _some(ticks: Iterable[tuple[float, str]]) -> tuple[tuple[float, str], ...]:
    """Return a subset of the ticks whose labels do not overlap."""
    found = tuple(ticks)
    apart = -(-len(found) // _TICKS)
    return found[:: max(apart, 1)]


Floats = NDArray[np.float64]

_BARS = 12  # categories that are drawn one by one


class Histogram(NamedTuple):
    """Bars over an axis of cells, one axis step wide each; the cells at both ends are open, and not drawn if empty."""

    places: tuple[tuple[int, int], ...]  #: where each bar begins and ends, in cells that are drawn
    before: tuple[float, ...] | None  #: the share of records of each bar; None: not shown
    after: tuple[float, ...]
    ticks: tuple[tuple[float, str], ...]  #: positions on the axis, in cells, and their labels
    left_out: int = 0  #: empty cells before the first that is drawn


class Shares(NamedTuple):
    """Categories, most frequent first or in their order; rare ones share one bar."""

    names: tuple[str, ...]
    before: tuple[float, ...] | None
    after: tuple[float, ...]
    rare: int  #: number of categories in the last bar; 0: no such bar


def histogram(pair: Pair, least: int, *, whole: bool, dated: bool, masked_only: bool = False) -> Histogram | None:
    """Return the distribution of numbers in the same bars before and after; None if fewer than two bars are left.

    Parameters
    ----------
    pair
        The column before and after.
    least
        The smallest number of records that a bar may represent.
    whole, dated
        Whether the numbers are whole, or days since 1970.
    masked_only
        Omit the original, and do not use it for the edges of bars.

    **Guarantee.** Every bar represents no record at all or at least `least`, before and after.

    >>> x = np.repeat([1.0, 2.0, 3.0, 900.0], [40, 30, 30, 1])
    >>> histogram(Pair(x, x), 5, whole=True, dated=False).places
    ((0, 1), (1, 2), (2, 3))
    """
    before, after = (column[np.isfinite(column)] for column in pair)
    drawn = [after] if masked_only else [before, after]
    if min(map(len, drawn)) < 2 * least:
        return None
    share = max(least / len(drawn[0]), 0.01)
    marks = marks_between(*np.quantile(drawn[0], [share, 1 - share]).tolist(), whole=whole, dated=dated)
    if marks is None:
        return None
    counts = [np.bincount(np.searchsorted(marks.edges, x, side="right"), minlength=len(marks.edges) + 1) for x in drawn]
    places = _merged(counts, least)
    held = [any(c[a:b].any() for c in counts) for a, b in places]
    first, last = held.index(True), len(held) - held[::-1].index(True)
    places = places[first:last]  # an open cell at an end may hold nothing, such as minutes below 0
    if len(places) < 2:
        return None
    begin, end = places[0][0], places[-1][1]
    shares = [tuple(float(c[a:b].sum() / c.sum()) for a, b in places) for c in counts]
    ticks = tuple((at - begin, text) for at, text in marks.ticks if begin <= at <= end)
    moved = tuple((a - begin, b - begin) for a, b in places)
    return Histogram(moved, None if masked_only else shares[0], shares[-1], ticks, begin)


def _merged(counts: Sequence[NDArray[np.int64]], least: int) -> tuple[tuple[int, int], ...]:
    """Return where bars begin and end after those of too few records are merged with their neighbours."""
    places = [(cell, cell + 1) for cell in range(len(counts[0]))]
    held = [tuple(int(c[cell]) for c in counts) for cell in range(len(counts[0]))]
    while len(places) > 1:
        small = [at for at, many in enumerate(held) if any(0 < one < least for one in many)]
        if not small:
            break
        at = min(small, key=lambda one: (sum(held[one]), one))
        beside = [other for other in (at - 1, at + 1) if 0 <= other < len(places)]
        # an empty neighbour would not help: try non-empty ones first
        into = min(beside, key=lambda other: (not any(held[other]), sum(held[other]), other))
        low, high = min(at, into), max(at, into)
        places[low : high + 1] = [(places[low][0], places[high][1])]
        held[low : high + 1] = [tuple(a + b for a, b in zip(held[low], held[high], strict=True))]
    return tuple(places)


def shares(codes: Codes, least: int, *, masked_only: bool = False) -> Shares | None:
    """Return the shares of categories; those of fewer than `least` records, or too many to draw, share one bar.

    None if nothing may be drawn: the name of a category that only few records have is their value.

    **Guarantee.** Every bar represents no record at all or at least `least`, before and after.

    >>> codes = np.repeat([0, 1, 2, 3], [9, 8, 2, 4])
    >>> shares(Codes(codes, codes, ("a", "b", "c", "d")), 5).names
    ('a', 'b', '')
    """
    columns = [codes.after] if masked_only else [codes.before, codes.after]
    size = len(codes.names)
    counts = np.array([np.bincount(c[c >= 0], minlength=size) for c in columns]).reshape(len(columns), size)
    frequent = np.all((counts == 0) | (counts >= least), axis=0) & (counts.max(axis=0) > 0)
    order = np.lexsort((np.arange(size), -counts.max(axis=0)))
    chosen = [int(c) for c in order if frequent[c]][:_BARS]
    rest = counts.sum(axis=1) - counts[:, chosen].sum(axis=1)
    while chosen and np.any((rest > 0) & (rest < least)):  # the last bar, too, must represent enough records
        rest = rest + counts[:, chosen.pop()]
    totals = counts.sum(axis=1)
    if not chosen or not totals.min():
        return None
    if codes.ordered:
        chosen.sort()
    rare = int(np.count_nonzero(counts.max(axis=0))) - len(chosen) if rest.any() else 0
    names = (*(codes.names[c] for c in chosen), *([""] if rare else []))
    found = [
        (*(float(n[c] / n.sum()) for c in chosen), *([r / n.sum()] if rare else []))
        for n, r in zip(counts, rest, strict=True)
    ]
    return Shares(names, None if masked_only else found[0], found[-1], rare)


def missing(column: NDArray[np.float64] | NDArray[np.int64], least: int) -> str:
    """Describe how many values are missing, without an exact number if they are few."""
    gone = int(np.count_nonzero(np.isnan(column) if column.dtype.kind == "f" else column < 0))
    if not gone:
        return ""
    return f"fewer than {least} missing" if gone < least else f"{100 * gone / len(column):.1f} % missing"
