"""MDAV-generic on numbers and categories, written with the attributes' own distances. Obviously right, and slow.

A table is a list of attributes, each a tuple: ``("number", values)`` or ``("category", values, taxonomy, weight)``. A
taxonomy gives the groups around each category, from the outermost to the innermost; None: no groups.
"""

import math
from fractions import Fraction

import numpy as np


def _height(taxonomy, group):
    """Steps from the farthest category up to a group."""
    inside = [path for path in taxonomy.values() if path[: len(group)] == group]
    return max(len(path) - len(group) + 1 for path in inside)


def steps_apart(taxonomy, one, other):
    """Height of the lowest common group of two categories."""
    if one == other:
        return 0
    shared = ()
    for a, b in zip(taxonomy[one], taxonomy[other], strict=False):
        if a != b:
            break
        shared = (*shared, a)
    return _height(taxonomy, shared)


class Floats:
    """Distances in float64, summed attribute by attribute."""

    zero = 0.0

    def number(self, a, b):
        return (a - b) * (a - b)

    def mean(self, values):
        return math.fsum(values) / len(values)

    def category(self, steps, of, weight):
        return weight * (steps / of)


class Rationals(Floats):
    """The same distances without any rounding."""

    zero = Fraction(0)

    def number(self, a, b):
        return (Fraction(a) - Fraction(b)) ** 2

    def mean(self, values):
        return sum(map(Fraction, values)) / len(values)

    def category(self, steps, of, weight):
        return Fraction(weight) * Fraction(steps, of)


class Space:
    """Distances between the records of a table, and from the centroid of some of them."""

    def __init__(self, table, arithmetic):
        self.table, self.arithmetic, self.apart = table, arithmetic, {}
        for at, attribute in enumerate(table):
            if attribute[0] == "category":
                _, values, taxonomy, _ = attribute
                tree = taxonomy or dict.fromkeys(values, ())
                known = sorted(set(values))
                steps = {(a, b): steps_apart(tree, a, b) for a in known for b in known}
                self.apart[at] = (steps, _height(tree, ()))

    def between(self, i, j):
        total = self.arithmetic.zero
        for at, attribute in enumerate(self.table):
            values = attribute[1]
            if attribute[0] == "number":
                total += self.arithmetic.number(values[i], values[j])
            else:
                steps, tall = self.apart[at]
                total += self.arithmetic.category(steps[values[i], values[j]], tall, attribute[3])
        return total

    def from_centroid(self, rows):
        """Squared distance of each row from the centroid of all: its mean distance, less half the mean of all pairs."""
        n, found = len(rows), [self.arithmetic.zero] * len(rows)
        for at, attribute in enumerate(self.table):
            values = attribute[1]
            if attribute[0] == "number":
                mean = self.arithmetic.mean([values[i] for i in rows])
                terms = [self.arithmetic.number(values[i], mean) for i in rows]
            else:
                steps, tall = self.apart[at]
                sums = [sum(steps[values[i], values[j]] for j in rows) for i in rows]
                pairs = sum(sums)
                terms = [self.arithmetic.category(2 * n * s - pairs, 2 * tall * n * n, attribute[3]) for s in sums]
            found = [one + term for one, term in zip(found, terms, strict=True)]
        return found


class Mdav:
    """MDAV-generic; counts the decisions in which another space would have chosen other records."""

    def __init__(self, table, k, check=None):
        self.space, self.k = Space(table, Floats()), k
        self.check = Space(table, check) if check else None
        self.rounded = 0
        self.remaining = list(range(len(table[0][1])))
        self.classes = []

    def farthest(self, measure):
        def chosen(space):
            distances = measure(space)
            return min(range(len(distances)), key=lambda at: (-distances[at], self.remaining[at]))

        at = chosen(self.space)
        self.rounded += self.check is not None and chosen(self.check) != at
        return self.remaining[at]

    def class_around(self, r):
        others = [i for i in self.remaining if i != r]

        def nearest(space):
            return sorted(others, key=lambda i: (space.between(r, i), i))[: self.k - 1]

        near = nearest(self.space)
        self.rounded += self.check is not None and set(nearest(self.check)) != set(near)
        self.classes.append([r, *near])
        self.remaining = [i for i in self.remaining if i not in self.classes[-1]]

    def labels(self):
        n, k = len(self.remaining), self.k
        while len(self.remaining) >= 2 * k:
            pair = len(self.remaining) >= 3 * k
            r = self.farthest(lambda space: space.from_centroid(self.remaining))
            self.class_around(r)
            if pair:
                self.class_around(self.farthest(lambda space, r=r: [space.between(r, i) for i in self.remaining]))
        if self.remaining:
            self.classes.append(self.remaining)
        labels = np.full(n, -1, dtype=np.int64)
        for label, members in enumerate(self.classes):
            labels[members] = label
        return labels


def mdav(table, k):
    """Labels of MDAV-generic, classes numbered in the order they are formed."""
    return Mdav(table, k).labels()


def decided_by_rounding(table, k):
    """Number of decisions that exact arithmetic would have made otherwise."""
    run = Mdav(table, k, Rationals())
    run.labels()
    return run.rounded
