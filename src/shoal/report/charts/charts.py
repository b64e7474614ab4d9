"""Charts of a report as SVG, coloured by the page: light, dark or printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from statistics import median

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from shoal.display.words import counted
from shoal.report.charts.histograms import Histogram, Shares
from shoal.report.charts.numbers import drawing, element, folded, number, percent, text
from shoal.types import Explored, Setting

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


_BROAD, _HIGH = 520.0, 360.0
_LEFT, _RIGHT, _TOP, _FOOT = 46.0, 16.0, 16.0, 44.0
_R = 5.0
_LABEL = 42.0  # width of the label next to a point
_CROWDED = 6.0  # times the median: the largest value allowed on a linear axis
_KINDS = 6  # number of colours; shapes cycle with them
_CORNERS = {1: (4, 45.0), 2: (3, -90.0), 3: (4, 0.0), 4: (3, 90.0), 5: (5, -90.0)}  # 0 is a circle


def scatter(found: Explored) -> str:
    """Draw every setting that ran, the frontier through undominated ones, and a ring around the recommended one.

    If there are two frontiers, the line of the stronger promise is solid. Settings that are weaker than the recipe
    demands are grey, and lie beneath the others.
    """
    shown = [s for s in found.settings if s.state == "ran" and not math.isnan(s.loss) and not math.isnan(s.risk)]
    kinds = list(found.ways)  # in the order of their colours
    scale = _Scale(shown)
    lines = {"table": found.frontiers["table"], "algorithm": found.frontiers["algorithm"]} if found.frontiers else {}
    parts = [*_axes(scale, found), *(_line(some, scale, f" {name}") for name, some in lines.items())]
    if not lines:
        parts.append(_line(found.frontier, scale))
    for setting in sorted(shown, key=lambda s: (s.meets, s.frontier)):  # important ones on top
        x, y = scale.at(setting)
        said = f"{setting.name}: loss {setting.loss:.2f} %, risk {setting.risk:.2f} %"
        said += f"; withstands: {setting.attacker}" if lines else ""
        said += "" if setting.meets else f"; {setting.note}"
        front = setting.frontier or setting.frontiers
        dim = "" if front else " below" if not setting.meets else " dim" if setting.keeps else " weak"
        drawn = mark(kinds.index(setting.method), x, y)
        parts.append(f'<g class="point{dim}"><title>{escape(said)}</title>{drawn}</g>')
    parts += _labels(found.frontier, scale)
    if found.recommended is not None:
        x, y = scale.at(found.recommended)
        parts.append(f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{_R + 4.5:g}"/>')
    title = f"Loss against risk of {len(shown)} settings, {len(found.frontier)} of them on the frontier"
    title += " of the recipe's attacker" if lines else ""
    inside = "".join(parts)
    return (
        f'<svg class="chart scatter" viewBox="0 0 {_BROAD:g} {_HIGH:g}" role="img"><title>{title}</title>'
        f"<desc>{escape(found.reason)}</desc>{inside}</svg>"
    )


def mark(kind: int, x: float, y: float) -> str:
    """Return the symbol of a method: a colour and a shape, each unique to it.

    >>> mark(0, 10.0, 20.0)
    '<circle class="m0" cx="10.0" cy="20.0" r="4.6"/>'
    """
    colour, shape = kind % _KINDS, (kind + kind // _KINDS) % _KINDS
    if shape == 0:
        return f'<circle class="m{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4.6"/>'
    corners, turned = _CORNERS[shape]
    angles = [math.radians(turned + 360 * i / corners) for i in range(corners)]
    places = " ".join(f"{x + 1.2 * _R * math.cos(a):.1f},{y + 1.2 * _R * math.sin(a):.1f}" for a in angles)
    return f'<polygon class="m{colour}" points="{places}"/>'


class _Axis:
    """Positions along an axis from 0 to 1: linear, or by square roots if most values would crowd in a corner.

    >>> _Axis([1.0, 2.0, 3.0]).ticks, _Axis([1.0, 2.0, 2.5, 90.0]).ticks
    ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 10.0, 25.0, 50.0, 100.0])
    """

    def __init__(self, values: Sequence[float]) -> None:
        largest = max(values, default=0.0)
        self.bent = largest > _CROWDED * max(median(values), 1e-9) if largest > 0 else False
        self.ticks = rounds(largest)
        if self.bent:
            top = self.ticks[-1]
            self.ticks = [0.0, *(top * share for share in (0.02, 0.1, 0.25, 0.5, 1.0))]

    def place(self, value: float) -> float:
        share = value / self.ticks[-1]
        return math.sqrt(share) if self.bent else share

    @property
    def said(self) -> str:
        return ", spread by square roots" if self.bent else ""


class _Scale:
    """Positions of loss and risk on the drawing."""

    def __init__(self, settings: Sequence[Setting]) -> None:
        self.x, self.y = _Axis([s.loss for s in settings]), _Axis([s.risk for s in settings])

    def at(self, setting: Setting) -> tuple[float, float]:
        return self.across(setting.loss), self.down(setting.risk)

    def across(self, loss: float) -> float:
        return _LEFT + (_BROAD - _LEFT - _RIGHT) * self.x.place(loss)

    def down(self, risk: float) -> float:
        return _HIGH - _FOOT - (_HIGH - _FOOT - _TOP) * self.y.place(risk)


def rounds(largest: float) -> list[float]:
    """Return four to eight round numbers from 0 to somewhat above the largest.

    >>> rounds(7.2), rounds(0.0)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    if not (math.isfinite(largest) and largest > 0):
        largest = 0.95
    raw = largest * 1.04 / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw)
    return [round(step * i, 12) for i in range(math.ceil(largest * 1.04 / step) + 1)]


def _axes(scale: _Scale, found: Explored) -> list[str]:
    low, right = _HIGH - _FOOT, _BROAD - _RIGHT
    parts = []
    for value in scale.x.ticks:
        x = scale.across(value)
        parts.append(f'<line class="gridline" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP:g}" y2="{low:g}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{low + 15:g}" text-anchor="middle">{value:g}</text>')
    for value in scale.y.ticks:
        y = scale.down(value)
        parts.append(f'<line class="gridline" x1="{_LEFT:g}" x2="{right:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 7:g}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    middle = (_TOP + low) / 2
    parts.append(
        f'<text class="along" x="{(_LEFT + right) / 2:g}" y="{_HIGH - 8:g}" text-anchor="middle">'
        f"loss: {escape(found.loss)}, %{scale.x.said} →</text>"
        f'<text class="along" transform="translate(13 {middle:g}) rotate(-90)" text-anchor="middle">'
        f"risk: {escape(found.risk)}, %{scale.y.said} →</text>"
    )
    return parts


def _line(frontier: Sequence[Setting], scale: _Scale, style: str = "") -> str:
    places = " ".join("{:.1f},{:.1f}".format(*scale.at(setting)) for setting in frontier)
    return f'<polyline class="frontier{style}" points="{places}"/>'


def sample(style: str) -> str:
    """Return a short piece of a frontier's line, for a legend.

    >>> sample("table")
    '<line class="frontier table" x1="0" x2="14" y1="7" y2="7"/>'
    """
    return f'<line class="frontier {style}" x1="0" x2="14" y1="7" y2="7"/>'


def _labels(frontier: Sequence[Setting], scale: _Scale) -> list[str]:
    """Label points of the frontier with k where it changes and the label does not overlap another."""
    parts: list[str] = []
    last, written = 0, [(-99.0, -99.0)]
    for setting in frontier:
        k, (x, y) = setting.asked[0], scale.at(setting)
        at = x + (-_LABEL - 11 if x > _BROAD - _LABEL - 20 else 11)
        if k != last and all(abs(at - a) > _LABEL or abs(y - b) > 13 for a, b in written):
            parts.append(f'<text class="label" x="{at:.1f}" y="{y - 7:.1f}">k = {k}</text>')
            last, written = k, [*written, (at, y)]
    return parts
