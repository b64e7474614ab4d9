"""(k,p,q,r)-anonymity from Definition 7 of [DSS08], in exact fractions. Obviously right, and slow."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction


def variance(values: list, squared: Callable[[object, object], Fraction]) -> Fraction:
    """Half the mean squared distance between two records; 0 of none."""
    if not values:
        return Fraction(0)
    return sum((squared(a, b) for a in values for b in values), Fraction(0)) / (2 * len(values) ** 2)


def ratio(inside: Fraction, outside: Fraction) -> Fraction:
    """The quotient of two variances; 1 where the second is 0."""
    return inside / outside if outside else Fraction(1)


def achieved(
    classes: list[list],
    q: Fraction,
    squared: Callable[[object, object], Fraction],
    has_place: Callable[[object], bool],
    meant: Callable[[object], object] = lambda value: value,
) -> tuple[int | None, Fraction, Fraction]:
    """The fewest values, the smallest ratio, and the smallest against the rare records, of classes with a rare value.

    `squared` is the squared distance between two values that have a place, `meant` what a value is counted as.
    """
    table = [value for values in classes for value in values]
    rare = [value for value in table if Fraction(table.count(value), len(table)) < q]
    asked = [values for values in classes if any(value in rare for value in values)]
    if not asked:
        return None, Fraction(1), Fraction(1)
    whole, alone, *inside = (
        variance([value for value in values if has_place(value)], squared) for values in (table, rare, *asked)
    )
    return (
        min(len(set(map(meant, values))) for values in asked),
        min(ratio(found, whole) for found in inside),
        min(ratio(found, alone) for found in inside),
    )
