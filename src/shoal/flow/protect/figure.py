"""Figure of a protected table: each attribute before and after, in bars of at least k records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.display.figure import AFTER, BEFORE, FAINT, INK, dressed, new_figure, titled, written
from shoal.display.words import counted
from shoal.errors import ParameterError
from shoal.parameters import unknown
from shoal.report.charts.histograms import Histogram, Shares
from shoal.report.charts.numbers import folded, percent
from shoal.report.html import least_of
from shoal.report.sections.attributes import drawn_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shoal.types import Run

_MOST = 12  # attributes that are drawn unless they are named
_ACROSS = 2


def before_after_figure(run: Run, columns: Sequence[str] = ()) -> Figure:
    """Draw the distributions of attributes, the original as bars and the release as a line or a second bar.

    **Guarantee.** Every bar represents no record at all or at least k, and never fewer than 3.
    """
    found, least = run.comparison, least_of(run)
    for name in columns:
        if name not in found.attributes:
            raise ParameterError(unknown("plot", "released attribute", name, found.attributes))
    names = tuple(columns) or found.attributes[:_MOST]
    drawn = {name: drawn_of(run, found, name, least) for name in names}
    down = math.ceil(len(names) / _ACROSS)
    across = min(_ACROSS, len(names))
    figure = new_figure(4.6 * across, 0.5 + 2.6 * down)
    places = figure.subplots(down, across, squeeze=False).flat
    for (name, one), axes in zip(drawn.items(), places, strict=False):  # zip reads `drawn` first, and so wastes no axes
        titled(axes, written(folded(name, 40)), size=11)
        if one is None:
            axes.annotate(f"Not drawn: fewer than two bars\nof at least {least} records.", (0.02, 0.7), color=FAINT,
                          xycoords="axes fraction")  # fmt: skip
            axes.set_axis_off()
        elif isinstance(one, Histogram):
            _histogram(axes, one)
        else:
            _shares(axes, one)
    for axes in list(places):
        axes.set_axis_off()
    figure.suptitle("Before (grey) and after (blue)", x=0.005, ha="left", color=INK, fontsize=12)
    return figure


def _histogram(axes: Axes, found: Histogram) -> None:
    """Draw bars of the original, and the outline of the released values over them."""
    wide = [b - a for a, b in found.places]
    heights = [
        [share / w for share, w in zip(one, wide, strict=True)] for one in (found.before or (), found.after) if one
    ]
    if found.before:
        axes.bar([a for a, _ in found.places], heights[0], width=wide, align="edge", color=BEFORE, edgecolor="white")
    edges = [found.places[0][0], *(b for _, b in found.places)]
    axes.stairs(heights[-1], edges, color=AFTER, linewidth=1.9, baseline=0)
    axes.set_xticks([at for at, _ in found.ticks], [written(text) for _, text in found.ticks])
    axes.set_yticks([])
    dressed(axes, grid="")
    axes.spines["left"].set_visible(False)


def _shares(axes: Axes, found: Shares) -> None:
    """Draw a bar for each category, before and after."""
    names = [folded(name, 18) or "(empty)" for name in found.names]
    if found.rare:
        names[-1] = counted(found.rare, "other")
    rows = range(len(names))
    axes.barh([row - 0.2 for row in rows], found.before or (), height=0.36, color=BEFORE)
    axes.barh([row + 0.2 for row in rows], found.after, height=0.36, color=AFTER, alpha=0.9)
    for row, share in enumerate(found.after):
        end = max(share, (found.before or found.after)[row])
        axes.annotate(percent(100 * share), (end, row), (5, 0), textcoords="offset points", va="center", color=FAINT,
                      fontsize=8.5)  # fmt: skip
    axes.set_yticks(rows, [written(name) for name in names])
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.set_xlim(0, max(*found.after, *(found.before or ())) * 1.2)
    dressed(axes, grid="")
    axes.spines["bottom"].set_visible(False)
