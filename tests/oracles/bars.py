"""What may be drawn of a column, transcribed. Obviously right, and slow."""

from __future__ import annotations

import math


def held(values, edges, places):
    """How many values each bar holds: a bar is from one edge to another, the first and the last have one edge only."""
    bounds = [-math.inf, *edges, math.inf]
    return [sum(bounds[a] <= value < bounds[b] for value in values) for a, b in places]


def allowed(counts, least):
    """A bar has no record, or enough of them."""
    return all(count == 0 or count >= least for count in counts)


def correlation(before, after, other_before, other_after):
    """Pearson's correlation before and after, over records that have all four values."""
    rows = [
        row
        for row in zip(before, after, other_before, other_after, strict=True)
        if not any(math.isnan(value) for value in row)
    ]
    return tuple(_pearson([(row[at], row[at + 2]) for row in rows]) for at in (0, 1))


def _pearson(pairs):
    n = len(pairs)
    x, y = (sum(pair[at] for pair in pairs) / n for at in (0, 1))
    xy = sum((a - x) * (b - y) for a, b in pairs)
    xx, yy = sum((a - x) ** 2 for a, _ in pairs), sum((b - y) ** 2 for _, b in pairs)
    return xy / math.sqrt(xx * yy) if xx > 0 and yy > 0 else math.nan
