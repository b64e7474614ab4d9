"""Names and figures as short, harmless text."""

from __future__ import annotations

from collections.abc import Sequence

_NAME = 60  # characters of the longest name that is shown whole


def plain(text: str) -> str:
    """Replace characters that a page cannot hold or would interpret: control and direction characters.

    >>> plain("pay\\x00"), plain("pay\\u202erent")
    ('pay�', 'pay�rent')
    """
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join("�" if _obeyed(ord(sign)) else sign for sign in whole)


def _obeyed(sign: int) -> bool:
    return sign < 32 or 127 <= sign < 160 or 0x202A <= sign <= 0x202E or 0x2066 <= sign <= 0x2069


def counted(many: int, one: str, several: str = "") -> str:
    """Return a count with its noun.

    >>> counted(1, "record"), counted(5000, "record"), counted(2, "class", "classes")
    ('1 record', '5,000 records', '2 classes')
    """
    return f"{many:,} {one if many == 1 else several or one + 's'}"


def short(name: str) -> str:
    """Return the name of a column, shortened if it does not fit in a line.

    >>> short("age"), len(short("a" * 90))
    ('age', 60)
    """
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def named(names: Sequence[str], most: int = 4) -> str:
    """Return the names of columns for a line of text; many are counted.

    >>> named(["age"]), named(list("abcdef"))
    ('age', 'a, b, c, d and 2 more')
    """
    shown = ", ".join(short(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def figure(value: float, unit: str = "") -> str:
    """Return a figure with 3 significant digits.

    >>> figure(1234567.0), figure(8.7851, "%"), figure(0.00012345)
    ('1,230,000', '8.79 %', '0.000123')
    """
    return f"{float(f'{value:.2e}'):,.12g} {unit}".rstrip()
