"""(n,t)-closeness from its definition, class by class and superset by superset. Obviously right, and slow."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction


def supersets(places: list[tuple], labels: list[int], label: int, n: int) -> list[set[int]]:
    """The rows of a class with its nearest classes, as few as hold n records, then 2n, 4n, … and the whole table.

    `places` are the standardised quasi-identifiers of the records; classes equally far away are all in or all out.
    """
    own = places[labels.index(label)]
    apart = [sum((a - b) * (a - b) for a, b in zip(place, own, strict=True)) for place in places]
    found = []
    while n < len(places):
        reach = min(r for r in apart if sum(d <= r for d in apart) >= n)
        found.append({row for row, d in enumerate(apart) if d <= reach})
        n *= 2
    return [*found, set(range(len(places)))]


def achieved(places: list[tuple], labels: list[int], values: list, n: int, distance: Callable) -> Fraction:
    """The largest distance of any class from the superset that it is closest to.

    `distance(inside, around)` compares the values of a class with those of a superset of it.
    """
    worst = Fraction(0)
    for label in set(labels):
        inside = [value for value, other in zip(values, labels, strict=True) if other == label]
        around = [[values[row] for row in rows] for rows in supersets(places, labels, label, n)]
        worst = max(worst, min(distance(inside, other) for other in around))
    return worst
