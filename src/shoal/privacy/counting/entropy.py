"""Entropies of classes, compared exactly.

With counts nᵢ that add up to s, exp(entropy) ≥ l means s^s ≥ l^s · Π nᵢ^nᵢ. Floats decide where the two sides are far
apart. Where they are not, both are products of powers of integers: whether they are equal is found by common factors,
and if they are not, logarithms of more and more digits tell in the end which one is larger.
"""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counting.histograms import Uneven

_DIGITS = 40
Counts = tuple[int, ...]  #: how often the values of a class occur, descending


def entropies(some: Uneven) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the entropy of each class in floats, and how far it may be off."""
    few = int(some.counts.max(initial=0)) + 1
    if few <= len(some.counts):  # few different counts: a logarithm for each
        terms = np.arange(few) * np.log(np.maximum(np.arange(few), 1))
        terms = terms[some.counts]
    else:
        terms = some.counts * np.log(some.counts)
    logs = np.log(some.sizes)
    means = np.add.reduceat(terms, some.begins) / some.sizes
    # a sum of m terms is off by m roundings of it at most; logarithms by a few of theirs
    return logs - means, (some.distinct + 8) * 2.3e-16 * (logs + means)


def kinds(some: Uneven, which: NDArray[np.int64]) -> set[Counts]:
    """Return the different counts that some classes have."""
    found: set[Counts] = set()
    for m in np.unique(some.distinct[which]).tolist():
        begins = some.begins[which[some.distinct[which] == m]]
        base = int(some.counts[begins].max()) + 1
        if m * base.bit_length() <= 62:  # then the counts of a class are the digits of one number
            keys = np.zeros(len(begins), np.int64)
            for j in range(m):
                keys = keys * base + some.counts[begins + j]
            begins = begins[np.unique(keys, return_index=True)[1]]
        found.update(tuple(some.counts[b : b + m].tolist()) for b in begins.tolist())
    return found


def effective(counts: Counts) -> Decimal:
    """Return exp(entropy) of a class to forty digits.

    >>> effective((1, 1, 1))
    Decimal('3.000000000000000000000000000000000000000')
    """
    context = Context(prec=_DIGITS + 20)
    found = context.exp(context.divide(_logarithm(_powers(counts), context), Decimal(sum(counts))))
    return Context(prec=_DIGITS).plus(found)


def at_least(counts: Counts, l: Fraction) -> bool:  # noqa: E741
    """Tell whether exp(entropy) of a class is at least l, exactly.

    >>> at_least((2, 1), Fraction(2)), at_least((2, 2), Fraction(2))
    (False, True)
    """
    powers, s = _powers(counts), sum(counts)
    powers.update({l.denominator: s})
    powers.subtract({l.numerator: s})
    if _is_one(powers):
        return True
    digits = _DIGITS
    while True:  # ends: the product is not 1
        context = Context(prec=digits)
        found = _logarithm(powers, context)
        scale = sum((abs(power) * context.ln(Decimal(base)) for base, power in powers.items()), Decimal(0))
        if abs(found) > scale.scaleb(3 - digits + len(str(len(powers)))):
            return found > 0
        digits *= 2


def _powers(counts: Counts) -> Counter[int]:
    """Return s^s / Π nᵢ^nᵢ as powers of integers."""
    powers = Counter({sum(counts): sum(counts)})
    for count, classes in Counter(counts).items():
        powers[count] -= count * classes
    return powers


def _logarithm(powers: Counter[int], context: Context) -> Decimal:
    total = Decimal(0)
    for base, power in powers.items():
        total = context.add(total, context.multiply(Decimal(power), context.ln(Decimal(base))))
    return total


def _is_one(powers: Counter[int]) -> bool:
    """Tell whether a product of powers of integers is 1: with bases that share no factor all powers must be 0."""
    prime_to_each_other: dict[int, int] = {}
    todo = [(base, power) for base, power in powers.items() if base > 1 and power]
    while todo:
        base, power = todo.pop()
        if base == 1:
            continue
        other = next((known for known in prime_to_each_other if gcd(known, base) > 1), None)
        if other is None:
            prime_to_each_other[base] = power
        elif other == base:
            prime_to_each_other[base] += power
        else:
            common, known = gcd(other, base), prime_to_each_other.pop(other)
            todo += [(common, power), (base // common, power), (common, known), (other // common, known)]
    return not any(prime_to_each_other.values())
