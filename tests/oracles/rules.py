"""What a class must hold in each privacy model, from the definitions, in exact fractions and integers.

A class is the list of its codes; `a` is a shoal.types.Confidential, whose counts are those of the whole table. Levels
are taken as written, and so are numbers.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction


def p_sensitivity(inside, a, p):
    """At least p distinct values."""
    return len(set(inside)) >= p


def distinct_l_diversity(inside, a, l):  # noqa: E741
    """At least l distinct values."""
    return len(set(inside)) >= l


def entropy_l_diversity(inside, a, l):  # noqa: E741
    """−Σ (c/s)·log(c/s) ≥ log l, that is s^s ≥ l^s · Π c^c."""
    s, level = len(inside), Fraction(str(l))
    right = level**s
    for count in Counter(inside).values():
        right *= count**count
    return s**s >= right


def recursive_l_diversity(inside, a, c, l):  # noqa: E741
    """r₁ < c·(r_l + r_{l+1} + … + r_m), the counts in descending order."""
    r = sorted(Counter(inside).values(), reverse=True)
    return r[0] < Fraction(str(c)) * sum(r[l - 1 :])


def alpha_k(inside, a, alpha):
    """The share of the commonest value is at most α."""
    return Fraction(max(Counter(inside).values()), len(inside)) <= Fraction(str(alpha))


def beta_likeness(inside, a, beta):
    """(q − p)/p ≤ β for every value, of its share q of the class and p of the table."""
    counts = a.counts.tolist()
    shares = {code: Fraction(count, len(inside)) for code, count in Counter(inside).items()}
    return all((q * sum(counts) / counts[code] - 1) <= Fraction(str(beta)) for code, q in shares.items())


def k_e(inside, a, e):
    """The largest number less the smallest is at least e; what is missing has no place."""
    numbers = [written(a.values[code]) for code in inside if a.values[code] == a.values[code]]
    return (max(numbers) - min(numbers) if numbers else 0) >= Fraction(str(e))


def t_closeness(inside, a, t, emd):
    """Earth mover's distance from the table at most t; `emd` is the oracle of that name."""
    table = [code for code, count in enumerate(a.counts.tolist()) for _ in range(count)]
    if a.parents is not None:
        return emd.hierarchical(inside, table, a.parents.tolist()) <= Fraction(str(t))
    return (emd.ordered if a.ordered else emd.equal)(inside, table) <= Fraction(str(t))


def kpqr(inside, a, p, q, r):
    """With a value whose share of the table is below q: p distinct values, and r of the table's variance."""
    counts = a.counts.tolist()
    if not any(Fraction(counts[code], sum(counts)) < Fraction(str(q)) for code in inside):
        return True
    table = [code for code, count in enumerate(counts) for _ in range(count)]
    whole = variance(table, a)
    ratio = variance(inside, a) / whole if whole else Fraction(1)
    return len(set(inside)) >= p and ratio >= Fraction(str(r))


def variance(codes, a):
    """Half the mean squared distance between two records; the squared distance between leaves is the path's length."""
    if a.ordered and a.values is not None:
        return _of_numbers([written(a.values[code]) for code in codes if a.values[code] == a.values[code]])
    if a.ordered:
        return _of_numbers([Fraction(code) for code in codes])
    s, count = len(codes), Counter(codes)
    pairs = sum(count[v] * count[w] * apart(a, v, w) for v in count for w in count)
    return Fraction(pairs) / (2 * s * s)


def _of_numbers(numbers):
    if not numbers:
        return Fraction(0)
    mean = sum(numbers) / len(numbers)
    return sum((x - mean) ** 2 for x in numbers) / len(numbers)


def apart(a, v, w):
    """Twice the height of the lowest common ancestor: the path up and down a tree all of whose leaves are at 0."""
    if v == w:
        return 0
    if a.parents is None:
        return 2
    parents, root = a.parents.tolist(), len(a.parents)
    above = [root if parent < 0 else parent for parent in parents]

    def height(node):
        return max((1 + height(child) for child, parent in enumerate(above) if parent == node), default=0)

    def way(node):
        return [node, *way(above[node])] if node != root else [node]

    common = next(node for node in way(v) if node in way(w))
    return 2 * height(common)


def written(x):
    """A number as it is written."""
    return Fraction(repr(float(x)))
