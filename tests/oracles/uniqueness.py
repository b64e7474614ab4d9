"""How many records are unique in some columns, transcribed. Obviously right, and slow."""

from collections import Counter


def standing_alone(rows):
    """Return how many rows are there once, how often the rarest is there, and how many different ones there are."""
    counted = Counter(rows)
    return sum(1 for row in rows if counted[row] == 1), min(counted.values()), len(counted)
