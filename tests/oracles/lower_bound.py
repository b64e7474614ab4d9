"""The least SSE of all partitions, and the classes that pay, by trying all of them in exact arithmetic."""

from fractions import Fraction
from itertools import combinations


def sse(points, rows):
    """SSE of a class: squared distances of all pairs, divided by its size."""
    exact = [[Fraction(value) for value in points[row]] for row in rows]
    pairs = sum((a - b) ** 2 for p, q in combinations(exact, 2) for a, b in zip(p, q, strict=True))
    return Fraction(pairs) / len(rows)


def optimum(points, k):
    """Least SSE of any partition into classes of at least k records."""
    cost = {}

    def least(rows):
        if not rows:
            return Fraction(0)
        first, rest, found = rows[0], rows[1:], None
        for size in range(k - 1, len(rest) + 1):
            if 0 < len(rest) - size < k:
                continue
            for others in combinations(rest, size):
                chosen = (first, *others)
                if chosen not in cost:
                    cost[chosen] = sse(points, chosen)
                value = cost[chosen] + least(tuple(row for row in rest if row not in others))
                found = value if found is None or value < found else found
        return found

    return least(tuple(range(len(points))))


def paying(points, k, prices):
    """Classes of k records whose prices exceed their SSE, with the difference."""
    worth = {
        rows: sum(Fraction(prices[row]) for row in rows) - sse(points, rows)
        for rows in combinations(range(len(points)), k)
    }
    return {rows: value for rows, value in worth.items() if value > 0}
