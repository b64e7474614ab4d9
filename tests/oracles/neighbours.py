"""The nearest other records of every record, by sorting all of them. Obviously right, and slow."""


def squared_distance(x, y):
    """Sum of squared differences, in coordinate order."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a - b) * (a - b)
    return total


def neighbours(points, count):
    """For each row the first `count` other rows, ordered by (squared distance, row)."""
    rows = range(len(points))
    return [
        sorted((i for i in rows if i != r), key=lambda i, r=r: (squared_distance(points[i], points[r]), i))[:count]
        for r in rows
    ]
