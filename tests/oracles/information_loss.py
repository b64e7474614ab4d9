"""IL of [N14] section 2.3, written down from its definition. Obviously right, and slow."""

from __future__ import annotations

from math import fsum, sqrt


def mean(values):
    return fsum(values) / len(values)


def covariance(x, y):
    return mean([(a - mean(x)) * (b - mean(y)) for a, b in zip(x, y, strict=True)])


def correlation(x, y):
    if len(set(x)) == 1 or len(set(y)) == 1:
        return 0.0
    return covariance(x, y) / sqrt(covariance(x, x) * covariance(y, y))


def variation(x, other):
    if x == 0:
        return 0.0 if other == 0 else 1.0
    return abs(x - other) / abs(x)


def components(X, Y):
    """The five parts of two files, each a list of columns."""
    p = len(X)
    places = range(p)
    found = {
        "values": mean([variation(x, y) for j in places for x, y in zip(X[j], Y[j], strict=True)]),
        "covariances": mean(
            [variation(covariance(X[i], X[j]), covariance(Y[i], Y[j])) for i in places for j in range(i, p)]
        ),
        "variances": mean([variation(covariance(X[j], X[j]), covariance(Y[j], Y[j])) for j in places]),
        "means": mean([variation(mean(X[j]), mean(Y[j])) for j in places]),
    }
    if p > 1:
        apart = [abs(correlation(X[i], X[j]) - correlation(Y[i], Y[j])) for i in places for j in range(i + 1, p)]
        found["correlations"] = mean(apart)
    return found


def information_loss(X, Y):
    """100 times the mean of what section 2.3 averages: all but the means."""
    return 100 * mean([part for name, part in components(X, Y).items() if name != "means"])
