"""Median and trimmed mean of a class, transcribed with exact fractions. Obviously right, and slow."""

from fractions import Fraction
from math import floor


def median(values, weights=None):
    """Return the mean of the lower and the upper (weighted) median."""
    pairs = sorted(zip(values, _shares(values, weights), strict=True))
    half = sum(weight for _, weight in pairs) / 2
    lower = next(v for at, (v, _) in enumerate(pairs) if sum(w for _, w in pairs[: at + 1]) >= half)
    upper = next(v for at, (v, _) in reversed(list(enumerate(pairs))) if sum(w for _, w in pairs[at:]) >= half)
    return (Fraction(lower) + Fraction(upper)) / 2


def trimmed_mean(values, trim, weights=None):
    """Return the (weighted) mean without the records whose weights together are at most `trim` of all, at each end."""
    pairs = sorted(zip(values, _shares(values, weights), strict=True))
    limit = Fraction(str(trim)) * sum(weight for _, weight in pairs)
    kept = [
        (value, weight)
        for at, (value, weight) in enumerate(pairs)
        if sum(w for _, w in pairs[: at + 1]) > limit and sum(w for _, w in pairs[at:]) > limit
    ]
    if weights is None:
        cut = floor(Fraction(str(trim)) * len(values))
        assert kept == pairs[cut : len(pairs) - cut]  # the textbook's definition
    return sum(Fraction(value) * weight for value, weight in kept) / sum(weight for _, weight in kept)


def _shares(values, weights):
    if weights is None or not any(weights):
        return [Fraction(1)] * len(values)
    return [Fraction(weight) for weight in weights]
