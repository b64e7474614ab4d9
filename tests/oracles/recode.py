"""Recoding of one number, transcribed with exact fractions. Obviously right, and slow."""

from fractions import Fraction
from math import ceil, floor


def recode(value, *, whole, top=None, bottom=None, top_as=None, bottom_as=None, interval=None, breaks=()):
    """Return a recoded number; `whole` for columns of whole numbers."""
    x = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    low = breaks[0] if breaks else bottom
    high = breaks[-1] if breaks else top
    if low is not None and x < exact(low):
        return exact(low if bottom_as is None else bottom_as)
    if high is not None and x > exact(high):
        return exact(high if top_as is None else top_as)
    if breaks:
        pairs = list(zip(map(exact, breaks), map(exact, breaks[1:]), strict=False))
        begin, end = next((a, b) for a, b in pairs if a <= x < b or (b == pairs[-1][1] and x == b))
        closed = end == pairs[-1][1]
    elif interval is not None:
        begin = floor(x / exact(interval)) * exact(interval)
        end, closed = begin + exact(interval), False
    else:
        return x
    if low is not None:
        begin = max(begin, exact(low))
    if high is not None and exact(high) < end:
        end, closed = exact(high), True
    if not whole:
        return (begin + end) / 2
    members = [one for one in range(ceil(begin), floor(end) + 1) if one < end or closed]
    return Fraction(members[(len(members) - 1) // 2])


def exact(number):
    """Return a number as its digits say."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)
