"""Whom a tuple is about: subjects are told apart by those who look at classes of a stream before they leave."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any


def who(subject: Any) -> Any:
    """Return what tells a subject from others: its number, if it reads as one; None: it is nobody.

    >>> who(7) == who("7.0") == who(7.0), who("x"), who(" "), who(float("nan"))
    (True, 'x', None, None)
    """
    if type(subject) is int:
        return subject
    try:
        if subject is None or subject != subject:  # noqa: PLR0124  NaN
            return None
    except (TypeError, ArithmeticError):  # NA, which is not known to be equal to itself
        return None
    text = str(int(subject)) if isinstance(subject, float) and subject.is_integer() else str(subject).strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text or None
    return number if number.is_finite() else text
