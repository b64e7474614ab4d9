"""Whether one class holds a demand: for the few cases in which no kernel has looked at it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from shoal.types.stream import Demand

_HAIR = 1e-11  # entropies that are so near to what is demanded do not hold


def held(demand: Demand, codes: Sequence[int], base: Sequence[int]) -> bool:
    """Tell whether a class with these codes holds a demand.

    >>> held(Demand("entropy_l_diversity", "ill", (("l", 2),)), [1, 1, 2, 2], ())
    True
    """
    counts = sorted(Counter(codes).values(), reverse=True)
    if demand.model == "t_closeness":
        return _close(demand, codes, base)
    if demand.model == "recursive_l_diversity":
        tail = sum(counts[max(math.ceil(demand.level("l")), 1) - 1 :])
        return counts[0] < Fraction(str(demand.level("c"))) * tail
    if demand.model == "entropy_l_diversity":
        asked, s = Fraction(str(demand.level("l"))), len(codes)
        if counts[0] == counts[-1]:
            return len(counts) >= asked
        entropy = math.log(s) - sum(n * math.log(n) for n in counts) / s
        return entropy > math.log(asked) * (1 + _HAIR) + _HAIR
    return len(counts) >= demand.levels[0][1]


def _close(demand: Demand, codes: Sequence[int], base: Sequence[int]) -> bool:
    n, s, mine, work, running = sum(base), len(codes), Counter(codes), 0, 0
    for u, theirs in enumerate(base):
        off = n * mine[u] - s * theirs
        running += off
        work += abs(running) if demand.ordered else abs(off)
    return work <= Fraction(str(demand.level("t"))) * n * s * (len(base) - 1 if demand.ordered else 2)
