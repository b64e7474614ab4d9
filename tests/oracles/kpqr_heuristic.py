"""The heuristic of [DSS08] Section 4 for (k,p,q,r)-anonymity, transcribed. Obviously right, and slow.

The letters of steps are those of the paper; where a loop finds no candidate, the decision stands beside it. Variances
are fractions, so that no rounding decides. `table` holds the values of the whole table; the records may be a part of
it.
"""

import importlib.util
from fractions import Fraction
from pathlib import Path


def _oracle(name):
    spec = importlib.util.spec_from_file_location(f"oracle_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain, mdav = _oracle("p_sensitive"), _oracle("mdav").mdav


def variance(values, squared):
    """Half the mean squared distance between two records; missing numbers (None) are left out."""
    values = [value for value in values if value is not None]
    if not values:
        return Fraction(0)
    return sum(squared(a, b) for a in values for b in values) / Fraction(2 * len(values) ** 2)


def numbers(a, b):
    """Squared distance of two numbers, as they are written."""
    return (Fraction(repr(a)) - Fraction(repr(b))) ** 2


def nominal(a, b):
    """Squared distance of two categories, so that the variance is Gini's: 1 - sum of squared shares."""
    return Fraction(2 if a != b else 0)


def taxonomy(parents):
    """Squared distance of two leaves: the number of edges between them."""

    def above(leaf):
        nodes = set()
        while leaf >= 0:
            nodes.add(leaf)
            leaf = parents[leaf]
        return nodes

    return lambda a, b: Fraction(len(above(a) ^ above(b)))


def kpqr(
    points, values, k, p, q, r, order, *, squared=numbers, prefer_variance=False, table=None, same=lambda value: value
):
    """Labels; classes are numbered in the order they are formed. Values are counted as what is the `same`."""
    points = plain.scaled(points)
    table = values if table is None else table
    few = Fraction(str(q)) * len(table)
    rare = {value for value in table if table.count(value) < few}

    def spread(rows):
        return variance([values[row] for row in rows], squared)

    def distinct(rows):
        return {same(values[row]) for row in rows}

    x = set(range(len(points)))  # X
    y = {row for row in x if values[row] in rare}  # 1: Y
    least = Fraction(str(r)) * variance([value for value in table if value in rare], squared)  # 2, 3: MinVar
    classes = []

    def add(row):
        c.append(row)
        x.discard(row)
        y.discard(row)

    def increasing(rows):
        now = spread(c)
        return [row for row in rows if spread([*c, row]) > now]

    while y:  # 4
        c = []  # (a)
        add(next(row for row in order if row in y))  # (b), (c)
        xs = points[c[0]]
        while len(distinct(c)) < p:  # (d)
            new = [row for row in x if same(values[row]) not in distinct(c)]
            found = plain.nearest(points, xs, increasing(new)) if prefer_variance else None
            if found is None:
                found = plain.nearest(points, xs, new)
            if found is None:  # no record brings a new value: the class must do without
                break
            add(found)
        while spread(c) < least:  # (e)
            found = plain.nearest(points, xs, increasing(x))
            if found is None:  # no record increases the variance: the class must do without
                break
            add(found)
        while len(c) < k and x:  # (f)
            found = plain.nearest(points, xs, [row for row in x if spread([*c, row]) >= least])
            if found is None:  # none keeps the variance: k comes first
                found = plain.nearest(points, xs, x)
            add(found)
        if y and (spread(y) < least or len(distinct(y)) < p):  # (g); with Y empty there is nothing to add
            for row in sorted(y):
                add(row)
            kept = [row for row in c if values[row] in rare]
            if spread(c) < least and len(kept) >= k and len(distinct(kept)) >= p:  # iv, unless that undoes k or p
                x.update(set(c) - set(kept))
                c = kept
        classes.append(c)  # (h)
    if classes and len(classes[-1]) < k:  # X ran empty in (f)
        x.update(classes.pop())
    if len(x) >= k:  # 5
        rest = sorted(x)
        labels = mdav([points[row] for row in rest], k).tolist()
        for number in range(max(labels) + 1):
            classes.append([row for row, label in zip(rest, labels, strict=True) if label == number])
    elif x:  # too few for a class of their own
        classes = plain.join_nearest(points, classes, x)
    return plain.labelled(classes, len(points))
