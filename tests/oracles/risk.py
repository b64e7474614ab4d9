"""Measures of risk, transcribed over plain lists. Obviously right, and slow."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from statistics import median_low, pstdev


def in_ranks(values, around, x, percent):
    """Whether x lies between the values that are this many percent of ranks below and above `around`."""
    ordered = sorted(values)
    ranks = [rank for rank, value in enumerate(ordered) if value == around]
    reach = int(percent * len(values) // 100)
    low, high = max(ranks[0] - reach, 0), min(ranks[-1] + reach, len(values) - 1)
    return ordered[low] <= x <= ordered[high]


def near_place(originals, y, x, percent):
    """Whether x is one of the originals that equal y, or of this many percent next below or next above it."""
    reach = int(percent * len(originals) // 100)
    below = sorted((value for value in originals if value < y), reverse=True)
    above = sorted(value for value in originals if value > y)
    return x == y or x in below[:reach] or x in above[:reach]


def interval_disclosure(before, after, by, percents, among="original"):
    """Percentage of the values of one attribute within intervals; None is missing."""
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if x is not None and y is not None]
    originals, masked = [x for x, _ in pairs], [y for _, y in pairs]
    shares = []
    for percent in percents:
        if by == "rank" and among == "masked":
            inside = [in_ranks(masked, y, x, percent) for x, y in pairs]
        elif by == "rank":
            inside = [near_place(originals, y, x, percent) for x, y in pairs]
        else:
            inside = [abs(x - y) <= percent / 100 * pstdev(x for x, _ in pairs) for x, y in pairs]
        shares.append(100 * sum(inside) / len(pairs))
    return sum(shares) / len(shares)


def real_anonymity(rows):
    """Records divided by different records."""
    return len(rows) / len(set(rows))


def alone(rows):
    """Percentage of rows that no other equals."""
    counts = Counter(rows)
    return 100 * sum(counts[row] == 1 for row in rows) / len(rows)


def singling_out(rows, size):
    """Percentage of records that are unique, the mean over all sets of this many attributes, and the largest."""
    shares = [
        alone([tuple(row[j] for j in known) for row in rows]) for known in combinations(range(len(rows[0])), size)
    ]
    return sum(shares) / len(shares), max(shares)


def most_frequent(values, classes):
    """Percentage of right guesses of who names the most frequent value of a class."""
    right = 0
    for one in set(classes):
        right += max(Counter(v for v, c in zip(values, classes, strict=True) if c == one).values())
    return 100 * right / len(values)


def near_median(values, classes, percent):
    """Percentage of records within some percent of ranks of the median of their class."""
    medians = {one: median_low(v for v, c in zip(values, classes, strict=True) if c == one) for one in set(classes)}
    right = [in_ranks(values, medians[c], v, percent) for v, c in zip(values, classes, strict=True)]
    return 100 * sum(right) / len(values)


def class_sizes(rows):
    """For each record the number of records equal to it."""
    return [sum(row == other for other in rows) for row in rows]


def minimal_sets(rows, largest):
    """For each record its minimal sample uniques of up to `largest` attributes, by trying every set."""
    width = len(rows[0])
    found = []
    for row in rows:
        sets = []
        for size in range(1, largest + 1):
            for names in combinations(range(width), size):
                alone = sum(all(row[j] == other[j] for j in names) for other in rows) == 1
                if alone and not any(set(one) < set(names) for one in sets):
                    sets.append(names)
        found.append(sets)
    return found


def expected_share(f, p):
    """E(1/F), F negative binomial with f successes of probability p: the sum over all F, term by term."""
    total, chance, size = 0.0, p**f, f
    while chance > 1e-18 or size < f / p:
        total += chance / size
        chance *= (1 - p) * size / (size - f + 1)
        size += 1
    return total
