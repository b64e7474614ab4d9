"""Formatting of numbers and names for readers: few digits, thousands separators, no name longer than a line."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from shoal.display.words import plain

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DECIMALS = 2  # of correlations and changes in the external edition
_EPOCH = date(1970, 1, 1).toordinal()


def number(value: float, digits: int = 4) -> str:
    """Format a number with a few significant digits; NaN is a dash.

    >>> number(1234567.8), number(0.12345), number(-3), number(0.0000012), number(math.nan)
    ('1,234,568', '0.1235', '−3', '1.2 × 10⁻⁶', '—')
    """
    if math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size != 0 and (size < 1e-4 or size >= 1e12):
        head, _, power = f"{value:.{max(digits - 2, 0)}e}".partition("e")
        head = head.rstrip("0").rstrip(".") if "." in head else head
        return f"{head} × 10{str(int(power)).translate(_RAISED)}".replace("-", "−")
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.{digits}g}".replace("-", "−")


def percent(value: float, *, signed: bool = False) -> str:
    """Format a percentage with one decimal, with its sign if it is a change.

    >>> percent(12.345), percent(3.0, signed=True), percent(-0.01, signed=True)
    ('12.3 %', '+3.0 %', '0.0 %')
    """
    if not math.isfinite(value):
        return number(value)
    text = f"{value:{'+' if signed else ''},.1f}"
    return f"{text.lstrip('+-') if float(text.replace(',', '')) == 0 else text} %".replace("-", "−")


def rounded(value: Any, step: float = 0.0) -> Any:
    """Round a figure, or an array of figures, to 2 decimals, or to a coarser step; −0 becomes 0.

    >>> rounded(-1.1e-16), rounded(0.126), rounded(0.126, 0.05)
    (0.0, 0.13, 0.15)
    """
    coarser = np.round(np.asarray(value) / step) * step if step > 10.0**-_DECIMALS else value
    found = np.round(coarser, _DECIMALS) + 0.0
    return found if isinstance(value, np.ndarray) else float(found)


def moment(days: float) -> str:
    """Format days since 1970 as a date, or as a number of days outside the calendar.

    >>> moment(0.0), moment(1e9)
    ('1970-01-01', '1,000,000,000 days')
    """
    try:
        return (date.fromordinal(_EPOCH) + timedelta(days=math.floor(days))).isoformat()
    except (OverflowError, ValueError):
        return f"{number(days)} days"


def _isolated(name: str) -> str:
    """Isolate a right-to-left name, so that the text around it keeps its order."""
    backwards = any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in name)
    return f"\u2068{name}\u2069" if backwards else name


def folded(name: str, most: int = 48) -> str:
    """Shorten a name to fit in a line, keeping both ends.

    >>> folded("income"), folded("a" * 40 + "z", 11)
    ('income', 'aaaaaaa…aaz')
    """
    name = plain(name)
    if len(name) <= most:
        return name
    tail = (most - 1) // 3
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def spelled(name: str) -> str:
    """Return the name of a column as a sentence can hold it: shortened, and isolated if it is right to left."""
    return _isolated(folded(name))


def joined(names: Sequence[str], most: int = 12) -> str:
    """Join names as in a sentence, with the number of omitted ones.

    >>> joined(["a"]), joined(["a", "b", "c"]), joined(list("abcd"), 2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    shown = [spelled(name) for name in names]
    if len(shown) > most:
        return f"{', '.join(shown[:most])} and {len(shown) - most:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def element(name: str, inside: Iterable[Markup | str] = (), **attributes: float | str) -> Markup:
    """Return an element; text inside is escaped. An underscore in an attribute name becomes a hyphen.

    >>> str(element("text", ["a < b"], x=1.0, text_anchor="end"))
    '<text x="1" text-anchor="end">a &lt; b</text>'
    """
    given = Markup("").join(
        Markup(' {}="{}"').format(Markup(key.rstrip("_").replace("_", "-")), _short(value))
        for key, value in attributes.items()
    )
    held = Markup("").join(part if isinstance(part, Markup) else escape(plain(part)) for part in inside)
    return Markup("<{0}{1}>{2}</{0}>" if held else "<{0}{1}/>").format(Markup(name), given, held)


def _short(value: float | str) -> str:
    if isinstance(value, str):
        return plain(value)
    found = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if found in ("-0", "") else found


def drawing(kind: str, title: str, description: str, width: float, height: float, parts: Iterable[Markup]) -> Markup:
    """Return a drawing with a description for readers who cannot see it."""
    named = (element("title", [title]), element("desc", [description]))
    return element(
        "svg",
        [*named, *parts],
        class_=f"chart {kind}",
        viewBox=f"0 0 {_short(width)} {_short(height)}",
        role="img",
    )


def text(x: float, y: float, written: str, style: str = "", **attributes: float | str) -> Markup:
    """Return a text at a position."""
    styled = {"class_": style} if style else {}
    return element("text", [written], x=x, y=y, **styled, **attributes)
