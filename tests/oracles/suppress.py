"""Suppression, as written: costs from all pairs of records, and people dropped from the top of a sorted list."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import groupby


def cost(i: int, points: list[list[float]], people: list[int], strata: list[int], k: int) -> float:
    """Return the cost of a record: its k - 1 nearest records of other people in the same stratum."""
    if len({who for who, where in zip(people, strata, strict=True) if where == strata[i]}) < k:
        return math.inf
    others = [j for j in range(len(points)) if people[j] != people[i] and strata[j] == strata[i]]
    return sum(sorted(math.dist(points[i], points[j]) ** 2 for j in others)[: k - 1]) / k


def dropped(
    points: list[list[float]], people: list[int], strata: list[int], k: int, share: float, digits: int = 9
) -> set[int]:
    """Return the people who are dropped."""
    of: dict[int, list[int]] = defaultdict(list)
    for row, who in enumerate(people):
        of[who].append(row)
    costs = {who: sum(cost(row, points, people, strata, k) for row in rows) / len(rows) for who, rows in of.items()}
    ranked = sorted((who for who in of if costs[who] > 0), key=lambda who: -costs[who])
    most, most_records = math.floor(share * len(of) + 1e-9), math.floor(share * len(people) + 1e-9)
    homes = {s: {people[row] for row in range(len(people)) if strata[row] == s} for s in set(strata)}
    small = {s for s, inside in homes.items() if len(inside) < k}
    gone: set[int] = set()
    for _, some in groupby(ranked, key=lambda who: round(costs[who], digits)):
        now = gone | set(some)
        if len(now) > most or sum(len(of[who]) for who in now) > most_records:
            continue
        if any(len(inside - now) < k for s, inside in homes.items() if s not in small):
            continue
        gone = now
    return gone
