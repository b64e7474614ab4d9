"""Atoms: classes formed from quasi-identifiers alone, which other steps unite but never split.

A partition obeys the exchange rule if members of an atom can exchange their confidential values, or their rows, and
every class stays the same set of rows.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal import secret
from shoal.types import Coded, Points, changes, sort_keys

_CANDIDATES = 8  # nearest classes among which a failing class finds one that is free to merge


class Choice(NamedTuple):
    """A secret choice among several partitions."""

    among: int  #: number of partitions to find; 1: the best, and nothing is drawn
    key: bytes | None = None  #: the key of an earlier run that is repeated

    def number(self, count: int, seed: int) -> int:
        """Return the number of the partition, from 0: each is equally likely to someone who lacks the key.

        >>> Choice(1).number(1, 0), Choice(20, b"key").number(20, 0) == Choice(20, b"key").number(20, 0)
        (0, True)
        """
        if count == 1:
            return 0
        drawn = hashlib.shake_256((self.key or secret.fresh()) + seed.to_bytes(8, "big")).digest(16)
        return int.from_bytes(drawn, "big") % count


def united(
    points: Points,
    labels: NDArray[np.int64],
    k: int,
    t: float | None,
    effort: str,
    seed: int,
    choice: Choice | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make atoms of classes that were formed from quasi-identifiers; unite them until every requirement holds.

    Records may move for requirements on people (k subjects, the share of one person), because a person's column moves
    with the quasi-identifiers. Then equal records are kept together; from there on only whole classes are merged.

    **Guarantee.** Every class is a union of atoms of at least k records, and of at least k subjects where the points
    have subjects. It meets every requirement on the points, and t if given, unless one class holds all records. Classes
    depend on the points' coordinates, on people, and on the multisets of confidential values in atoms.

    Returns
    -------
    labels, atoms
        The class of every record, and its atom.
    """
    from shoal.kernels.models.demands import demands_of
    from shoal.kernels.repair.unite import alternatives, effort_for

    x = points.x
    atoms = with_people(points, labels, k)
    of_values = tuple(one for one in points.required if one.attribute)  # a union of atoms has enough people
    demands = demands_of(replace(points, subjects=None, required=of_values), k, t)
    if demands is None:
        return atoms, atoms
    choice = choice or Choice(1)
    work = effort_for(effort, x, int(atoms.max()) + 1, max(len(points.confidential), 1))
    found = alternatives(x, atoms, demands, work, seed, choice.among)
    return found[choice.number(len(found), seed)], atoms


def with_people(points: Points, labels: NDArray[np.int64], k: int, *, whole: bool = True) -> NDArray[np.int64]:
    """Let every class meet the requirements on people: k subjects, and the share that one person may hold.

    Records may move, because a person's column moves with the quasi-identifiers. With `whole`, equal records are then
    kept in one class.
    """
    from shoal.kernels.models.demands import demands_of, hold
    from shoal.kernels.refine.class_state import numbered
    from shoal.kernels.repair.repair import satisfy

    people = tuple(one for one in points.required if not one.attribute)
    demands = demands_of(replace(points, confidential=(), required=people), k, None)
    if demands is not None and not hold(demands, numbered(labels)).all():
        labels = satisfy(points.x, labels, k, demands)
    atoms = keep_equal_together(points.x, labels, k) if whole else labels
    return atoms if demands is None else merge_failing(points.x, atoms, lambda own: ~hold(demands, own))


def keep_equal_together(x: NDArray[np.float64] | Coded, labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Move all copies of a vector to the class that has most of them; merge classes that are left with fewer than k.

    Otherwise the order of rows would decide which of several equal records is in which class. Ties go to the class
    whose mean comes first, coordinate by coordinate; with coded attributes, whose records do. A class of fewer than k
    records is merged with the class of the nearest mean. Then copies are moved together as long as that lowers the SSE.

    **Guarantee.** Equal records are in the same class. Every class has at least k records if there are that many.
    Classes depend on how many copies of each vector each of the given classes has, not on rows.

    **Complexity.** O(n log n) for n records; O(n) if no vector is in two classes.

    >>> keep_equal_together(np.array([[0.0], [1.0], [1.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1, 1, 1]), 2)
    array([0, 0, 0, 0, 0, 0])
    """
    from shoal.kernels.refine.class_state import numbered
    from shoal.kernels.refine.equal_records import settle

    order = np.lexsort(sort_keys(x)[::-1])
    ordered = x[order]
    vector = np.cumsum(np.concatenate(([False], changes(ordered))))
    own = numbered(labels[order])
    if len(np.unique(vector * len(own) + own)) == vector[-1] + 1:
        return labels
    place = _rank_of_means(ordered, own, vector)
    pairs, counts = np.unique(vector * len(place) + place[own], return_counts=True)
    best = pairs[np.lexsort((pairs, -counts, pairs // len(place)))]  # most copies first, then the lowest place
    first = np.concatenate(([True], np.diff(best // len(place)) > 0))
    moved = (best[first] % len(place))[vector]
    whole = merge_failing(x, _in_rows(moved, order), lambda own: np.bincount(own) < k)
    return numbered(_in_rows(settle(ordered, numbered(whole[order]), k), order))


def merge_failing(
    x: NDArray[np.float64] | Coded,
    labels: NDArray[np.int64],
    fails: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
) -> NDArray[np.int64]:
    """Merge each failing class with the class of the nearest mean, the smallest first, until none fails.

    `fails` tells which classes fail, given labels from 0. One class of all records is returned even if it fails.
    """
    from shoal.kernels.refine.class_state import numbered
    from shoal.kernels.repair.unite import paired
    from shoal.kernels.space.neighbours import neighbours
    from shoal.kernels.space.sparse_means import Centroids

    order = np.lexsort(sort_keys(x)[::-1])
    ordered, own = x[order], numbered(labels[order])
    while own.max() > 0 and len(failing := np.flatnonzero(fails(_in_rows(own, order)))):
        place = _rank_of_means(ordered, own)
        own, failing = place[own], place[failing]
        sizes = np.bincount(own)
        failing = failing[np.lexsort((failing, sizes[failing]))]
        if isinstance(ordered, Coded):
            near = Centroids(ordered, own).near(_CANDIDATES, failing)
        else:
            near = neighbours(_means(ordered, own), _CANDIDATES, failing)
        own = numbered(paired(len(sizes), failing, near)[own])
    return numbered(_in_rows(own, order))


def _in_rows(own: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.empty(len(own), np.int64)
    found[order] = own
    return found


def _means(ordered: NDArray[np.float64], own: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of every class; records are added in the order of their values, whatever their rows."""
    sizes = np.bincount(own)
    return np.column_stack([np.bincount(own, weights=column) / sizes for column in ordered.T])


def _rank_of_means(
    ordered: NDArray[np.float64] | Coded, own: NDArray[np.int64], vector: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return each class's place by its mean; if means are equal, by the vectors of its records where these are given.

    Without vectors, labels must be numbered in the order of the records' values. With coded attributes, vectors alone
    decide.
    """
    if isinstance(ordered, Coded):
        return _rank_of_vectors(own, np.cumsum(np.concatenate(([False], changes(ordered)))))
    means = _means(ordered, own)
    turns = np.lexsort(means.T[::-1])
    equal = (means[turns[1:]] == means[turns[:-1]]).all(axis=1)
    if vector is not None and equal.any():
        group = np.cumsum(np.concatenate(([False], ~equal)))
        tied = np.isin(group, group[1:][equal])
        inside = {int(one): vector[own == one].tolist() for one in turns[tied]}
        keys = [(int(at), inside.get(int(one), [])) for at, one in zip(group, turns, strict=True)]
        turns = turns[sorted(range(len(turns)), key=lambda at: keys[at])]
    place = np.empty(len(turns), np.int64)
    place[turns] = np.arange(len(turns))
    return place


def _rank_of_vectors(own: NDArray[np.int64], vector: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each class's place by the vectors of its records, in ascending order."""
    inside, ends = vector[np.argsort(own, kind="stable")].tolist(), np.cumsum(np.bincount(own)).tolist()
    keys = [inside[begin:end] for begin, end in itertools.pairwise([0, *ends])]
    place = np.empty(len(keys), np.int64)
    place[sorted(range(len(keys)), key=lambda at: keys[at])] = np.arange(len(keys))
    return place
