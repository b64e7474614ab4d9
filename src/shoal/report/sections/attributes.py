"""Attributes section: a card per attribute, and changes of means, deviations and correlations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from shoal.display.words import plain
from shoal.report.charts.charts import heat_chart, histogram_chart, shares_chart
from shoal.report.charts.histograms import Histogram, Shares, histogram, missing, shares
from shoal.report.charts.numbers import folded, joined, moment, number, percent, rounded
from shoal.report.evidence import comparable
from shoal.types import Codes, Comparison, Kind, Pair, Run, sort_keys
from shoal.types.run import step_of

Floats = NDArray[np.float64]

_ROWS = 65_536  # rows per batch, which bounds the memory for any number of records


class Moments(NamedTuple):
    """Mean and deviation of an attribute before and after; NaN if a few records would show through."""

    means: tuple[float, float]
    deviations: tuple[float, float]
    mean_change: float  #: in percent of the deviation before
    deviation_change: float  #: in percent


def moments(pair: Pair, least: int) -> Moments:
    """Return the moments of the records that have a value before and after.

    A mean over fewer than `least` records, or one that a single record dominates by more than half, reveals too much
    about one person; the same goes for a deviation.

    >>> moments(Pair(np.arange(10.0), np.repeat([2.0, 7.0], 5)), 3).means
    (4.5, 4.5)
    """
    there = np.isfinite(pair.before) & np.isfinite(pair.after)
    columns = [pair.before[there], pair.after[there]]
    if len(columns[0]) < least:
        return Moments((np.nan, np.nan), (np.nan, np.nan), np.nan, np.nan)
    with np.errstate(all="ignore"):  # sums of the largest floats may be infinite
        means, deviations = [c.mean() for c in columns], [c.std() for c in columns]
        change = 100 * (means[1] - means[0]) / deviations[0] if deviations[0] > 0 else np.nan
        wider = 100 * (deviations[1] / deviations[0] - 1) if deviations[0] > 0 else np.nan
        shown = [float(m) if _nobody_dominates(np.abs(c)) else np.nan for m, c in zip(means, columns, strict=True)]
        spread = zip(deviations, means, columns, strict=True)
        around = [float(s) if _nobody_dominates((c - m) ** 2) else np.nan for s, m, c in spread]
    # the released value is known, so a change would reveal the hidden original one
    change = np.nan if np.isnan(shown[0]) else float(change)
    wider = np.nan if np.isnan(around[0]) else float(wider)
    return Moments((shown[0], shown[1]), (around[0], around[1]), change, wider)


def _nobody_dominates(parts: Floats) -> bool:
    """Tell whether no record makes up more than half of a sum."""
    total = parts.sum()
    return bool(np.isfinite(total) and (total == 0 or 2 * parts.max() <= total))


def correlations(numbers: Mapping[str, Pair], names: Sequence[str], least: int) -> tuple[Floats, Floats]:
    """Return the correlations before and after, each pair of attributes over the records that have all four values.

    NaN if there are fewer than `least` of these, or if an attribute does not vary.
    """
    pairs = [numbers[name] for name in names]
    known = [np.isfinite(p.before) & np.isfinite(p.after) for p in pairs]
    with np.errstate(all="ignore"):
        return (
            _correlations([p.before for p in pairs], known, least),
            _correlations([p.after for p in pairs], known, least),
        )


def _correlations(columns: list[Floats], known: list[NDArray[np.bool_]], least: int) -> Floats:
    """Return the correlations of columns, from sums over the records known in both."""
    d = len(columns)
    scales = [(c[k].mean(), c[k].std()) if k.any() else (0.0, 1.0) for c, k in zip(columns, known, strict=True)]
    both, one, square, many = (np.zeros((d, d)) for _ in range(4))
    for at in range(0, len(columns[0]), _ROWS):
        rows = slice(at, at + _ROWS)
        there = np.array([k[rows] for k in known], dtype=np.float64)
        inside = zip(columns, known, scales, strict=True)
        x = np.array([np.where(k[rows], (c[rows] - m) / (s or 1.0), 0.0) for c, k, (m, s) in inside])
        both += x @ x.T
        one += x @ there.T
        square += x**2 @ there.T
        many += there @ there.T
    spread = square - one**2 / many
    found = (both - one * one.T / many) / np.sqrt(spread * spread.T)
    steady = np.array([s == 0 for _, s in scales])
    found[(many < least) | steady[:, None] | steady[None, :] | (spread <= 1e-12 * many)] = np.nan
    return np.clip(found, -1.0, 1.0)


class Stratum(NamedTuple):
    """The changes in a stratum: the largest change of any attribute, each in its unit."""

    name: str
    records: int
    mean: float  #: in percent of the deviation in the stratum
    deviation: float  #: in percent
    frequencies: float  #: total variation distance, in percent


def strata_of(comparison: Comparison, least: int, most: int) -> list[Stratum]:
    """Return the changes in each stratum; the first `most` of those with at least `least` records."""
    if comparison.strata is None:
        return []
    order = np.argsort(comparison.strata, kind="stable")
    numbers, begins = np.unique(comparison.strata[order], return_index=True)
    parts = zip(numbers.tolist(), np.split(order, begins[1:]), strict=True)
    large = [(number, rows) for number, rows in parts if len(rows) >= least][:most]
    return [_stratum(comparison, number, rows, least) for number, rows in large]


def _stratum(comparison: Comparison, number: int, rows: NDArray[np.int64], least: int) -> Stratum:
    inside = [moments(Pair(p.before[rows], p.after[rows]), least) for p in comparison.numbers.values()]
    moved = [variation(codes, rows) for codes in comparison.categories.values()]
    return Stratum(
        f"stratum {number}",
        len(rows),
        _largest([m.mean_change for m in inside]),
        _largest([m.deviation_change for m in inside]),
        _largest(moved),
    )


def _largest(changes: list[float]) -> float:
    """Return the change with the largest magnitude, with its sign."""
    known = [change for change in changes if np.isfinite(change)]
    return max(known, key=abs) if known else np.nan


def variation(codes: Codes, rows: NDArray[np.int64] | slice = slice(None)) -> float:
    """Return the total variation distance of shares, in percent, for records with a category before and after.

    >>> variation(Codes(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), ("a", "b")))
    25.0
    """
    before, after = codes.before[rows], codes.after[rows]
    there = (before >= 0) & (after >= 0)
    if not there.any():
        return float(np.nan)
    size = len(codes.names)
    difference = np.bincount(before[there], minlength=size) - np.bincount(after[there], minlength=size)
    return float(50 * np.abs(difference).sum() / np.count_nonzero(there))


DRAWN = 30  # maximum number of drawn attributes
_CORRELATED = 20
_STRATA = 40  # maximum number of shown strata
_FEW = 8  # number of attributes whose correlations are readable in a small chart
_TOO_FEW = "Not drawn: fewer than two bars of at least {} records."


class Card(NamedTuple):
    """An attribute: its name, shortened and in full, a description, and its chart."""

    name: str
    full: str
    words: str
    chart: Markup | str


def of_attributes(account: Run, least: int, *, external: bool) -> dict[str, Any]:
    """Return the page's contents on attributes; empty without a comparison."""
    found = account.comparison
    if not len(found):
        return {key: [] for key in ("attributes", "moments", "heats", "strata")}
    compared = not external or comparable(account)
    found = found if compared else _released_only(found)
    heads, rows = moment_rows(account, found, least, external=external, compared=compared)
    charts, most = heats(found, least, external=external, compared=compared)
    wide = f" among the first {_CORRELATED}" if len(found.numeric) > _CORRELATED else ""
    return {
        "compared": compared,
        "attributes": cards(account, found, least, external=external),
        "undrawn": joined(found.attributes[DRAWN:], 200) if len(found.attributes) > DRAWN else "",
        "drawn": _DRAWN[external].format(least=least),
        "moment_heads": heads,
        "moments": rows,
        "heats": charts,
        "heat_most": number(most, 2),
        "heat_many": len(found.numeric) > _FEW,
        "heat_words": f"Pearson correlation of each pair of numeric attributes{wide}: the paler, the weaker.",
        "strata": [] if external else _strata(found, least),
    }


def _released_only(comparison: Comparison) -> Comparison:
    """Compare the released table with itself, sorted by its values: nothing of the original remains."""
    order = np.lexsort(sort_keys(comparison.masked)[::-1])
    found = comparison.rows(order)
    return replace(
        found,
        original=found.masked,
        numbers={name: Pair(pair.after, pair.after) for name, pair in found.numbers.items()},
        categories={name: codes._replace(before=codes.after) for name, codes in found.categories.items()},
    )


_DRAWN = {
    False: "Original and release in the same bars: where the line follows them, the distribution is kept. The first "
    "and last bar include all lower or higher values, and a bar of fewer than {least} records is merged with its "
    "neighbour, so that no person's value is shown.",
    True: "As released. The first and last bar include all lower or higher values; no bar has fewer than {least} "
    "records.",
}


def _strata(comparison: Comparison, least: int) -> list[tuple[str, ...]]:
    return [
        (
            one.name,
            f"{one.records:,}",
            percent(one.mean, signed=True),
            percent(one.deviation, signed=True),
            percent(one.frequencies),
        )
        for one in strata_of(comparison, least, _STRATA)
    ]


def cards(account: Run, comparison: Comparison, least: int, *, external: bool) -> list[Card]:
    """Return a card for each of the first attributes."""
    make = _masked if external else _both
    return [make(account, comparison, name, least) for name in comparison.attributes[:DRAWN]]


def _both(account: Run, comparison: Comparison, name: str, least: int) -> Card:
    pair = comparison.numbers.get(name) or comparison.categories[name]
    chart = _chart(account, comparison, name, least, masked_only=False)
    gone = [missing(column, least) for column in (pair.before, pair.after)]
    words = [_kind(account, name)]
    if gone[0] or gone[1]:
        words.append(f"before {gone[0] or 'none missing'}, after {gone[1] or 'none missing'}")
    if not chart:
        words.append(_TOO_FEW.format(least))
    return Card(folded(name, 40), plain(name), "; ".join(words), chart)


def _masked(account: Run, comparison: Comparison, name: str, least: int) -> Card:
    chart = _chart(account, comparison, name, least, masked_only=True)
    words = [_kind(account, name)]
    if name in comparison.categories and chart and comparable(account):
        changed = rounded(variation(comparison.categories[name]), 100.0 * step_of(account.audit.records))
        words.append(f"{percent(changed)} of the shares changed")
    if not chart:
        words.append(_TOO_FEW.format(least))
    return Card(folded(name, 40), plain(name), "; ".join(words), chart)


def _chart(account: Run, comparison: Comparison, name: str, least: int, *, masked_only: bool) -> Markup | str:
    found = drawn_of(account, comparison, name, least, masked_only=masked_only)
    if found is None:
        return ""
    return shares_chart(name, found) if isinstance(found, Shares) else histogram_chart(name, found)


def drawn_of(
    account: Run, comparison: Comparison, name: str, least: int, *, masked_only: bool = False
) -> Histogram | Shares | None:
    """Return the bars of an attribute, each of at least `least` records; None if it may not be drawn."""
    if name in comparison.categories:
        return shares(comparison.categories[name], least, masked_only=masked_only)
    whole, dated = account.schema[name].kind is Kind.INTEGER, _dated(account, comparison, name)
    return histogram(comparison.numbers[name], least, whole=whole, dated=dated, masked_only=masked_only)


def _kind(account: Run, name: str) -> str:
    words = {Kind.CONTINUOUS: "numbers", Kind.INTEGER: "whole numbers", Kind.ORDINAL: "ordered categories",
             Kind.NOMINAL: "categories", Kind.DATETIME: "dates or times"}  # fmt: skip
    return words[account.schema[name].kind]


def _dated(account: Run, comparison: Comparison, name: str) -> bool:
    """Tell whether numbers are days since 1970, as opposed to times of day and durations."""
    after = comparison.numbers[name].after
    after = after[np.isfinite(after)]
    return account.schema[name].kind is Kind.DATETIME and len(after) > 0 and bool(np.ptp(after) > 1)


def moment_rows(
    account: Run, comparison: Comparison, least: int, *, external: bool, compared: bool = True
) -> tuple[tuple[str, ...], list[tuple[str, list[str]]]]:
    """Return column heads and a row per numeric attribute: mean, deviation, and their changes if `compared`.

    The external edition has changes as coarse as published losses.
    """
    rows = []
    step = 100.0 * step_of(account.audit.records) if external else None
    for name in comparison.numeric:
        found = moments(comparison.numbers[name], least)
        dated = _dated(account, comparison, name)
        mean, spread = _as_date if dated else number, _as_days if dated else number
        cells = [
            *_cells(found.means, mean, external=external),
            *_change(found.mean_change, step, compared=compared),
            *_cells(found.deviations, spread, external=external),
            *_change(found.deviation_change, step, compared=compared),
        ]
        rows.append((folded(name), cells))
    if not external:
        return ("Mean before", "after", "change", "Deviation before", "after", "change"), rows
    return ("Mean", "change", "Deviation", "change") if compared else ("Mean", "Deviation"), rows


def _change(value: float, step: float | None, *, compared: bool) -> list[str]:
    """Return the change of a figure in percent, rounded to a step if one is given; empty if not compared."""
    return [percent(value if step is None else rounded(value, step), signed=True)] if compared else []


def _cells(values: tuple[float, float], written: Callable[[float], str], *, external: bool) -> list[str]:
    return [written(values[1])] if external else [written(value) for value in values]


def _as_date(days: float) -> str:
    return moment(days) if np.isfinite(days) else number(days)


def _as_days(days: float) -> str:
    return f"{number(days)} days" if np.isfinite(days) else number(days)


def heats(
    comparison: Comparison, least: int, *, external: bool, compared: bool = True
) -> tuple[list[tuple[str, Markup]], float]:
    """Return the correlations of numeric attributes as charts, and the largest change; empty for fewer than two.

    The external edition has 2 decimals, and changes only if `compared`, as coarse as published losses.
    """
    names = comparison.numeric[:_CORRELATED]
    if len(names) < 2:
        return [], 0.0
    before, after = correlations(comparison.numbers, names, least)
    change = after - before
    if external:
        change, after = rounded(change, step_of(len(comparison))), rounded(after)
    most = float(np.nanmax(np.abs(change))) if np.isfinite(change).any() else 0.0
    charts = [] if external else [("Before", heat_chart("Correlations before", before, names, 1.0))]
    charts.append(("After", heat_chart("Correlations after", after, names, 1.0)))
    if compared:
        charts.append(("Change", heat_chart("Change of correlations", change, names, most or 1.0)))
    return charts, most
