"""Unions of atoms that meet all demands, with little loss: exchangeable t-closeness, and the same for other models.

Classes of a partition by quasi-identifiers are the atoms. Several starts (atoms merged until they meet the demands,
atoms dealt by their middle value, every atom on its own) are annealed by :mod:`shoal.kernels.repair.atoms`; the best
classes of all results are recombined.

Guarantee of everything here: which record of an atom has which confidential value is never used. If members of an atom
exchange their confidential values, the result is the same.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.models.demands import Demands, demands_of, excesses, hold
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.refine.reblock import whole_classes
from shoal.kernels.refine.recombine import best_of_pool
from shoal.kernels.refine.refine import recombined
from shoal.kernels.repair.atoms import HOT, Atoms, anneal_atoms, atoms_of, means_of_classes, some_atoms
from shoal.kernels.repair.repair import satisfy
from shoal.kernels.runtime.jit import GoOn, together
from shoal.kernels.space.neighbours import neighbours
from shoal.kernels.space.principal_axes import on_main_axes
from shoal.types import Points

_WHOLE = 6_000  # most atoms annealed as a whole
_BLOCK = 2_000  # atoms in a block of a larger table
_TRIAL = 0.15  # share of the moves with which starts are compared
_QUENCH = 200  # most moves per atom at temperature 0
_COOLER = 0.3  # ratio of a round's initial temperature to that of the round before
_ROOM = 1 << 24  # codes of all classes of an annealing, at most
_LEAST_QUENCH = 10
_CANDIDATES = 8  # nearest classes among which a failing class finds one that is free to merge
_LEAST_ROOM = 256  # records to which a class may grow, at least
_POOLED = 10_000  # classes of all runs up to which the best are chosen by integer programming


class Effort(NamedTuple):
    """Amount of work."""

    runs: int  #: annealings of a table as a whole
    moves: int  #: of each
    per_atom: int  #: and at most this many per atom
    rounds: int  #: rounds of annealing in blocks, for a large table
    in_blocks: int  #: moves per atom in each round
    choice: int  #: number of classes among which the best are chosen at once


EFFORTS = {
    "fast": Effort(1, 250_000, 400, 1, 60, 0),
    "default": Effort(4, 700_000, 4_000, 2, 250, 700),
    "best": Effort(8, 6_000_000, 30_000, 4, 1_500, 3_000),
}


def unite(points: np.ndarray, labels: np.ndarray, d: Demands, effort: Effort, seed: int) -> np.ndarray:
    """Merge whole classes until every class meets all demands, with little loss.

    Guarantee: every class is a union of given classes and meets all demands, unless one class holds all records. The
    labels depend on the coordinates, on the given classes as sets of rows, and on their multisets of confidential
    values.

    Complexity: O(n log n), and O(s) for each move between classes of s records.
    """
    labels = numbered(labels)
    if hold(d, labels).all():
        return labels
    a = atoms_of(on_main_axes(in_range(points)), labels, d)  # in the order of their first rows
    case = _case(a, d)
    start = _merge_failing(case, np.arange(len(a.size)))
    if len(a.size) > 2 and a.heat.any():
        anneal = _as_a_whole if len(a.size) <= _WHOLE else _in_blocks
        start = min((start, anneal(case, start, effort, seed)), key=lambda own: _loss(case, own))
    return numbered(start[labels])


def exchangeable_labels(
    points: Points, labels: np.ndarray, k: int, t: float | None, effort: Effort, seed: int
) -> np.ndarray:
    """Unite classes formed from quasi-identifiers until all requirements on the points hold, t included if given.

    Requirements on people (k subjects, shares of one person) are met first, record by record, for they move with the
    quasi-identifiers; what results are the atoms. Then whole atoms are united.
    """
    people = tuple(one for one in points.required if not one.attribute)
    of_people = demands_of(replace(points, confidential=(), required=people), k, None)
    if of_people is not None and not hold(of_people, numbered(labels)).all():
        labels = satisfy(points.coordinates, labels, k, of_people)
    demands = demands_of(points, k, t)
    return numbered(labels) if demands is None else unite(points.coordinates, labels, demands, effort, seed)


class _Case(NamedTuple):
    """Atoms, and their records with the mean of the atom instead of their own coordinates."""

    a: Atoms
    x: np.ndarray  # (n, d), atom after atom
    atom: np.ndarray  # (n,) atom of each of these records
    d: Demands  # in the same order
    room: int  # records to which a class may grow


def _case(a: Atoms, d: Demands) -> _Case:
    atom = np.repeat(np.arange(len(a.size)), a.size)
    room = min(int(d.c.exact.min()), max(_LEAST_ROOM, _ROOM // a.code.size * len(atom) // len(a.size)))
    room = max(min(room, len(atom)), 2 * int(a.size.max()))
    return _Case(a, np.ascontiguousarray(a.x[atom]), atom, d._replace(c=d.c._replace(codes=a.code)), room)


def _loss(case: _Case, own: np.ndarray) -> float:
    return sse(case.x, own[case.atom])


def _merge_failing(case: _Case, own: np.ndarray) -> np.ndarray:
    """Merge each class that misses a demand, the largest excess first, with the class of the nearest mean; repeat."""
    own = numbered(own)
    while True:
        excess = excesses(case.d, own[case.atom])
        failing = np.flatnonzero(excess > 0.0)
        if len(failing) == 0 or len(excess) == 1:
            return own
        mean = means_of_classes(case.x, own[case.atom])
        near = neighbours(mean, min(_CANDIDATES, len(mean) - 1))
        into, taken = np.arange(len(mean)), np.zeros(len(mean), np.bool_)
        for one in failing[np.argsort(-excess[failing], kind="stable")]:
            free = near[one][~taken[near[one]]]
            if not taken[one] and len(free):
                into[one] = free[0]
                taken[one] = taken[free[0]] = True
        own = numbered(into[own])


def _middles(a: Atoms) -> np.ndarray:
    """Return the mean code of every atom in the first attribute."""
    return np.asarray(np.add.reduceat(a.code[0].astype(np.int64), a.begin[:-1]) / a.size)


def _dealt(case: _Case) -> np.ndarray:
    """Deal atoms, in the order of their mean code, into as many classes as meet the demands, found by bisection."""
    count = len(case.a.size)
    turn = np.empty(count, np.int64)
    turn[np.argsort(_middles(case.a), kind="stable")] = np.arange(count)
    low, high = 1, count
    while low < high:
        middle = (low + high + 1) // 2
        if hold(case.d, (turn % middle)[case.atom]).all():
            low = middle
        else:
            high = middle - 1
    return turn % low


def _small(case: _Case, own: np.ndarray) -> np.ndarray:
    """Deal the atoms of classes with too many records for their room into several classes, by their mean code."""
    size = np.bincount(own, weights=case.a.size)
    if size.max() <= case.room:
        return own
    out, fresh, middle = own.copy(), len(size), _middles(case.a)
    for number in np.flatnonzero(size > case.room):
        inside = np.flatnonzero(own == number)
        inside = inside[np.argsort(middle[inside], kind="stable")]
        turns = np.zeros(len(inside), np.int64)
        while np.bincount(turns, weights=case.a.size[inside]).max() > case.room:
            turns = np.arange(len(inside)) % (int(turns.max()) + 2)
        out[inside] = fresh + turns
        fresh += int(turns.max()) + 1
    return numbered(out)


def _annealed(case: _Case, start: np.ndarray, moves: int, hot: float, seed: int, go_on: GoOn) -> np.ndarray:
    """Anneal once from a start, and merge classes that still miss a demand."""
    quench = min(_QUENCH, max(moves // len(start), _LEAST_QUENCH))
    small = _small(case, numbered(start))
    found = anneal_atoms(case.a, small, case.d, seed, moves, hot=hot, quench=quench, room=case.room, go_on=go_on)
    return _merge_failing(case, found)


def _as_a_whole(case: _Case, merged: np.ndarray, effort: Effort, seed: int) -> np.ndarray:
    """Anneal from the most promising start with several seeds, and recombine the best classes."""
    moves = min(effort.moves, effort.per_atom * len(merged))
    starts = [merged, _dealt(case), np.arange(len(merged))]
    seeds = np.random.default_rng(seed).integers(1 << 60, size=len(starts) + effort.runs).tolist()

    def attempt(item: tuple[np.ndarray, int, int], go_on: GoOn) -> np.ndarray:
        start, seed, some = item
        return _annealed(case, start, some, HOT, seed, go_on)

    few = int(_TRIAL * moves)
    tried, stopped = together(attempt, [(start, seeds.pop(), few) for start in starts])
    best = int(np.argmin([np.inf if one is None else _loss(case, one) for one in tried]))
    found, stopped = ([], True) if stopped else together(attempt, [(starts[best], one, moves) for one in seeds])
    pool = sorted((one for one in (merged, *tried, *found) if one is not None), key=lambda own: _loss(case, own))
    labels = [own[case.atom] for own in pool]
    if effort.choice and not stopped and sum(int(own.max()) + 1 for own in pool) <= _POOLED:
        chosen = best_of_pool(case.x, labels, largest=effort.choice)
    else:
        chosen = recombined(case.x, labels)
    return np.asarray(chosen[case.a.begin[:-1]])


def _in_blocks(case: _Case, merged: np.ndarray, effort: Effort, seed: int) -> np.ndarray:
    """Anneal in blocks of whole classes, and again in blocks cut along other directions."""
    own, seeds, stopped = merged.astype(np.int32), np.random.default_rng(seed), False
    for turn in range(effort.rounds):
        order, bounds = whole_classes(case.a.x, own, int(own.max()) + 1, len(own) // _BLOCK + turn, turn + 1)
        blocks = [np.sort(order[begin:end]) for begin, end in itertools.pairwise(bounds) if end > begin]

        def work(item: tuple[np.ndarray, int], go_on: GoOn, turn: int = turn) -> np.ndarray:
            inside, seed = item
            some, before = _case(some_atoms(case.a, inside), case.d), numbered(own[inside])
            after = _annealed(some, before, effort.in_blocks * len(inside), HOT * _COOLER**turn, seed, go_on)
            return min((before, after), key=lambda labels: _loss(some, labels))

        found, stopped = together(
            work, list(zip(blocks, seeds.integers(1 << 60, size=len(blocks)).tolist(), strict=True))
        )
        fresh = 0
        for inside, part in zip(blocks, found, strict=True):
            own[inside] = fresh + (numbered(own[inside]) if part is None else part)
            fresh = int(own[inside].max()) + 1
        if stopped:
            break
    return numbered(own)
