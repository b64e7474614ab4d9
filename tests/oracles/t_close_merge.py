"""Merging of classes until all are close to the table, transcribed. Obviously right, and slow.

[SC15] Algorithm 1. A class is farthest by the greatest of its earth mover's distances, as float64; of several the one
with the lowest row. Its neighbour is the class with the nearest mean; of several the one with the lowest row. The sum
of a class is that of its records in the order of rows; of a merged one, the sum of two sums.
"""

import importlib.util
import math
from fractions import Fraction
from pathlib import Path

_spec = importlib.util.spec_from_file_location("oracle_emd", Path(__file__).with_name("earth_mover.py"))
emd = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(emd)


def scaled(points):
    """Points whose squares neither overflow nor vanish."""
    largest = max(abs(x) for row in points for x in row)
    if largest == 0 or 2.0**-500 <= largest <= 2.0**500:
        return points
    exponent = math.frexp(largest)[1]
    return [[math.ldexp(x, -exponent) for x in row] for row in points]


def distances(rows, attributes):
    """The distance of a class from the table in each confidential attribute, as fractions."""
    found = []
    for a in attributes:
        inside = [int(a.codes[row]) for row in rows]
        table = [value for value, count in enumerate(a.counts.tolist()) for _ in range(count)]
        if a.parents is not None:
            found.append(emd.hierarchical(inside, table, a.parents.tolist()))
        else:
            found.append((emd.ordered if a.ordered else emd.equal)(inside, table))
    return found


def _apart(a, b):
    total = 0.0
    for x, y in zip(a["sum"], b["sum"], strict=True):
        gap = y / b["size"] - x / a["size"]
        total += gap * gap
    return total


def _joined(a, b):
    return {
        "rows": sorted(a["rows"] + b["rows"]),
        "size": a["size"] + b["size"],
        "sum": [x + y for x, y in zip(a["sum"], b["sum"], strict=True)],
    }


def t_close_merge(points, labels, attributes, t):
    """Labels after merging, classes numbered by their first rows."""
    points = scaled([[float(x) for x in row] for row in points])
    classes = {}
    for row, label in enumerate(labels):
        one = {"rows": [row], "size": 1, "sum": points[row]}
        classes[label] = _joined(classes[label], one) if label in classes else one
    classes = sorted(classes.values(), key=lambda c: c["rows"][0])
    far = [max(distances(c["rows"], attributes)) for c in classes]
    while len(classes) > 1:
        # [SC15] Alg. 1: C = cluster with the greatest EMD to X
        wrong = [i for i in range(len(classes)) if far[i] > Fraction(str(t))]
        if not wrong:
            break
        i = max(wrong, key=lambda i: (float(far[i]), -i))
        # C' = cluster closest to C in terms of QIs
        others = [j for j in range(len(classes)) if j != i]
        j = min(others, key=lambda j: (_apart(classes[i], classes[j]), j))
        merged = _joined(classes[min(i, j)], classes[max(i, j)])
        classes[min(i, j)] = merged  # which keeps the lower first row
        far[min(i, j)] = max(distances(merged["rows"], attributes))
        del classes[max(i, j)], far[max(i, j)]
    found = [0] * len(points)
    for number, c in enumerate(classes):
        for row in c["rows"]:
            found[row] = number
    return found
