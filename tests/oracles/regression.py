"""Least squares by the normal equations in exact fractions, and the overlap of confidence intervals of [KKORS06]."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt


def solved(A, B):
    """A⁻¹B by Gauss's elimination; A must have an inverse."""
    n = len(A)
    rows = [[Fraction(v) for v in (*a, *b)] for a, b in zip(A, B, strict=True)]
    for j in range(n):
        pivot = next(i for i in range(j, n) if rows[i][j] != 0)
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [v / rows[j][j] for v in rows[j]]
        for i in range(n):
            if i != j:
                rows[i] = [v - rows[i][j] * w for v, w in zip(rows[i], rows[j], strict=True)]
    return [row[n:] for row in rows]


def fit(X, y):
    """Coefficients, their standard errors, and R²; X is a list of rows that begin with 1."""
    X, y = [[Fraction(v) for v in row] for row in X], [Fraction(v) for v in y]
    p, n = len(X[0]), len(X)
    cross = [[sum(row[i] * row[j] for row in X) for j in range(p)] for i in range(p)]
    inverse = solved(cross, [[int(i == j) for j in range(p)] for i in range(p)])
    moments = [sum(row[i] * value for row, value in zip(X, y, strict=True)) for i in range(p)]
    b = [sum(inverse[i][j] * moments[j] for j in range(p)) for i in range(p)]
    error = sum((value - sum(v * w for v, w in zip(row, b, strict=True))) ** 2 for row, value in zip(X, y, strict=True))
    total = sum((value - sum(y) / n) ** 2 for value in y)
    errors = [sqrt(error / (n - p) * inverse[j][j]) for j in range(p)]
    return [float(v) for v in b], errors, float(1 - error / total) if total else None


def overlap(b, error, other, other_error):
    """The mean share that two 95 % intervals have in common; 0 if none."""
    half = 1.959963984540054
    low, high = max(b - half * error, other - half * other_error), min(b + half * error, other + half * other_error)
    return max(0.0, ((high - low) / (2 * half * error) + (high - low) / (2 * half * other_error)) / 2)
