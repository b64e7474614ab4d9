"""p-sensitivity, l-diversity, (α,k), β-likeness and (k,e) from their definitions, in fractions. Right, and slow.

A table is a list of rows, each a dictionary. A missing value is None, and a value as any other.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction


def classes(rows: list[dict], quasi: list[str], confidential: str) -> list[list]:
    """The confidential values of each class, classes in order of their first rows."""
    found: dict[tuple, list] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in quasi), []).append(row[confidential])
    return list(found.values())


def distinct(values: list) -> int:
    """How many different values there are."""
    return len(set(values))


def effective(values: list) -> Decimal:
    """exp(entropy), to eighty digits."""
    with localcontext() as context:
        context.prec = 80
        shares = [Decimal(count) / len(values) for count in Counter(values).values()]
        return (-sum(share * share.ln() for share in shares)).exp()


def entropy_holds(values: list, l: Fraction) -> bool:  # noqa: E741
    """−Σ p log p ≥ log l, that is Π p^p ≤ 1/l, that is l^s · Π n^n ≤ s^s."""
    s, product = len(values), Fraction(1)
    for count in Counter(values).values():
        product *= count**count
    return product * l**s <= s**s


def recursive_holds(values: list, c: Fraction, l: int) -> bool:  # noqa: E741
    """r₁ < c · (r_l + r_{l+1} + … + r_m)."""
    r = sorted(Counter(values).values(), reverse=True)
    return r[0] < c * sum(r[l - 1 :])


def recursive(values: list, c: Fraction) -> int:
    """The largest l that holds; 0 if none does."""
    return max((i for i in range(1, len(values) + 1) if recursive_holds(values, c, i)), default=0)


def share(values: list) -> Fraction:
    """The share of the commonest value."""
    return Fraction(max(Counter(values).values()), len(values))


def gain(values: list, table: list) -> Fraction:
    """β of [CK12]: the largest (q − p)/p of a value whose share q of the class is above its share p of the table."""
    inside, outside = Counter(values), Counter(table)
    found = [Fraction(0)]
    for value, count in inside.items():
        q, p = Fraction(count, len(values)), Fraction(outside[value], len(table))
        if q > p:
            found.append((q - p) / p)
    return max(found)


def beyond_logarithm(values: list, table: list) -> bool:
    """Tell whether a value gains more than −ln p, the limit of enhanced β-likeness."""
    with localcontext() as context:
        context.prec = 80
        for value, count in Counter(values).items():
            p = Decimal(table.count(value)) / len(table)
            if Decimal(count) / len(values) / p - 1 > -p.ln():
                return True
    return False


def reach(numbers: list[Fraction | None]) -> Fraction:
    """Largest less smallest of those that have a place; 0 if no value is left."""
    there = [number for number in numbers if number is not None]
    return max(there) - min(there) if there else Fraction(0)
