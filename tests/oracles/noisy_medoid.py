"""The medoid that noise is added to, transcribed in exact fractions: it depends on the class alone."""

from fractions import Fraction


def distance(one, other):
    """Squared distance of two records, each a list of (kind, value): a number from 0 to 1, or a function and a name."""
    total = Fraction(0)
    for (apart, a), (_, b) in zip(one, other, strict=True):
        total += apart(a, b) if apart else (Fraction(a) - Fraction(b)) ** 2
    return total


def medoid(members, tie=Fraction(1, 10**9)):
    """The member of least mean squared distance to all members; of several the one of the lowest values."""
    means = [sum(distance(one, other) for other in members) / len(members) for one in members]
    nearest = [m for m, mean in zip(members, means, strict=True) if mean - min(means) <= tie]
    return min(nearest, key=lambda record: [value for _, value in record])
