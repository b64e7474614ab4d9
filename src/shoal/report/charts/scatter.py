"""Scatter chart of settings, loss against risk, as SVG coloured by the page: light, dark or printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from statistics import median

from shoal.types import Explored, Setting

_WIDE, _TALL = 520.0, 360.0
_LEFT, _RIGHT, _TOP, _FOOT = 46.0, 16.0, 16.0, 44.0
_R = 5.0
_LABEL = 42.0  # width of the label next to a point
_CROWDED = 6.0  # times the median: the largest value allowed on a linear axis
_KINDS = 6  # number of colours; shapes cycle with them
_CORNERS = {1: (4, 45.0), 2: (3, -90.0), 3: (4, 0.0), 4: (3, 90.0), 5: (5, -90.0)}  # 0 is a circle


def scatter(found: Explored) -> str:
    """Draw every setting that ran, the frontier through undominated ones, and a ring around the recommended one.

    Settings that are weaker than the recipe demands are grey, and lie beneath the others.
    """
    shown = [s for s in found.settings if s.state == "ran" and not math.isnan(s.loss) and not math.isnan(s.risk)]
    kinds = list(found.ways)  # in the order of their colours
    scale = _Scale(shown)
    parts = [*_axes(scale, found), _line(found.frontier, scale)]
    for setting in sorted(shown, key=lambda s: (s.meets, s.frontier)):  # important ones on top
        x, y = scale.at(setting)
        said = f"{setting.name}: loss {setting.loss:.2f} %, risk {setting.risk:.2f} %"
        said += "" if setting.meets else f"; {setting.note}"
        dim = "" if setting.frontier else " below" if not setting.meets else " dim" if setting.keeps else " weak"
        drawn = mark(kinds.index(setting.method), x, y)
        parts.append(f'<g class="point{dim}"><title>{escape(said)}</title>{drawn}</g>')
    parts += _labels(found.frontier, scale)
    if found.recommended is not None:
        x, y = scale.at(found.recommended)
        parts.append(f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{_R + 4.5:g}"/>')
    title = f"Loss against risk of {len(shown)} settings, {len(found.frontier)} of them on the frontier"
    inside = "".join(parts)
    return (
        f'<svg class="chart scatter" viewBox="0 0 {_WIDE:g} {_TALL:g}" role="img"><title>{title}</title>'
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
        return _LEFT + (_WIDE - _LEFT - _RIGHT) * self.x.place(loss)

    def down(self, risk: float) -> float:
        return _TALL - _FOOT - (_TALL - _FOOT - _TOP) * self.y.place(risk)


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
    low, right = _TALL - _FOOT, _WIDE - _RIGHT
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
        f'<text class="along" x="{(_LEFT + right) / 2:g}" y="{_TALL - 8:g}" text-anchor="middle">'
        f"loss: {escape(found.loss)}, %{scale.x.said} →</text>"
        f'<text class="along" transform="translate(13 {middle:g}) rotate(-90)" text-anchor="middle">'
        f"risk: {escape(found.risk)}, %{scale.y.said} →</text>"
    )
    return parts


def _line(frontier: Sequence[Setting], scale: _Scale) -> str:
    places = " ".join("{:.1f},{:.1f}".format(*scale.at(setting)) for setting in frontier)
    return f'<polyline class="frontier" points="{places}"/>'


def _labels(frontier: Sequence[Setting], scale: _Scale) -> list[str]:
    """Label points of the frontier with k where it changes and the label does not overlap another."""
    parts: list[str] = []
    last, written = 0, [(-99.0, -99.0)]
    for setting in frontier:
        k, (x, y) = setting.asked[0], scale.at(setting)
        at = x + (-_LABEL - 11 if x > _WIDE - _LABEL - 20 else 11)
        if k != last and all(abs(at - a) > _LABEL or abs(y - b) > 13 for a, b in written):
            parts.append(f'<text class="label" x="{at:.1f}" y="{y - 7:.1f}">k = {k}</text>')
            last, written = k, [*written, (at, y)]
    return parts
