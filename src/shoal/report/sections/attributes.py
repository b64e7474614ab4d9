"""Each attribute as a card, and the tables over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from shoal.report.charts.charts import heat_chart, histogram_chart, shares_chart
from shoal.report.charts.histograms import histogram, missing, shares
from shoal.report.charts.numbers import folded, joined, moment, number, percent, plain, rounded
from shoal.report.sections.changes import correlations, moments, strata_of, variation
from shoal.report.sections.published import comparable
from shoal.types import Comparison, Kind, Pair, Run

DRAWN = 30  # attributes that are drawn
_CORRELATED = 20
_STRATA = 40  # that are shown
_FEW = 8  # numbers whose correlations can be read in a small chart
_TOO_FEW = "Not drawn: fewer than two bars of at least {} records."


class Card(NamedTuple):
    """An attribute: its name, folded and in full, what is to be said, and its chart."""

    name: str
    full: str
    words: str
    chart: Markup | str


def of_attributes(account: Run, least: int, *, external: bool) -> dict[str, Any]:
    """Return all that the page says of attributes; without a comparison there is nothing to say."""
    found = account.comparison
    if not len(found):
        return {key: [] for key in ("attributes", "moments", "heats", "strata")}
    compared = not external or comparable(account)
    found = found if compared else _released_only(found)
    heads, rows = moment_rows(account, found, least, external=external, compared=compared)
    charts, most = heats(found, least, external=external, compared=compared)
    wide = f" of the first {_CORRELATED} numbers" if len(found.numeric) > _CORRELATED else ""
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
        "heat_words": f"Pearson's correlation of every two attributes that are numbers{wide}.",
        "strata": [] if external else _strata(found, least),
    }


def _released_only(comparison: Comparison) -> Comparison:
    """Return a comparison of the released table with itself, in the order of its values: nothing of the original."""
    order = np.lexsort(comparison.masked.T[::-1])
    found = comparison.rows(order)
    return replace(
        found,
        original=found.masked,
        numbers={name: Pair(pair.after, pair.after) for name, pair in found.numbers.items()},
        categories={name: codes._replace(before=codes.after) for name, codes in found.categories.items()},
    )


_DRAWN = {
    False: "Both in the same bars. The first and the last hold all that is below or above, and a bar that would stand "
    "for fewer than {least} records grew into its neighbour, so that nobody's value is shown.",
    True: "As they leave. The first and the last bar hold all that is below or above; none stands for fewer than "
    "{least} records.",
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
        words.append(f"{percent(variation(comparison.categories[name]))} of the shares changed")
    if not chart:
        words.append(_TOO_FEW.format(least))
    return Card(folded(name, 40), plain(name), "; ".join(words), chart)


def _chart(account: Run, comparison: Comparison, name: str, least: int, *, masked_only: bool) -> Markup | str:
    if name in comparison.categories:
        found = shares(comparison.categories[name], least, masked_only=masked_only)
        return "" if found is None else shares_chart(name, found)
    kind, pair = account.schema[name].kind, comparison.numbers[name]
    drawn = histogram(
        pair, least, whole=kind is Kind.INTEGER, dated=_dated(account, comparison, name), masked_only=masked_only
    )
    return "" if drawn is None else histogram_chart(name, drawn)


def _kind(account: Run, name: str) -> str:
    words = {Kind.CONTINUOUS: "numbers", Kind.INTEGER: "whole numbers", Kind.ORDINAL: "ordered categories",
             Kind.NOMINAL: "categories", Kind.DATETIME: "dates or times"}  # fmt: skip
    return words[account.schema[name].kind]


def _dated(account: Run, comparison: Comparison, name: str) -> bool:
    """Tell whether numbers are days since 1970; times of day and durations are none."""
    after = comparison.numbers[name].after
    after = after[np.isfinite(after)]
    return account.schema[name].kind is Kind.DATETIME and len(after) > 0 and bool(np.ptp(after) > 1)


def moment_rows(
    account: Run, comparison: Comparison, least: int, *, external: bool, compared: bool = True
) -> tuple[tuple[str, ...], list[tuple[str, list[str]]]]:
    """Return the heads of columns and a row for each number: mean and deviation, and how they changed if `compared`."""
    rows = []
    for name in comparison.numeric:
        found = moments(comparison.numbers[name], least)
        dated = _dated(account, comparison, name)
        mean, spread = _as_date if dated else number, _as_days if dated else number
        cells = [
            *_cells(found.means, mean, external=external),
            *_change(found.mean_change, external=external, compared=compared),
            *_cells(found.deviations, spread, external=external),
            *_change(found.deviation_change, external=external, compared=compared),
        ]
        rows.append((folded(name), cells))
    if not external:
        return ("Mean before", "after", "change", "Deviation before", "after", "change"), rows
    return ("Mean", "change", "Deviation", "change") if compared else ("Mean", "Deviation"), rows


def _change(value: float, *, external: bool, compared: bool) -> list[str]:
    """Return how far a figure moved, in percent, rounded to 2 decimals first for outsiders; nothing if not compared."""
    return [percent(rounded(value) if external else value, signed=True)] if compared else []


def _cells(values: tuple[float, float], written: Callable[[float], str], *, external: bool) -> list[str]:
    return [written(values[1])] if external else [written(value) for value in values]


def _as_date(days: float) -> str:
    return moment(days) if np.isfinite(days) else number(days)


def _as_days(days: float) -> str:
    return f"{number(days)} days" if np.isfinite(days) else number(days)


def heats(
    comparison: Comparison, least: int, *, external: bool, compared: bool = True
) -> tuple[list[tuple[str, Markup]], float]:
    """Return the correlations of numbers as charts, and the largest change; nothing if there are not two numbers.

    Outsiders see them with 2 decimals, and changes only if `compared`.
    """
    names = comparison.numeric[:_CORRELATED]
    if len(names) < 2:
        return [], 0.0
    before, after = correlations(comparison.numbers, names, least)
    change = after - before
    if external:
        change, after = rounded(change), rounded(after)
    most = float(np.nanmax(np.abs(change))) if np.isfinite(change).any() else 0.0
    charts = [] if external else [("Before", heat_chart("Correlations before", before, names, 1.0))]
    charts.append(("After", heat_chart("Correlations after", after, names, 1.0)))
    if compared:
        charts.append(("Change", heat_chart("Change of correlations", change, names, most or 1.0)))
    return charts, most
