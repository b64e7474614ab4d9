"""Charts of a report as SVG, coloured by the page: light, dark or printed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from shoal.report.charts.histograms import Histogram, Shares
from shoal.report.charts.numbers import counted, drawing, element, folded, number, percent, text

_WIDE = 360.0
_TALL = 150.0
_PAD = 10.0


def histogram_chart(name: str, found: Histogram) -> Markup:
    """Draw bars of the original, and the outline of the released values over them."""
    cells = found.places[-1][1]
    before = found.before or ()
    densities = [
        [share / (b - a) for share, (a, b) in zip(one, found.places, strict=True)]
        for one in (before, found.after)
        if one
    ]
    top = max(max(one) for one in densities) or 1.0
    step, floor = (_WIDE - 2 * _PAD) / cells, _TALL - 22
    parts = []
    for share, (a, b) in zip(before, found.places, strict=False):
        high = (floor - 8) * share / (b - a) / top
        bar = element("rect", [element("title", [f"before: {percent(100 * share)}"])], class_="bar before",
                      x=_PAD + a * step + 0.5, y=floor - high, width=(b - a) * step - 1, height=high)  # fmt: skip
        parts.append(bar)
    heights = [(floor - 8) * one / top for one in densities[-1]]
    if before:
        parts.append(_outline(found.places, heights, step, floor))
    else:
        parts += [
            element(
                "rect", class_="bar after", x=_PAD + a * step + 0.5, y=floor - h, width=(b - a) * step - 1, height=h
            )
            for h, (a, b) in zip(heights, found.places, strict=True)
        ]
    parts.append(element("line", class_="axis", x1=_PAD, x2=_WIDE - _PAD, y1=floor, y2=floor))
    for at, written in found.ticks:
        parts.append(element("line", class_="axis", x1=_PAD + at * step, x2=_PAD + at * step, y1=floor, y2=floor + 3))
        parts.append(text(_PAD + at * step, _TALL - 6, written, "tick", text_anchor=_anchor(at / cells)))
    said = "Bars: the original. Line: the release." if before else "Bars: the release."
    return drawing("histogram", f"Distribution of {folded(name)}", said, _WIDE, _TALL, parts)


def _anchor(place: float) -> str:
    return "start" if place < 0.02 else "end" if place > 0.98 else "middle"


def _outline(places: Sequence[tuple[int, int]], heights: Sequence[float], step: float, floor: float) -> Markup:
    """Return a line along the tops of bars."""
    corners = [f"M{_PAD + places[0][0] * step:.2f} {floor:.2f}"]
    for (a, b), high in zip(places, heights, strict=True):
        corners += [f"L{_PAD + a * step:.2f} {floor - high:.2f}", f"L{_PAD + b * step:.2f} {floor - high:.2f}"]
    corners.append(f"L{_PAD + places[-1][1] * step:.2f} {floor:.2f}")
    return element("path", class_="outline after", d="".join(corners))


def shares_chart(name: str, found: Shares) -> Markup:
    """Draw a bar for each category, before and after."""
    row, left, right = 25.0, 118.0, 46.0
    wide = _WIDE - left - right
    top = max(*(found.before or ()), *found.after, 1e-9)
    parts: list[Markup] = []
    for at, category in enumerate(found.names):
        y = 4 + at * row
        rest = found.rare > 0 and at == len(found.names) - 1
        label = counted(found.rare, "other") if rest else folded(category, 15) or "(empty)"
        parts.append(text(left - 8, y + 14, label, "label rest" if rest else "label", text_anchor="end"))
        bars = [] if found.before is None else [("before", found.before[at])]
        bars.append(("after", found.after[at]))
        thick = 15 / len(bars)
        for line, (kind, share) in enumerate(bars):
            title = element("title", [f"{kind}: {percent(100 * share)}"])
            place = {"x": left, "y": y + 2.5 + line * thick, "width": max(wide * share / top, 0.5)}
            parts.append(element("rect", [title], class_=f"bar {kind}", **place, height=thick - 0.8))
        end = left + wide * max(share for _, share in bars) / top
        parts.append(text(end + 6, y + 14, percent(100 * found.after[at]), "tick"))
    said = "Two bars per category, original and release; the number is for the release."
    return drawing("shares", f"Categories of {folded(name)}", said, _WIDE, 8 + row * len(found.names), parts)


def sizes_chart(sizes: NDArray[np.int64], k: int) -> Markup:
    """Draw the number of classes of each size."""
    low, high = int(sizes.min()), int(sizes.max())
    step = max(1, -(-(high - low + 1) // 40))
    counts = np.bincount((sizes - low) // step)
    wide, tall = 720.0, 170.0
    floor, cell = tall - 24, (wide - 2 * _PAD) / max(len(counts), 12)
    parts = []
    for at, many in enumerate(counts.tolist()):
        size = low + at * step
        high_ = (floor - 22) * many / int(counts.max())
        span = number(size, 12) if step == 1 else f"{number(size, 12)} to {number(size + step - 1, 12)}"
        title = element("title", [f"{counted(many, 'class', 'classes')} of {span} records"])
        x = _PAD + at * cell
        parts.append(
            element("rect", [title], class_="bar after", x=x + 1, y=floor - high_, width=cell - 2, height=high_)
        )
        if many and len(counts) <= 25:
            parts.append(text(x + cell / 2, floor - high_ - 5, f"{many:,}", "tick", text_anchor="middle"))
        if at % max(1, -(-len(counts) // 14)) == 0:
            parts.append(text(x + cell / 2, tall - 8, number(size, 12), "tick", text_anchor="middle"))
    parts.append(element("line", class_="axis", x1=_PAD, x2=wide - _PAD, y1=floor, y2=floor))
    said = f"Below each bar the number of records of a class, above it the number of such classes; k is {k}."
    return drawing("sizes", "Sizes of the classes", said, wide, tall, parts)


def heat_chart(title: str, values: NDArray[np.float64], names: Sequence[str], most: float) -> Markup:
    """Draw a matrix: the stronger the colour, the farther from 0, with one colour per sign."""
    d = len(names)
    left, cell = 112.0, min((_WIDE - 112.0 - 4) / d, 40.0)
    size = left + d * cell + 4
    parts = []
    for i, name in enumerate(names):
        y = 18 + i * cell
        parts.append(text(left - 8, y + cell / 2 + 3.5, f"{folded(name, 14)} {i + 1}", "label", text_anchor="end"))
        parts.append(text(left + i * cell + cell / 2, 12, str(i + 1), "tick", text_anchor="middle"))
        for j in range(i + 1):
            value = float(values[i, j])
            x, known = left + j * cell, np.isfinite(value)
            said = element("title", [f"{folded(name)} and {folded(names[j])}: {number(value, 3)}"])
            kind = ("more" if value >= 0 else "less") if known else "unknown"
            shade = min(abs(value) / most, 1.0) if known else 1.0
            parts.append(
                element("rect", class_="cell paper", x=x + 0.75, y=y + 0.75, width=cell - 1.5, height=cell - 1.5, rx=2)
            )
            parts.append(element("rect", [said], class_=f"cell {kind}", x=x + 0.75, y=y + 0.75, width=cell - 1.5,
                                 height=cell - 1.5, rx=2, fill_opacity=shade))  # fmt: skip
            if cell >= 26 and i != j:
                strong = " strong" if known and shade > 0.55 else ""
                parts.append(
                    text(x + cell / 2, y + cell / 2 + 3.5, _brief(value), f"value{strong}", text_anchor="middle")
                )
    described = "One square per pair of attributes; rows and columns have the same order."
    return drawing("heat", title, described, max(size, 280.0), 22 + d * cell, parts)


def _brief(value: float) -> str:
    """Format a correlation in as few characters as possible.

    >>> _brief(0.534), _brief(-0.04), _brief(0.001)
    ('.53', '−.04', '0')
    """
    if not np.isfinite(value):
        return "—"
    text_ = f"{value:.2f}".replace("-", "−")
    return "0" if float(f"{value:.2f}") == 0 else text_.replace("0.", ".", 1)


def scale_chart(name: str, value: float, ends: tuple[float, float], *, low_is_better: bool | None) -> Markup:
    """Draw the position of a reading within its possible range."""
    wide, tall = 180.0, 14.0
    place = 6 + (wide - 12) * min(max((value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0)
    better = "neither" if low_is_better is None else "low" if low_is_better else "high"
    parts = [
        element("rect", class_="track", x=6, y=5.5, width=wide - 12, height=3, rx=1.5),
        element("rect", class_="reach", x=6, y=5.5, width=max(place - 6, 0.5), height=3, rx=1.5),
        element("circle", class_="dot", cx=place, cy=7, r=5),
    ]
    said = f"{number(value)} between {number(ends[0])} and {number(ends[1])}"
    return drawing(f"scale {better}", f"{name} on its scale", said, wide, tall, parts)
