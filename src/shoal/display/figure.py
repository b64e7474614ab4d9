"""Figures in the look of shoal's charts, drawn with matplotlib (``shoal[plot]``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.display.words import plain
from shoal.extras import package

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER, EDGE, INK, FAINT, ACCENT = "#ffffff", "#d9e0e8", "#22303f", "#6b7a8a", "#c2334a"
BEFORE, AFTER = "#b9c6d2", "#2f7fd6"
SIX = ("#2f7fd6", "#e08a1e", "#2a9d76", "#c8509b", "#7a62d3", "#d1495b")
SHAPES = ("o", "s", "^", "D", "v", "p")
_BARS = 40  # of class sizes
_NUMBERED = 25  # bars that have their number above


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, or say how to install matplotlib."""
    package("matplotlib.figure", "plot", "plot")
    from shoal.display.drawing import Drawing

    return Drawing(figsize=(width, height), facecolor=PAPER, layout="constrained")


def titled(axes: Axes, head: str, line: str = "", size: float = 12.0) -> None:
    """Write a title, and a fainter line below it."""
    axes.set_title(plain(head), loc="left", color=INK, fontsize=size, fontweight="bold", pad=22 if line else 8)
    if line:
        axes.annotate(
            plain(line), (0, 1), (0, 7), xycoords="axes fraction", textcoords="offset points", color=FAINT, fontsize=9.5
        )


def dressed(axes: Axes, x: str = "", y: str = "", *, grid: str = "both") -> None:
    """Draw axes and grid in faint colours; `grid` is ``both``, ``x``, ``y``, or empty for none."""
    axes.set_facecolor(PAPER)
    axes.set_xlabel(plain(x), color=FAINT)
    axes.set_ylabel(plain(y), color=FAINT)
    axes.tick_params(colors=FAINT, labelsize=9, length=3)
    axes.tick_params(which="minor", length=0)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(EDGE)
    if grid in ("both", "x"):
        axes.grid(axis="x", color=EDGE, linewidth=0.8)
    if grid in ("both", "y"):
        axes.grid(axis="y", color=EDGE, linewidth=0.8)
    axes.set_axisbelow(True)


def written(text: str) -> str:
    """Return text that matplotlib draws as it is, without formulas between dollar signs."""
    return plain(text).replace("$", r"\$")


def sizes_figure(sizes: Sequence[tuple[int, int]], line: str) -> Figure:
    """Draw the number of classes of each size, from pairs of a size and a number."""
    figure = new_figure(7.4, 3.2)
    axes = figure.subplots()
    low, high = sizes[0][0], sizes[-1][0]
    step = max(1, math.ceil((high - low + 1) / _BARS))
    counts = [0] * ((high - low) // step + 1)
    for size, many in sizes:
        counts[(size - low) // step] += many
    places = [low + step * at + (step - 1) / 2 for at in range(len(counts))]
    axes.bar(places, counts, width=0.86 * step, color=AFTER, alpha=0.9)
    if len(counts) <= _NUMBERED:
        for place, many in zip(places, counts, strict=True):
            if many:
                axes.annotate(f"{many:,}", (place, many), (0, 3), textcoords="offset points", ha="center", color=FAINT)
    if step == 1 and len(counts) <= _NUMBERED:
        axes.set_xticks(places)
    axes.set_xlim(low - max(1, 12 - len(counts)) * step / 2, high + max(1, 12 - len(counts)) * step / 2)
    axes.set_ylim(0, max(counts) * 1.12)
    axes.locator_params(axis="y", integer=True)
    titled(axes, "Class sizes", line)
    dressed(
        axes, "records in a class" if step == 1 else f"records in a class, {step:,} sizes to a bar", "classes", grid="y"
    )
    return figure
