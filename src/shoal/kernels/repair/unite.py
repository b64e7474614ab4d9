"""Unions of atoms that meet all demands, with little loss: exchangeable t-closeness, and the same for other models.

Classes of a partition by quasi-identifiers are the atoms. A table of moderate size starts from atoms dealt by their
mean value into as many classes as meet the demands, and is annealed as a whole by :mod:`shoal.kernels.repair.atoms`;
the best classes of several runs are recombined. A large table starts from atoms merged with their neighbours until they
meet the demands, and is annealed in blocks of whole classes.

Guarantee of everything here: which record of an atom has which confidential value is never used. If members of an atom
exchange their confidential values, the result is the same.
"""

from __future__ import annotations

import heapq
import itertools
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.category_groups import Groups, groups_of
from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.models.demands import Demands, excesses, hold
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.refine.reblock import whole_classes
from shoal.kernels.refine.recombine import best_of_pool
from shoal.kernels.refine.refine import recombined
from shoal.kernels.repair.atoms import (
    HOT,
    Atoms,
    anneal_atoms,
    atoms_of,
    atoms_of_means,
    means_of_classes,
    some_atoms,
    typical_of,
)
from shoal.kernels.runtime.jit import GoOn, together
from shoal.kernels.space.neighbours import neighbours
from shoal.kernels.space.principal_axes import on_main_axes
from shoal.kernels.space.sparse_means import Centroids
from shoal.types.coded import Coded

_WHOLE = 6_000  # most atoms annealed as a whole
_BLOCK = 2_000  # atoms in a block of a larger table
_QUENCH = 200  # most moves per atom at temperature 0
_COOLER = 0.6  # ratio of the initial temperature of a generation, or of a round, to that of the one before
_FEWER = 0.85  # ratio of the moves of a generation to those of the one before
_LEAST_QUENCH = 10
_LEAST_MOVES, _MOST_MOVES = 1_000, 4_500  # moves per atom of one annealing, as far as the effort allows
_PATIENT = 10  # rounds of mergers of two classes each
_CANDIDATES = 8  # nearest classes among which a failing class finds one that is free to merge
_USUAL = 16  # atoms of average size to which a class may grow, or more where the start needs more …
_MOST = 1 << 24  # … as long as all classes of an annealing have at most this many codes
_POOLED = 10_000  # classes of all runs up to which the best are chosen by integer programming
_EXPANDED = 3  # partitions whose changes are tried, for each alternative that is asked for
_CHANGES = 400  # most changes of a partition that are tried
_NEIGHBOURS = 12  # neighbours whose classes an atom may change to


class Effort(NamedTuple):
    """Amount of work."""

    moves: int  #: of a table as a whole, in the first generation of annealings
    runs: int  #: most annealings of a generation
    generations: int  #: how often annealing is repeated, from the best classes so far
    rounds: int  #: rounds of annealing in blocks, for a large table
    in_blocks: int  #: moves per atom in each round
    choice: int  #: number of classes among which the best are chosen at once

    def shared_out(self, atoms: int) -> tuple[int, int]:
        """Return the number of annealings of the first generation, and the moves of each.

        >>> [Effort(3_400_000, 8, 4, 2, 250, 700).shared_out(atoms) for atoms in (10, 200, 2_000, 6_000)]
        [(8, 45000), (8, 425000), (1, 2000000), (1, 3400000)]
        """
        each = min(max(self.moves // self.runs, _LEAST_MOVES * atoms), self.moves, _MOST_MOVES * atoms)
        return min(self.runs, self.moves // each), each

    def total(self, atoms: int) -> float:
        """Return the moves of all annealings."""
        if atoms > _WHOLE:
            return float(self.rounds * self.in_blocks * atoms)
        runs, each = self.shared_out(atoms)
        return sum(runs * each * _FEWER**generation for generation in range(self.generations))


_BEST = Effort(24_000_000, 8, 4, 4, 1_500, 3_000)
_BUDGETS = {"fast": (0.15e9, 2e4), "default": (0.4e9, 6e4)}  # nanoseconds for any table, and for each record
_MOVE, _MOVE_OF_CODES = 175.0, 4_000.0  # cost of a move in nanoseconds, for the records and for each attribute to meet
_REPEATED = 1_000  # moves per atom from which annealing is repeated from the best classes so far
_MOST_IN_BLOCKS = 250


def effort_for(name: str, x: np.ndarray | Coded, atoms: int, attributes: int) -> Effort:
    """Return the work of ``fast``, ``default`` or ``best`` on a table of `atoms` atoms with confidential attributes.

    >>> effort_for("default", np.zeros((400, 2)), 80, 1)[:3]
    (380160, 8, 4)
    """
    if name == "best":
        return _BEST
    least, per_record = _BUDGETS[name]
    move = (_MOVE_OF_CODES if isinstance(x, Coded) else _MOVE) * (1 + attributes)
    moves = (least + per_record * len(x)) / move
    generations = 4 if moves >= _REPEATED * atoms else 1
    first = int(moves / sum(_FEWER**turn for turn in range(generations)))
    in_blocks = min(int(moves / (2 * atoms)), _MOST_IN_BLOCKS)
    return Effort(first, 8, generations, 2, in_blocks, 300 if generations > 1 else 0)


def alternatives(
    points: np.ndarray | Coded, labels: np.ndarray, d: Demands, effort: Effort, seed: int, count: int
) -> list[np.ndarray]:
    """Merge whole classes until every class meets all demands, with little loss, in up to `count` different ways.

    They come in ascending order of loss. Fewer are returned if fewer are found: of a small table, not many may exist.

    Guarantee: every class is a union of given classes and meets all demands, unless one class holds all records. The
    labels depend on the coordinates, on the given classes as sets of rows, and on their multisets of confidential
    values.

    Complexity: O(n log n), and O(s) for each move between classes of s records.
    """
    labels = numbered(labels)
    if count == 1 and hold(d, labels).all():
        return [labels]
    x = in_range(points)
    if isinstance(x, Coded):
        a = atoms_of(x, labels, d)  # in the order of their first rows
        rows: Coded | None = x[np.lexsort((*x.sort_keys()[::-1], labels))]
    elif int(labels.max()) < _WHOLE:
        a, rows = atoms_of(on_main_axes(x), labels, d), None
    else:
        code = np.stack([own[np.lexsort((own, labels))] for own in d.c.codes])
        a, rows = atoms_of_means(on_main_axes(means_of_classes(x, labels)), np.bincount(labels), code), None
    return [numbered(own[labels]) for own in unions_of_atoms(a, rows, d, effort, seed, count)]


def unions_of_atoms(
    a: Atoms, rows: Coded | None, d: Demands, effort: Effort, seed: int, count: int
) -> list[np.ndarray]:
    """Unite atoms as :func:`alternatives` does: return the class of every atom, in up to `count` different ways.

    `rows` are the records if they have codes, atom after atom and in order of value within each. Of records with
    coordinates alone, the atoms' means, sizes and confidential values are enough.
    """
    case = _case(a, d, rows)
    merged = _merge_failing(case, np.arange(len(a.size)))
    found = [merged]
    if len(a.size) > 2 and a.heat.any():
        if len(a.size) <= _WHOLE:
            found += _as_a_whole(case, merged, effort, seed, count)
        else:
            seeds = [seed] if count == 1 else np.random.default_rng(seed).integers(1 << 60, size=count).tolist()
            found += [_in_blocks(case, merged, effort, one) for one in seeds]
    if count > 1 and len(a.size) > 1:
        found = _more(case, _different(case, found), count, seed)
    return _different(case, found)[:count]


class _Case(NamedTuple):
    """Atoms, and their records; instead of coordinates, these have the mean of the atom."""

    a: Atoms
    x: np.ndarray | Coded | None  # (n, d), atom after atom; None: there are many, and the atoms' means are enough
    atom: np.ndarray  # (n,) atom of each of these records
    d: Demands  # in the same order
    room: int  # records to which a class may grow
    groups: Groups | None  # of these records, if they have codes


def _case(a: Atoms, d: Demands, x: Coded | None = None) -> _Case:
    atom = np.repeat(np.arange(len(a.size)), a.size)
    inside = d._replace(c=d.c._replace(codes=a.code))
    room = min(int(d.c.exact.min()), max(int(_USUAL * a.size.mean()), 2 * int(a.size.max())))
    if x is not None:
        return _Case(a, x, atom, inside, room, groups_of(x))
    return _Case(a, a.x[atom] if len(a.size) <= _WHOLE else None, atom, inside, room, None)


def _loss(case: _Case, own: np.ndarray) -> float:
    if case.x is not None:
        return sse(case.x, own[case.atom])
    apart = case.a.x - _means(case, own)[own]
    return float(np.einsum("i,ij,ij->", case.a.size.astype(np.float64), apart, apart))


def _means(case: _Case, own: np.ndarray) -> np.ndarray:
    """Return the mean of every class, from those of its atoms."""
    if case.x is not None:
        return means_of_classes(np.asarray(case.x), own[case.atom])
    sums = [np.bincount(own, weights=case.a.size * column) for column in case.a.x.T]
    return np.ascontiguousarray(np.column_stack(sums) / np.bincount(own, weights=case.a.size)[:, None])


def _merge_failing(case: _Case, own: np.ndarray) -> np.ndarray:
    """Merge each class that misses a demand, the largest excess first, with the class of the nearest mean; repeat.

    Classes that still fail after some rounds are each merged with several others at once.
    """
    own = numbered(own)
    for turn in itertools.count():
        excess = excesses(case.d, own[case.atom])
        failing = np.flatnonzero(excess > 0.0)
        if len(failing) == 0 or len(excess) == 1:
            return own
        failing = failing[np.argsort(-excess[failing], kind="stable")]
        if isinstance(case.x, Coded):
            near = Centroids(case.x, own[case.atom], case.groups).near(_CANDIDATES, failing)
        else:
            near = neighbours(_means(case, own), _CANDIDATES, failing)
        partners = 1 if turn < _PATIENT else _CANDIDATES
        own = numbered(paired(len(excess), failing, near, partners)[own])
    raise AssertionError  # the loop ends at the latest with a single class


def paired(classes: int, failing: np.ndarray, near: np.ndarray, partners: int = 1) -> np.ndarray:
    """Return for every class the one to merge it with: itself, or that of a failing one, which takes the nearest free.

    Row i of `near` holds the classes nearest to ``failing[i]``, nearest first.

    >>> paired(3, np.array([2, 0]), np.array([[1, 0], [1, 2]])).tolist()
    [0, 2, 2]
    """
    into, taken = np.arange(classes), np.zeros(classes, np.bool_)
    for one, others in zip(failing, near, strict=True):
        free = others[~taken[others]][:partners]
        if not taken[one] and len(free):
            into[free] = one
            taken[one] = taken[free] = True
    return into


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


def _as_a_whole(case: _Case, merged: np.ndarray, effort: Effort, seed: int, count: int) -> list[np.ndarray]:
    """Anneal with several seeds from atoms dealt by value; recombine the best classes, and anneal again from there.

    To find several partitions, each is annealed with a seed of its own, once.
    """
    runs, moves = effort.shared_out(len(merged))
    generations = effort.generations
    if count > 1:
        runs, moves, generations = count, max(generations * runs * moves // count, 1), 1
    seeds = np.random.default_rng(seed)
    best, pool, hot = _dealt(case), [merged], HOT
    most = min(_MOST // (len(case.a.code) * len(merged)), int(np.bincount(best, weights=case.a.size).max()))
    case = case._replace(room=min(max(case.room, most), int(case.d.c.exact.min())))
    for _ in range(generations):

        def work(seed: int, go_on: GoOn, start: np.ndarray = best, moves: int = moves, hot: float = hot) -> np.ndarray:
            return _annealed(case, start, moves, hot, seed, go_on)

        found, stopped = together(work, seeds.integers(1 << 60, size=runs).tolist())
        pool += [one for one in found if one is not None]
        pool.sort(key=lambda own: _loss(case, own))
        if count == 1:
            best = _recombined(case, pool, 0 if stopped else effort.choice)
            pool.insert(0, best)
        hot, moves = hot * _COOLER, int(moves * _FEWER)
        if stopped:
            break
    return pool


def _different(case: _Case, found: list[np.ndarray]) -> list[np.ndarray]:
    """Return different partitions, in ascending order of loss."""
    once = {own.tobytes(): own for own in (numbered(own) for own in found)}
    return sorted(once.values(), key=lambda own: (_loss(case, own), own.tobytes()))


def _more(case: _Case, found: list[np.ndarray], count: int, seed: int) -> list[np.ndarray]:
    """Add partitions that differ from given ones by one atom or one merger: those of the best partition first.

    Losses do not depend on confidential values, so tables that differ in values only offer much the same partitions.
    """
    ranked = [(_loss(case, own), own.tobytes(), own) for own in found]
    random, known, todo = np.random.default_rng((seed, count)), {key for _, key, _ in ranked}, sorted(ranked)
    for _ in range(_EXPANDED * count if len(found) < count else 0):
        if not todo:
            break
        best = heapq.heappop(todo)[2]
        changes = _changes(case, best)
        for number in np.sort(random.permutation(len(changes))[:_CHANGES]):
            atoms, into = changes[number]
            own = best.copy()
            own[atoms] = into
            own = numbered(own)
            key = own.tobytes()
            if key not in known and hold(case.d, own[case.atom]).all():
                known.add(key)
                ranked.append((_loss(case, own), key, own))
                heapq.heappush(todo, ranked[-1])
    return [own for *_, own in heapq.nsmallest(count, ranked)]


def _changes(case: _Case, own: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Return atoms and the class that they change to: a neighbour's, or one of their own; or whole classes."""
    near, fresh = case.a.near[:, :_NEIGHBOURS], int(own.max()) + 1
    shifts = {(atom, int(c)) for atom in range(len(own)) for c in (*own[near[atom]], fresh) if c != own[atom]}
    mergers = {(int(own[atom]), c) for atom, c in shifts if c != fresh}
    moved = [(np.array([atom]), c) for atom, c in sorted(shifts)]
    return moved + [(np.flatnonzero(own == b), c) for b, c in sorted(mergers) if b < c]


def _recombined(case: _Case, pool: list[np.ndarray], choice: int) -> np.ndarray:
    """Return the best classes of all partitions, as a partition."""
    assert case.x is not None  # there are few atoms
    labels = [own[case.atom] for own in pool]
    if choice and sum(int(own.max()) + 1 for own in pool) <= _POOLED:
        chosen = best_of_pool(case.x, labels, largest=choice)
    else:
        chosen = recombined(case.x, labels)
    return np.asarray(chosen[case.a.begin[:-1]])


def _in_blocks(case: _Case, merged: np.ndarray, effort: Effort, seed: int) -> np.ndarray:
    """Anneal in blocks of whole classes, and again in blocks cut along other directions."""
    own, seeds, stopped = merged.astype(np.int32), np.random.default_rng(seed), False
    typical = typical_of(case.x, case.atom) if isinstance(case.x, Coded) else case.a.x
    for turn in range(effort.rounds):
        order, bounds = whole_classes(typical, own, int(own.max()) + 1, len(own) // _BLOCK + turn, turn + 1)
        blocks = [np.sort(order[begin:end]) for begin, end in itertools.pairwise(bounds) if end > begin]

        def work(item: tuple[np.ndarray, int], go_on: GoOn, turn: int = turn) -> np.ndarray:
            inside, seed = item
            rows = case.x[np.isin(case.atom, inside)] if isinstance(case.x, Coded) else None
            some = _case(some_atoms(case.a, inside, typical[inside]), case.d, rows)
            before = numbered(own[inside])
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
