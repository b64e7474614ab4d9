"""The expected error of a class released as its mean with Laplace noise, clipped: integrated, not solved."""

import math


def laplace_quantile(u, scale):
    """Where Laplace noise lies with probability u below it."""
    return scale * math.log(2 * u) if u < 0.5 else -scale * math.log(2 * (1 - u))


def expected_of_class(members, low, high, scale, steps=20_000):
    """Mean over the noise of the squared errors of all members, added up: by the midpoint rule over its quantiles."""
    clamped = [min(max(x, low), high) for x in members]
    mean = sum(clamped) / len(clamped)
    total = 0.0
    for step in range(steps):
        leaves = min(max(mean + laplace_quantile((step + 0.5) / steps, scale), low), high)
        total += sum((x - leaves) ** 2 for x in members)
    return total / steps


def microaggregated_of_class(members, low, high):
    """Squared errors without noise."""
    clamped = [min(max(x, low), high) for x in members]
    mean = sum(clamped) / len(clamped)
    return sum((x - mean) ** 2 for x in members)
