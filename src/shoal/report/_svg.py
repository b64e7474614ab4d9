"""A few words of SVG: elements with their attributes, and everything that people wrote escaped."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from shoal.report._numerals import plain


def element(name: str, inside: Iterable[Markup | str] = (), **attributes: float | str) -> Markup:
    """Return an element; text inside is escaped. An underscore in the name of an attribute is a hyphen.

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
    """Return a drawing that says to those who do not see it what it shows."""
    named = (element("title", [title]), element("desc", [description]))
    return element(
        "svg",
        [*named, *parts],
        class_=f"chart {kind}",
        viewBox=f"0 0 {_short(width)} {_short(height)}",
        role="img",
    )


def text(x: float, y: float, written: str, style: str = "", **attributes: float | str) -> Markup:
    """Return a text at a place."""
    styled = {"class_": style} if style else {}
    return element("text", [written], x=x, y=y, **styled, **attributes)
