"""Changes of means, variances, correlations and quantiles, written down from their definitions."""

from __future__ import annotations

from math import fsum, isnan, sqrt


def there(before, after):
    """The pairs of values without a missing one."""
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if not (isnan(x) or isnan(y))]
    return [x for x, _ in pairs], [y for _, y in pairs]


def mean(values):
    return fsum(values) / len(values)


def variance(values):
    return mean([(x - mean(values)) ** 2 for x in values])


def spread(values):
    return sqrt(variance(values)) if len(set(values)) > 1 else 1.0


def quantile(values, percent):
    """The lowest value that at least `percent` per cent do not exceed."""
    return min(v for v in values if 100 * sum(x <= v for x in values) >= percent * len(values))


def correlation(x, y):
    if len(set(x)) <= 1 or len(set(y)) <= 1:
        return 0.0
    product = mean([(a - mean(x)) * (b - mean(y)) for a, b in zip(x, y, strict=True)])
    return product / sqrt(variance(x) * variance(y))
