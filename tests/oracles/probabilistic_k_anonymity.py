"""Probabilistic k-anonymity, transcribed: the smallest class, 0 where a class has other values than before."""

from collections import Counter


def achieved(before, after, labels, subjects=None):
    """Return the level of a table; `before` and `after` are lists of columns."""
    levels = []
    for label in set(labels):
        rows = [row for row in range(len(labels)) if labels[row] == label]
        same = all(
            Counter(one[row] for row in rows) == Counter(other[row] for row in rows)
            for one, other in zip(before, after, strict=True)
        )
        level = len(rows) if subjects is None else len({subjects[row] for row in rows})
        levels.append(level if same else 0)
    return min(levels)
