"""The earth mover's distance between a class and the table, from its definitions, in exact fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction


def ordered(inside: list[int], table: list[int]) -> Fraction:
    """[SC15] eq. (1), bins are the distinct values: 1/(m−1) · Σᵢ |Σⱼ≤ᵢ pⱼ − qⱼ|."""
    values = sorted(set(table))
    p, q = Counter(inside), Counter(table)
    total, running = Fraction(0), Fraction(0)
    for value in values:
        running += Fraction(p[value], len(inside)) - Fraction(q[value], len(table))
        total += abs(running)
    return total / (len(values) - 1) if len(values) > 1 else Fraction(0)


def equal(inside: list[int], table: list[int]) -> Fraction:
    """[LLV07] equal distance: ½ · Σᵢ |pᵢ − qᵢ|."""
    p, q = Counter(inside), Counter(table)
    return sum((abs(Fraction(p[v], len(inside)) - Fraction(q[v], len(table))) for v in q), Fraction(0)) / 2


def hierarchical(inside: list[int], table: list[int], parents: list[int]) -> Fraction:
    """[LLV07] hierarchical distance: Σ over inner nodes N: height(N)/H · min(pos_extra(N), neg_extra(N)).

    `parents` is as in shoal.types.Confidential: for each value, then each inner node, the node above; −1 is the root.
    """
    p, q = Counter(inside), Counter(table)
    root = len(parents)
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(root if parent < 0 else parent, []).append(node)

    def height(node: int) -> int:
        return 1 + max(height(child) for child in children[node]) if node in children else 0

    def extra(node: int) -> Fraction:
        if node in children:
            return sum((extra(child) for child in children[node]), Fraction(0))
        return Fraction(p[node], len(inside)) - Fraction(q[node], len(table))

    total = Fraction(0)
    for node, below in children.items():
        positive = sum((max(extra(child), Fraction(0)) for child in below), Fraction(0))
        negative = sum((max(-extra(child), Fraction(0)) for child in below), Fraction(0))
        total += Fraction(height(node), height(root)) * min(positive, negative)
    return total
