"""Expected loss against k as SVG: curves on log axes, and bars of loss and noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from shoal.report.charts.charts import mark
from shoal.report.charts.numbers import drawing, element, folded, text
from shoal.types import Explored, Setting

_WIDE, _TALL = 640.0, 380.0
_LEFT, _RIGHT, _TOP, _FOOT = 62.0, 22.0, 18.0, 46.0
_LEAST = 1e-6  # percent: nothing is drawn lower
_STEPS = (1.0, 2.0, 5.0)
_TICKS = 8
_LABEL = 60.0  # half the width of the label above the minimum


class _Axis(NamedTuple):
    """A logarithmic axis between two numbers, and its tick labels."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Return the position of a value, from 0 to 1, limited to the ends."""
        if self.high <= self.low:
            return 0.5
        return min(max(math.log(max(value, self.low) / self.low) / math.log(self.high / self.low), 0.0), 1.0)


def axis(low: float, high: float) -> _Axis:
    """Return an axis whose ticks are 1, 2 or 5 times powers of ten, or powers of ten if these would be too many.

    >>> axis(2, 1000).ticks, axis(3, 40).ticks
    ((10.0, 100.0, 1000.0), (5.0, 10.0, 20.0))
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [step * 10.0**power for power in powers for step in _STEPS]
    inside = [tick for tick in every if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
    if len(inside) > _TICKS:
        inside = [10.0**power for power in powers if low <= 10.0**power * (1 + 1e-9) and 10.0**power <= high]
    return _Axis(low, high, tuple(inside))


class _Field(NamedTuple):
    """The positions of k and loss on the drawing."""

    x: _Axis
    y: _Axis

    def at(self, k: float, loss: float) -> tuple[float, float]:
        return (
            _LEFT + (_WIDE - _LEFT - _RIGHT) * self.x.place(k),
            _TALL - _FOOT - (_TALL - _FOOT - _TOP) * self.y.place(loss),
        )


def curves(found: Explored) -> Markup:
    """Draw the expected loss of every method against k, with a ring around the minimum; variable sizes are a level
    line.

    Settings that are weaker than the recipe demands are grey, and lie beneath the others.
    """
    every = [one for some in found.ways.values() for one in some if math.isfinite(one.loss)]
    field = _field(every, [one.loss for one in every])
    grey, parts = list[Markup](), list[Markup]()
    for at, some in enumerate(found.ways.values()):
        shown = [one for one in some if math.isfinite(one.loss)]
        if not shown:
            continue
        if not shown[0].sized:
            (parts if shown[0].meets else grey).extend(_level(field, at, shown[0], found))
            continue
        strong, weaker = [one for one in shown if one.meets], [one for one in shown if not one.meets]
        grey += _curve(field, at, [*weaker, *strong[:1]], weaker, "curve below")
        parts += _curve(field, at, strong, strong, f"curve l{at % 6}")
    parts = [*_grid(field, found.loss), *grey, *parts, *_ring(field, best_sized(found), found.recommended)]
    return drawing("curves", "Expected loss against k", found.reason, _WIDE, _TALL, parts)


def _curve(field: _Field, kind: int, along: Sequence[Setting], marked: Sequence[Setting], style: str) -> list[Markup]:
    """Draw a line along settings of one method, and a mark for some of them."""
    if not marked:
        return []
    line = _line((field.at(one.asked[0], one.loss) for one in along), style)
    return [line, *(_point(kind, one, field.at(one.asked[0], one.loss)) for one in marked)]


def split_curve(found: Explored, some: Sequence[Setting]) -> Markup:
    """Draw one method as the sum of microaggregation loss and noise."""
    shown = [one for one in some if math.isfinite(one.loss)]
    field = _field(shown, [one.loss for one in shown], below=20.0)
    parts = _grid(field, found.loss)
    lines = {
        "sum": [one.loss for one in shown],
        "microaggregation": [one.loss - one.noise for one in shown],
        "noise": [one.noise for one in shown],
    }
    for name, values in lines.items():
        kept = [(one.asked[0], value) for one, value in zip(shown, values, strict=True) if value >= field.y.low]
        places = [field.at(*pair) for pair in kept]
        if places:
            parts.append(_line(places, f"part {name}"))
        if places and name == "noise":  # falls: nothing is drawn to the left of it
            x, y = places[len(places) // 2]
            parts.append(text(x - 12, y + 8, name, "label", text_anchor="end"))
        if places and name == "microaggregation":  # rises: nothing is drawn to the right of it
            x, y = places[3 * len(places) // 4]
            parts.append(text(x + 10, y + 18, name, "label"))
    strong = [one for one in shown if one.meets]
    parts += _ring(field, min(strong, key=lambda s: s.loss, default=None), found.recommended)
    said = "The sum is smallest where one more record per class loses as much as it saves in noise."
    return drawing("curves", f"Expected loss of {shown[0].method} and its parts", said, _WIDE, _TALL, parts)


def best_sized(found: Explored) -> Setting | None:
    """Return the setting with the least loss that meets the recipe's demands and whose class size k sets."""
    some = [s for s in found.settings if s.state == "ran" and s.sized and s.meets and math.isfinite(s.loss)]
    return min(some, key=lambda s: (s.loss, s.asked[0]), default=None)


def _field(some: Sequence[Setting], values: Sequence[float], below: float = 2.0) -> _Field:
    """Return the drawing area for settings, extended `below` times lower than the minimum."""
    ks = [one.asked[0] for one in some if one.sized] or [2, 10]
    least, most = max(min(values), _LEAST), max(*values, 10 * _LEAST)
    return _Field(axis(min(ks) / 1.06, max(ks) * 1.06), axis(least / below, most * 1.25))


def _grid(field: _Field, loss: str) -> list[Markup]:
    low, right = _TALL - _FOOT, _WIDE - _RIGHT
    parts = []
    for tick in field.x.ticks:
        x, _ = field.at(tick, field.y.low)
        parts.append(element("line", class_="gridline", x1=x, x2=x, y1=_TOP, y2=low))
        parts.append(text(x, low + 16, f"{tick:,.0f}", "tick", text_anchor="middle"))
    for tick in field.y.ticks:
        _, y = field.at(field.x.low, tick)
        parts.append(element("line", class_="gridline", x1=_LEFT, x2=right, y1=y, y2=y))
        parts.append(text(_LEFT - 8, y + 4, f"{tick:,.10g}", "tick", text_anchor="end"))
    parts.append(text((_LEFT + right) / 2, _TALL - 8, "k, logarithmic →", "along", text_anchor="middle"))
    turned = f"translate(13 {(_TOP + low) / 2:g}) rotate(-90)"
    said = f"expected {loss}, %, logarithmic →"
    parts.append(element("text", [said], class_="along", transform=turned, text_anchor="middle"))
    return parts


def _line(places: Iterable[tuple[float, float]], style: str) -> Markup:
    return element("polyline", class_=style, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places))


def _point(kind: int, one: Setting, place: tuple[float, float]) -> Markup:
    said = f"{one.name}: {one.figures[0]} %, of it {one.figures[2]} % by noise"
    said += "" if one.meets else "; weaker than the recipe"
    style = "point" if one.meets else "point below"
    return element("g", [element("title", [said]), Markup(mark(kind, *place))], class_=style)


def _level(field: _Field, kind: int, one: Setting, found: Explored) -> list[Markup]:
    """Draw a setting without a k as a level line, marked at its right end; label it if recommended."""
    _, y = field.at(field.x.low, one.loss)
    right = _WIDE - _RIGHT
    place = (right - 8.0 - 15.0 * (kind % 3), y)  # level lines may coincide, marks must not
    style = f"free l{kind % 6}" if one.meets else "free below"
    parts = [element("line", class_=style, x1=_LEFT, x2=right, y1=y, y2=y), _point(kind, one, place)]
    if one is found.recommended:
        parts.append(element("circle", class_="ring", cx=place[0], cy=place[1], r=9.5))
        parts.append(text(_LEFT + 8, y + 16, f"{one.name}: {one.figures[0]} %", "label"))
    return parts


def _ring(field: _Field, one: Setting | None, best: Setting | None) -> list[Markup]:
    """Mark the minimum along the curves, and label it."""
    if one is None:
        return []
    x, y = field.at(one.asked[0], one.loss)
    anchor = "end" if x > _WIDE - _RIGHT - _LABEL else "start" if x < _LEFT + _LABEL else "middle"
    return [
        element("line", class_="drop", x1=x, x2=x, y1=y + 9.5, y2=_TALL - _FOOT),
        element("circle", class_="ring" if one is best else "ring second", cx=x, cy=y, r=9.5),
        text(x, max(y - 28, 11.0), f"k = {one.asked[0]:,}: {one.figures[0]} %", "label", text_anchor=anchor),
    ]


_PARTS_WIDE, _PARTS_LEFT, _PARTS_RIGHT, _ROW, _THICK = 640.0, 2.0, 110.0, 46.0, 18.0
_APART = 5.0  # distance of hatching lines
_MOST = 4.0  # times the minimum: a longer bar is shortened, and marked as such


def bars(found: Explored) -> Markup:
    """Draw a bar for the best setting of each method; the noise is hatched, to be distinct without colours."""
    least = least_of_each(found)
    most = min(max(one.loss for one in least), _MOST * max(least[0].loss, 1e-9)) or 1.0
    parts: list[Markup] = []
    for at, one in enumerate(least):
        parts += _bar(
            one, 6 + at * _ROW, (_PARTS_WIDE - _PARTS_LEFT - _PARTS_RIGHT) / most, most, best=one is found.recommended
        )
    said = (
        "For the best setting of each method the microaggregation loss, and hatched the noise; bars with … are "
        "shortened."
    )
    return drawing("parts", "Components of the expected loss", said, _PARTS_WIDE, 8 + _ROW * len(least), parts)


def least_of_each(found: Explored) -> list[Setting]:
    """Return the setting with the least expected loss of each method, the least first.

    Only settings that meet the recipe's demands are compared, or all if none does.
    """
    strong = any(one.meets for some in found.ways.values() for one in some)
    ways = ([s for s in some if math.isfinite(s.loss) and (s.meets or not strong)] for some in found.ways.values())
    return sorted((min(some, key=lambda s: (s.loss, s.asked[0])) for some in ways if some), key=lambda s: s.loss)


def _hatched(begin: float, end: float, top: float, high: float) -> Markup:
    """Return slanted lines that fill a rectangle."""
    lines = []
    for step in range(math.ceil((end - begin + high) / _APART)):
        foot = begin - high + step * _APART  # where the line would begin, at the foot of the rectangle
        left, right = max(foot, begin), min(foot + high, end)
        if right > left:
            lines.append(f"M{left:.1f} {top + high - left + foot:.1f}L{right:.1f} {top + high - right + foot:.1f}")
    return element("path", class_="hatch", d="".join(lines))


def _bar(one: Setting, y: float, scale: float, most: float, *, best: bool) -> list[Markup]:
    lost = one.loss - one.noise
    cut = one.loss > most * (1 + 1e-9)
    shown = most / one.loss if cut else 1.0  # a shortened bar keeps the proportion of its parts
    ends = [_PARTS_LEFT, _PARTS_LEFT + scale * lost * shown, _PARTS_LEFT + scale * one.loss * shown]
    said = f"{one.name}: {one.figures[1]} % by microaggregation, {one.figures[2]} % by noise"
    parts = [text(_PARTS_LEFT, y + 11, folded(one.name, 60), "label strong-label" if best else "label")]  # fmt: skip
    for style, (begin, end) in (("lost", ends[:2]), ("noise", ends[1:])):
        rect = element("rect", [element("title", [said])], class_=f"bar {style}", x=begin, y=y + 18,
                       width=max(end - begin, 0.0), height=_THICK)  # fmt: skip
        parts.append(rect)
    parts.append(_hatched(ends[1], ends[2], y + 18, _THICK))
    figure = f"{'… ' if cut else ''}{one.figures[0]} %"
    parts.append(text(ends[2] + 8, y + 31, figure, "label strong-label" if best else "label"))
    return parts
