"""Worlds: all assignments of the values of each class to its members, and what they say about single links.

A world is *consistent* if the method, run on it, would have given the same release. All consistent worlds are equally
likely to someone who knows nothing else, so the probability of a link is the share of consistent worlds that have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def members_of(labels: Ints) -> list[Ints]:
    """Return the rows of every class, ascending; labels are numbered from 0."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def number_of_worlds(labels: Ints, codes: Ints) -> int:
    """Return the number of different assignments of values to members, exactly.

    >>> number_of_worlds(np.array([0, 0, 0, 1, 1]), np.array([7, 7, 8, 1, 2]))
    6
    """
    found = 1
    for rows in members_of(labels):
        found *= math.factorial(len(rows))
        for count in np.unique(codes[rows], return_counts=True)[1]:
            found //= math.factorial(int(count))
    return found


def worlds(labels: Ints, codes: Ints) -> Iterator[Ints]:
    """Yield the code of every row in every world; the array is reused.

    >>> [world.tolist() for world in worlds(np.array([0, 0, 1, 1]), np.array([5, 6, 7, 7]))]
    [[5, 6, 7, 7], [6, 5, 7, 7]]
    """
    world = codes.copy()
    yield from _fill(world, [(rows, *np.unique(codes[rows], return_counts=True)) for rows in members_of(labels)], 0, 0)


def _fill(world: Ints, classes: list[tuple[Ints, Ints, Ints]], c: int, place: int) -> Iterator[Ints]:
    if c == len(classes):
        yield world
        return
    rows, values, left = classes[c]
    if place == len(rows):
        yield from _fill(world, classes, c + 1, 0)
        return
    for i in range(len(values)):
        if left[i]:
            left[i] -= 1
            world[rows[place]] = values[i]
            yield from _fill(world, classes, c, place + 1)
            left[i] += 1


def link_probabilities(labels: Ints, codes: Ints, consistent: Callable[[Ints], bool]) -> Floats:
    """Return for every row i and row j the probability that person i has the value of row j, by enumeration.

    Rows of a class with equal values share their probability: nothing tells them apart.
    """
    n, seen = len(labels), 0
    found = np.zeros((n, n))
    equal = (labels[:, None] == labels) & (codes[:, None] == codes)
    for world in worlds(labels, codes):
        if consistent(world):
            seen += 1
            found += (labels[:, None] == labels) & (world[:, None] == codes)
    return np.asarray(found / max(seen, 1) / equal.sum(axis=0))


def right_guesses(probabilities: Floats) -> float:
    """Return how often the most probable link is the true one, row i for person i; ties are drawn at random.

    >>> right_guesses(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    2.0
    """
    best = probabilities >= probabilities.max(axis=1, keepdims=True) - 1e-12
    return float((np.diag(best) / best.sum(axis=1)).sum())
