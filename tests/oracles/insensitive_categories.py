"""Insensitive microaggregation with categories, transcribed: the whole domain is walked through, cell after cell.

An axis is None, numbers from 0 to 1, or groups within groups, the innermost ones lists of leaves.
"""

from fractions import Fraction
from math import floor


def leaves(nested):
    """The leaves of a taxonomy in line: those of a group side by side, groups and leaves by name."""
    if isinstance(nested, list):
        return sorted(nested)
    return [leaf for group in sorted(nested) for leaf in leaves(nested[group])]


def cut(nested, depth):
    """The cells of a taxonomy at a depth, each a list of leaves."""
    if depth == 0:
        return [leaves(nested)]
    if isinstance(nested, list):
        return [[leaf] for leaf in sorted(nested)]
    return [cell for group in sorted(nested) for cell in cut(nested[group], depth - 1)]


def cut_into(nested, count):
    """The cells of a taxonomy at the depth with this many of them."""
    depth = 0
    while len(cut(nested, depth)) != count:
        depth += 1
    return cut(nested, depth)


def ploughing(strips):
    """All combinations of cells, in the order in which an ox ploughs them."""
    found = [()]
    for count in strips:
        there = list(range(count))
        found = [
            (*cell, own) for number, cell in enumerate(found) for own in (there if number % 2 == 0 else there[::-1])
        ]
    return found


def in_order(records, axes, strips):
    """Rows in the order of the domain. Each record has a value for each axis."""
    visited = {cell: number for number, cell in enumerate(ploughing(strips[:-1]))}

    def cell_of(value, axis, count):
        if axis is None:
            return min(floor(Fraction(value) * count), count - 1)
        return next(number for number, cell in enumerate(cut_into(axis, count)) if value in cell)

    def rank(value, axis):
        return Fraction(value) if axis is None else leaves(axis).index(value)

    def place(row):
        record = records[row]
        cells = tuple(cell_of(v, a, s) for v, a, s in zip(record[:-1], axes, strips, strict=False))
        ranks = [rank(value, axis) for value, axis in zip(record, axes, strict=True)]
        number = visited[cells]
        return number, ranks[-1] if number % 2 == 0 else -ranks[-1], ranks[:-1], row

    return sorted(range(len(records)), key=place)


def classes(records, axes, k, strips):
    """The classes: k consecutive rows each, the last takes the rest."""
    rows, found = in_order(records, axes, strips), []
    while rows:
        run = rows if len(rows) < 2 * k else rows[:k]
        found.append(run)
        rows = rows[len(run) :]
    return found
