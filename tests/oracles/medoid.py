"""Medoids, transcribed: of each class the record with the least total squared distance to the class. Slow and exact."""

from fractions import Fraction

TIE = Fraction(1, 10**9)  # of the largest distance to the mean: as near as this is equally near


def medoids(points, labels, weights=None):
    """Return the medoid of each class; of several the lowest by its coordinates, then the lowest row."""
    points = [[Fraction(float(value)) for value in point] for point in points]
    weights = [Fraction(1) if weights is None else Fraction(float(weights[row])) for row in range(len(points))]
    found = []
    for label in range(max(labels) + 1):
        rows = [row for row in range(len(points)) if labels[row] == label]
        mass = {row: weights[row] for row in rows}
        if sum(mass.values()) == 0:
            mass = dict.fromkeys(rows, Fraction(1))
        total = sum(mass.values())

        def squared(one, other):
            return sum((a - b) ** 2 for a, b in zip(points[one], points[other], strict=True))

        # Σ w·d²(x, member) = Σ w·d²(mean, member) + Σ w·d²(x, mean): the added term is the same for all
        mean = [sum(mass[row] * points[row][j] for row in rows) / total for j in range(len(points[0]))]
        around = sum(mass[row] * sum((a - b) ** 2 for a, b in zip(points[row], mean, strict=True)) for row in rows)
        costs = {row: (sum(mass[other] * squared(row, other) for other in rows) - around) / total for row in rows}
        least, most = min(costs.values()), max(costs.values())
        near = [row for row in rows if costs[row] - least <= TIE * most]
        found.append(min(near, key=lambda row: (points[row], row)))
    return found
