"""Projected microaggregation ([N14] Algorithm 1) in fifty digits, by trying every cut. Obviously right, and slow."""

from decimal import Decimal, localcontext
from fractions import Fraction


def mean(values):
    """The mean."""
    return sum(values) / len(values)


def z_score_sums(points):
    """For each record the sum of its z-scores; a constant attribute adds nothing."""
    with localcontext(prec=50):
        sums = [Decimal(0)] * len(points)
        for column in zip(*points, strict=True):
            values = [Decimal(x) for x in column]
            middle = mean(values)
            deviation = mean([(x - middle) ** 2 for x in values]).sqrt()
            if deviation > 0:
                sums = [s + (x - middle) / deviation for s, x in zip(sums, values, strict=True)]
        return sums


def principal_components(points):
    """For each record its first principal component, by squaring the covariance matrix; largest component positive."""
    with localcontext(prec=50):
        columns = []
        for column in zip(*points, strict=True):
            values = [Decimal(x) for x in column]
            middle = mean(values)
            columns.append([x - middle for x in values])
        d = len(columns)
        matrix = [[sum(a * b for a, b in zip(columns[i], columns[j], strict=True)) for j in range(d)] for i in range(d)]
        for _ in range(40):  # the power 2⁴⁰: only the first component remains
            largest = max(abs(x) for row in matrix for x in row)
            matrix = [[x / largest for x in row] for row in matrix]
            matrix = [[sum(matrix[i][m] * matrix[m][j] for m in range(d)) for j in range(d)] for i in range(d)]
        axis = max(zip(*matrix, strict=True), key=lambda column: sum(x * x for x in column))
        length = sum(x * x for x in axis).sqrt()
        axis = [x / length for x in axis]
        if max(axis, key=abs) < 0:
            axis = [-x for x in axis]
        return [sum(a * column[row] for a, column in zip(axis, columns, strict=True)) for row in range(len(points))]


def sse(points):
    """The exact SSE of one class over all coordinates."""
    total = Fraction(0)
    for column in zip(*points, strict=True):
        values = [Fraction(x) for x in column]
        total += sum((x - mean(values)) ** 2 for x in values)
    return total


def cuts(n, k):
    """Every way to cut n records in a row into runs of at least k: the sizes, from the first to the last."""
    if n == 0:
        yield []
    for last in range(k, n + 1):
        for before in cuts(n - last, k):
            yield [*before, last]


def projected(points, k, places):
    """Labels: sort the records by their places, then the cut with the least SSE over all attributes."""
    order = sorted(range(len(points)), key=lambda row: (places[row], row))

    def cost(sizes):
        total, begin = Fraction(0), 0
        for size in sizes:
            total += sse([points[row] for row in order[begin : begin + size]])
            begin += size
        return total

    labels, begin = [0] * len(points), 0
    for label, size in enumerate(min(cuts(len(points), k), key=cost)):
        for row in order[begin : begin + size]:
            labels[row] = label
        begin += size
    return labels
