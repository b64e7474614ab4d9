"""Whether a class of a stream holds a demand, and by how much it misses it: from the definitions, in fractions."""

import math
from collections import Counter
from fractions import Fraction


def holds(demand, codes, base):
    """Exactly, by the definition of the model."""
    counts = sorted(Counter(codes).values(), reverse=True)
    s, level = len(codes), {name: Fraction(str(value)) for name, value in demand.levels}
    if demand.model in ("p_sensitivity", "distinct_l_diversity"):
        return len(counts) >= next(iter(level.values()))
    if demand.model == "recursive_l_diversity":
        return counts[0] < level["c"] * sum(counts[math.ceil(level["l"]) - 1 :])
    if demand.model == "entropy_l_diversity":  # s^s ≥ l^s · Π n^n, to the power of the denominator of nothing: exact
        right = level["l"] ** s
        for n in counts:
            right *= n**n
        return s**s >= right
    return distance(codes, base, demand.ordered) <= level["t"]


def distance(codes, base, ordered):
    """The earth mover's distance of a class from the counts of a base."""
    n, s, m, mine = sum(base), len(codes), len(base), Counter(codes)
    if n == 0:
        return Fraction(0)
    differences = [Fraction(mine[u], s) - Fraction(base[u], n) for u in range(m)]
    if not ordered:
        return sum((abs(x) for x in differences), Fraction(0)) / 2
    if m == 1:
        return Fraction(0)
    total, running = Fraction(0), Fraction(0)
    for x in differences[:-1]:
        running += x
        total += abs(running)
    return total / (m - 1)


def excess(demand, codes, base):
    """What a class lacks, in floats as the kernel has them; 0 if it holds."""
    counts = sorted(Counter(codes).values(), reverse=True)
    s, level = len(codes), {name: Fraction(str(value)) for name, value in demand.levels}
    if demand.model in ("p_sensitivity", "distinct_l_diversity"):
        return float(max(math.ceil(next(iter(level.values()))) - len(counts), 0))
    if demand.model == "recursive_l_diversity":
        c = level["c"]
        tail = sum(counts[math.ceil(level["l"]) - 1 :])
        return max(c.denominator * counts[0] - c.numerator * tail + 1, 0) / c.denominator
    if demand.model == "entropy_l_diversity":
        if counts[0] == counts[-1] and len(counts) >= level["l"]:
            return 0.0
        held = s * math.log(s)
        for n in counts:
            held -= n * math.log(n)
        asked = s * math.log(level["l"].numerator / level["l"].denominator)
        return max(asked + 1e-11 * asked + 1e-11 - held, 0.0) / s
    t, n, scale = level["t"], sum(base), len(base) - 1 if demand.ordered else 2
    if n == 0 or scale == 0:
        return 0.0
    work = distance(codes, base, demand.ordered) * n * s * scale
    over = max(t.denominator * work - t.numerator * n * s * scale, 0)
    assert Fraction(over).denominator == 1
    return int(over) / (float(t.denominator) * n * scale * s)
