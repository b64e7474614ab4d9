"""The least setting of each way as a bar in two parts: what microaggregation loses, and what noise adds."""

from __future__ import annotations

import math

from markupsafe import Markup

from shoal.report.charts.numbers import drawing, element, folded, text
from shoal.types import Explored, Setting

_WIDE, _LEFT, _RIGHT, _ROW, _THICK = 640.0, 2.0, 110.0, 46.0, 18.0
_APART = 5.0  # lines of a hatching
_MOST = 4.0  # times the least: a longer bar is shortened, and says so


def bars(found: Explored) -> Markup:
    """Draw a bar for the least setting of each way; the noise is hatched, so that it is told without colours."""
    least = least_of_each(found)
    most = min(max(one.loss for one in least), _MOST * max(least[0].loss, 1e-9)) or 1.0
    parts: list[Markup] = []
    for at, one in enumerate(least):
        parts += _bar(one, 6 + at * _ROW, (_WIDE - _LEFT - _RIGHT) / most, most, best=one is found.recommended)
    said = (
        "For the least setting of each way what microaggregation loses, and hatched what noise adds; bars with … are "
        "shortened."
    )
    return drawing("parts", "What the expected loss is made of", said, _WIDE, 8 + _ROW * len(least), parts)


def least_of_each(found: Explored) -> list[Setting]:
    """Return the setting with the least expected loss of each way, the least first.

    Those that meet the recipe's demands are compared, or all if none does.
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
    shown = most / one.loss if cut else 1.0  # a bar that is shortened keeps the proportion of its parts
    ends = [_LEFT, _LEFT + scale * lost * shown, _LEFT + scale * one.loss * shown]
    said = f"{one.name}: {one.figures[1]} % by microaggregation, {one.figures[2]} % by noise"
    parts = [text(_LEFT, y + 11, folded(one.name, 60), "label strong-label" if best else "label")]  # fmt: skip
    for style, (begin, end) in (("lost", ends[:2]), ("noise", ends[1:])):
        rect = element("rect", [element("title", [said])], class_=f"bar {style}", x=begin, y=y + 18,
                       width=max(end - begin, 0.0), height=_THICK)  # fmt: skip
        parts.append(rect)
    parts.append(_hatched(ends[1], ends[2], y + 18, _THICK))
    figure = f"{'… ' if cut else ''}{one.figures[0]} %"
    parts.append(text(ends[2] + 8, y + 31, figure, "label strong-label" if best else "label"))
    return parts
