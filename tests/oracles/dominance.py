"""Dominance from its definition, in exact fractions: the largest share of a class's weight that one person holds."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction


def dominance(classes, persons=None, weights=None):
    """Return the largest share; one entry per record in each list, None for a missing person or weight."""
    n = len(classes)
    persons = list(range(n)) if persons is None else persons
    weights = [1] * n if weights is None else [0 if w is None or w != w else w for w in weights]
    members = defaultdict(list)
    for row, label in enumerate(classes):
        members[label].append(row)
    return max((share(rows, persons, weights) for rows in members.values()), default=Fraction(0))


def share(rows, persons, weights):
    """Return the largest share of one class; where all weigh 0, all weigh the same."""
    total = sum(Fraction(weights[row]) for row in rows)
    held = defaultdict(Fraction)
    for row in rows:
        held[persons[row]] += Fraction(weights[row]) if total else 1
    return max(held.values()) / (total or len(rows))
