"""[DS17] Algorithm 1, transcribed, with what shoal does where b does not divide n. Obviously right, and slow."""

import importlib.util
import math
from fractions import Fraction
from pathlib import Path

_spec = importlib.util.spec_from_file_location("oracle_mdav_of_steered", Path(__file__).parent / "mdav.py")
_oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_oracle)


def normalised(points):
    """Step 1: every attribute from 0 to 1."""
    columns = []
    for column in zip(*points, strict=True):
        low, high = min(column), max(column)
        columns.append([(x - low) / (high - low) if high > low else 0.0 for x in column])
    return [list(row) for row in zip(*columns, strict=True)]


def bucket_count(n, k, t):
    """Step 2: eq. (2)."""
    return max(k, math.ceil(Fraction(n) / (2 * (n - 1) * Fraction(str(t)) + 1)))


def _apart(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a - b) * (a - b)
    return total


def bucket_attribute(points, codes, b):
    """Steps 3 to 6: the number of each record, the partner of each spare one (or None), and b.

    Buckets have q = ⌊n/b⌋ records, and there are ⌊n/q⌋ of them. The remaining records, in the middle of the order, is
    matched with the middle bucket.
    """
    n = len(points)
    q = n // b
    b = n // q
    order = sorted(range(n), key=lambda row: (codes[row], row))
    spare = order[b * q // 2 : b * q // 2 + n - b * q]
    rest = [row for row in order if row not in spare]
    buckets = [rest[j * q : (j + 1) * q] for j in range(b)]
    number, partner = [None] * n, [None] * n
    for i, row in enumerate(buckets[0]):  # step 5
        number[row] = i
    for j in range(1, b):  # step 6
        free = list(buckets[j - 1])
        for row in buckets[j]:
            nearest = min(free, key=lambda other: (_apart(points[other], points[row]), other))
            number[row] = number[nearest]
            free.remove(nearest)
    free = list(buckets[(b - 1) // 2])
    for row in spare:
        partner[row] = min(free, key=lambda other: (_apart(points[other], points[row]), other))
        number[row] = number[partner[row]]
        free.remove(partner[row])
    return number, partner, b


def steered(points, codes, k, t, weight):
    """Steps 1 to 8: the class of every record, with MDAV as the method, without repair."""
    points = normalised(points)
    number, partner, b = bucket_attribute(points, codes, bucket_count(len(points), k, t))
    last = max(max(number), 1)
    inside = [row for row in range(len(points)) if partner[row] is None]
    found = _oracle.mdav([[*points[row], weight * (number[row] / last)] for row in inside], b)
    labels = dict(zip(inside, found.tolist(), strict=True))
    classes = [labels[row if partner[row] is None else partner[row]] for row in range(len(points))]
    first = list(dict.fromkeys(classes))
    return [first.index(label) for label in classes]
