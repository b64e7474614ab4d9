"""Classes in the order of what they cost beyond the prices of their records: the definition, written out.

The reduced cost of a class is its SSE less the prices of its records. Every record has an allowance, a share of the gap
in proportion to a power of its price; classes are ranked by reduced cost over allowance.
"""

from itertools import combinations


def sse(points, rows):
    total = 0.0
    for column in zip(*(points[i] for i in rows), strict=True):
        mean = sum(column) / len(column)
        total += sum((value - mean) ** 2 for value in column)
    return total


def ranked(points, prices, gap, k, power):
    """Return (rank, class) of every class of k or k + 1 records, the least rank first."""
    weights = [abs(price) ** power for price in prices]
    allowance = [gap * weight / sum(weights) for weight in weights]
    found = []
    for size in (k, k + 1):
        for rows in combinations(range(len(points)), size):
            reduced = sse(points, rows) - sum(prices[i] for i in rows)
            found.append((reduced / sum(allowance[i] for i in rows), rows))
    return sorted(found)
