"""Constraint propagation: which values of a class each of its members can have, given how the classes were formed.

A *world* assigns the values of every class to its members. Methods that choose members by confidential values leave
traces: `steered` and `t_first` take the nearest of several records, so a world in which another one was nearer would
have given other classes. Every such condition concerns two classes. For each class all orders of its members are listed
(its *domain*); an order that agrees with no order of some other class is struck out, until nothing changes (arc
consistency). The true world is never struck out. Whatever all remaining orders of a class agree on is proven.

Values are numbered by *place*: place i of a class is its i-th smallest value. Rows are in the order of their
coordinates, by which ties between equal values are broken. Where equal values lie in two buckets or subsets, the
attacker cannot tell which is where, and nothing is concluded from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.attack._worlds import members_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LARGEST = 6  #: members of a class whose orders are listed: 720
_MARGIN = 1e-12  # relative; distances that differ by less may be equal


class Conditions(Protocol):
    """Conditions on the values of two classes that follow from how the method formed them."""

    def agree(self, a: int, b: int, of_a: Ints, of_b: Ints) -> Bools:
        """Return which orders of class a agree with which of class b; an order has the row at each place."""


@dataclass
class Classes:
    """Members of each class, and the rank of the value at each place in the whole table."""

    members: list[Ints]  #: rows, ascending
    ranks: list[Ints]  #: ascending; equal values have different ranks
    code: Ints  #: (n,) of each rank: a number that equal values share, ascending

    @classmethod
    def of(cls, labels: Ints, values: Floats) -> Classes:
        """Return the classes of a release, by the class and the value of each row."""
        order = np.argsort(values, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        code = np.cumsum(np.diff(values[order], prepend=values[order][:1]) > 0)
        members = members_of(labels)
        return cls(members, [np.sort(ranks[rows]) for rows in members], code.astype(np.int64))

    def unclear(self, part: Ints) -> Bools:
        """Return for each rank whether equal values lie in different parts of the order."""
        first, last = (np.searchsorted(self.code, self.code, side) for side in ("left", "right"))
        return np.asarray(part[first] != part[last - 1])


def remaining_orders(classes: Classes, conditions: Conditions, known: Mapping[int, int] | None = None) -> list[Ints]:
    """Return for each class the orders of its members that propagation leaves; none are listed for a large class.

    `known` has the codes of values that the attacker knows beforehand, by row.
    """
    domains = [_orders(rows) for rows in classes.members]
    changed = set(range(len(domains)))
    if known:
        changed = set()
        for c, rows in enumerate(classes.members):
            for row in [int(row) for row in rows if int(row) in known]:
                having = (domains[c] == row) & (classes.code[classes.ranks[c]] == known[row])
                domains[c] = domains[c][having.any(axis=1)]
                changed.add(c)
    usable = [c for c, domain in enumerate(domains) if len(domain)]
    while changed:
        now, changed = changed, set()
        for i, a in enumerate(usable):
            for b in usable[i + 1 :]:
                if (a in now or b in now) and (len(domains[a]) > 1 or len(domains[b]) > 1):
                    agree = conditions.agree(a, b, domains[a], domains[b])
                    for c, kept in ((a, agree.any(axis=1)), (b, agree.any(axis=0))):
                        if not kept.all() and kept.any():
                            domains[c] = domains[c][kept]
                            changed.add(c)
    return domains


def _orders(rows: Ints) -> Ints:
    if len(rows) > LARGEST:
        return np.empty((0, len(rows)), np.int64)
    return rows[np.array(list(itertools.permutations(range(len(rows)))), np.int64)]


@dataclass
class Matching:
    """Conditions of `steered`: each record took the nearest record of the bucket below that was still free.

    The record of class a at place `upper` took that at place `lower`; those of all classes that came later were free.
    """

    distances: Floats  #: (n, n) squared
    stages: list[tuple[Ints, Ints, Ints]]  #: for each: places `lower` and `upper` of each class, and its turn; −1: none

    @classmethod
    def of(cls, x: Floats, classes: Classes, buckets: int) -> Matching:
        """Return the conditions for coordinates between 0 and 1 and a number of buckets."""
        n, count = len(x), len(classes.members)
        q = n // buckets
        below, above = buckets * q // 2, n - (buckets * q - buckets * q // 2)
        every = np.arange(n)
        regular = np.where(every < below, every, every - (above - below)) // q
        part = np.where((every >= below) & (every < above), buckets, regular)
        unclear = classes.unclear(part)
        place = np.full((count, buckets + 1), -1, np.int64)
        turn = np.full((count, buckets + 1), n, np.int64)
        for c, ranks in enumerate(classes.ranks):
            whole = np.bincount(part[ranks], minlength=buckets + 1)
            if (whole[:-1] != 1).any() or whole[-1] > 1 or unclear[ranks].any():
                continue  # it was merged, or its chain is not clear
            place[c, part[ranks]] = np.arange(len(ranks))
            turn[c, part[ranks]] = classes.code[ranks]
        stages = [(place[:, at], place[:, at + 1], turn[:, at + 1]) for at in range(buckets - 1)]
        middle = (buckets - 1) // 2
        stages.append((place[:, middle], place[:, buckets], turn[:, buckets]))
        return cls(_squares(x), stages)

    def agree(self, a: int, b: int, of_a: Ints, of_b: Ints) -> Bools:
        """Return which orders agree: in every stage the earlier class left a record that was not nearer."""
        found = np.ones((len(of_a), len(of_b)), np.bool_)
        for lower, upper, turn in self.stages:
            if lower[a] < 0 or lower[b] < 0 or min(turn[a], turn[b]) == len(self.distances):
                continue
            before = self._nearest(of_a, of_b, upper[a], lower[a], lower[b]) if turn[a] <= turn[b] else None
            after = self._nearest(of_b, of_a, upper[b], lower[b], lower[a]) if turn[b] <= turn[a] else None
            if before is None:
                found &= after.T if after is not None else True
            elif after is None:
                found &= before
            else:  # equal values: the lower row comes first
                found &= np.where(of_a[:, [upper[a]]] < of_b[:, upper[b]][None, :], before, after.T)
        return found

    def _nearest(self, mine: Ints, theirs: Ints, upper: int, lower: int, other: int) -> Bools:
        """Return whether the record at place `upper` of one class was not nearer to that of a class that came later."""
        own = self.distances[mine[:, upper], mine[:, lower]]
        free = self.distances[mine[:, upper][:, None], theirs[:, other][None, :]]
        return np.asarray(own[:, None] <= free * (1 + _MARGIN))


@dataclass
class Colouring:
    """Conditions of `t_first`: a class took the nearest of every subset, so nearer records are of other subsets.

    The worlds are the colourings of a graph: rows are joined if they cannot have values of the same subset.
    """

    joined: Bools  #: (n, n)
    subset: list[Ints]  #: of each class: the subset of the value at each place; `count`: not clear
    count: int

    @classmethod
    def of(cls, x: Floats, labels: Ints, classes: Classes, size: int) -> Colouring:
        """Return the conditions for coordinates as the method had them and classes of `size` records."""
        n = len(x)
        subset_of_rank = _subsets(n, size)
        subset_of_rank = np.where(classes.unclear(subset_of_rank), size, subset_of_rank)
        joined = np.zeros((n, n), np.bool_)
        left = np.ones(n, np.bool_)
        classes_left = n // size
        while classes_left > 1:
            seed_from = x[left].mean(axis=0)
            for _ in range(2 if classes_left > 2 else 1):
                rows = np.flatnonzero(left)
                seed = rows[np.argmax(((x[rows] - seed_from) ** 2).sum(axis=1))]
                own = classes.members[labels[seed]]
                if not size <= len(own) <= size + 1:  # classes were merged; from here on the turns are not known
                    return cls(joined, [subset_of_rank[ranks] for ranks in classes.ranks], size)
                left[own] = False
                rows = np.flatnonzero(left)
                far = ((x - x[seed]) ** 2).sum(axis=1)
                joined[np.ix_(own, rows)] = far[rows][None, :] < far[own][:, None] * (1 - _MARGIN)
                seed_from = x[seed]
                classes_left -= 1
        return cls(joined | joined.T, [subset_of_rank[ranks] for ranks in classes.ranks], size)

    def agree(self, a: int, b: int, of_a: Ints, of_b: Ints) -> Bools:
        """Return which orders agree: no two rows that are joined have values of the same subset."""
        one, other = self._coloured(a, of_a), self._coloured(b, of_b)
        rows_a, rows_b = np.sort(of_a[0]), np.sort(of_b[0])
        joined = self.joined[np.ix_(rows_a, rows_b)].astype(np.float32)
        clashes = np.einsum("pir,ij->pjr", one, joined).reshape(len(of_a), -1) @ other.reshape(len(of_b), -1).T
        return np.asarray(clashes < 0.5)

    def _coloured(self, c: int, orders: Ints) -> NDArray[np.float32]:
        """Return for each order and each member, by row, a one at its subset."""
        at = np.argsort(orders, axis=1)  # the place of each member
        return np.eye(self.count + 1, self.count, dtype=np.float32)[self.subset[c][at]]


def _subsets(n: int, size: int) -> Ints:
    """Return the subset of every rank; the central ones take the records that are left over."""
    sizes = np.full(size, n // size)
    sizes[(size - 1) // 2] += (n % size + 1) // 2
    sizes[size // 2] += n % size // 2
    return np.repeat(np.arange(size), sizes)


def _squares(x: Floats) -> Floats:
    found = np.zeros((len(x), len(x)))
    for column in x.T:
        found += (column[:, None] - column[None, :]) ** 2
    return found


def proven(classes: Classes, domains: Sequence[Ints]) -> Ints:
    """Return for each row the code of its value if all remaining orders agree on it; otherwise −1."""
    found = np.full(len(classes.code), -1, np.int64)
    for rows, ranks, domain in zip(classes.members, classes.ranks, domains, strict=True):
        if len(domain):
            having = classes.code[ranks][np.argsort(domain, axis=1)]  # the code of each member, by row
            fixed = (having == having[0]).all(axis=0)
            found[rows[fixed]] = having[0][fixed]
    return found
