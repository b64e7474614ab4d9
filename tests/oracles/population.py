"""Population records by released combination, from the definitions, in exact fractions. Right, and slow.

A column is a dictionary: its kind (number, ordinal or nominal), the order of an ordinal, the paths of a taxonomy. Rows
are tuples of values; None is missing.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction


def distance(column, one, other, numbers):
    """The distance of two values, from 0 to 1; `numbers` are those of the column in both tables."""
    if one is None or other is None:
        return Fraction(one is not other)
    if column["kind"] == "number":
        return Fraction(abs(one - other)) / (Fraction(max(numbers) - min(numbers)) or 1)
    if column["kind"] == "ordinal":
        order = column["order"]
        return Fraction(abs(order.index(one) - order.index(other)), len(order) - 1)
    if one == other:
        return Fraction(0)
    paths = column.get("paths", {})
    if one not in paths or other not in paths:
        return Fraction(1)
    return Fraction(height(paths, common(paths[one], paths[other])), height(paths, ()))


def common(one, other):
    """The path of the lowest common ancestor."""
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return one[:shared]


def height(paths, node):
    """Steps from a node down to its deepest leaf."""
    return max(len(path) + 1 - len(node) for path in paths.values() if path[: len(node)] == node)


def place(column, value):
    """Where a value comes in the order by which ties are broken."""
    if value is None:
        return (2,)
    if column["kind"] == "ordinal":
        return (0, column["order"].index(value))
    if column["kind"] == "nominal":
        paths = column.get("paths", {})
        return (0, *paths[value], value) if value in paths else (1, value)
    return (0, value)


def belonging(columns, released, people, scale=()):
    """The number of released records and of population records of each released combination.

    In a stratum, `scale` are the records of all strata, whose ranges count.
    """
    rows = scale or (*released, *people)
    numbers = [[row[j] for row in rows if row[j] is not None] for j in range(len(columns))]
    combinations = sorted(set(released), key=lambda row: [place(c, v) for c, v in zip(columns, row, strict=True)])
    found = Counter()
    for person in people:
        apart = [
            sum(distance(c, person[j], row[j], numbers[j]) ** 2 for j, c in enumerate(columns)) for row in combinations
        ]
        found[combinations[apart.index(min(apart))]] += 1
    inside = Counter(released)
    return {row: (inside[row], found[row]) for row in combinations}


def k_map(counted):
    """The smallest number of population records of a combination."""
    return min(people for _, people in counted.values())


def presence(counted):
    """The smallest and the largest share of a combination's population that is released."""
    shares = [Fraction(inside, max(people, 1)) for inside, people in counted.values()]
    return min(shares), max(shares)
