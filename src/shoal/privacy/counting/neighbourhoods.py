"""Neighbouring classes in the space of the released quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.privacy.counting.classes import Classes
from shoal.privacy.counting.earth_mover import distance, roughly, work
from shoal.privacy.counting.values import Level, Values
from shoal.types import Kind, Release

_LEAF = 64  # classes
_CACHE = 2**15  # cells that fit into the cache
_PAIRS = 2**20  # pairs of classes, or of a class and a leaf, processed at a time
_NUMERIC = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)


def places(release: Release, attributes: Sequence[str], classes: Classes) -> NDArray[np.float64] | None:
    """Return the position of each class, standardised; None if a column is not numeric, or has a missing value.

    Sums run over sorted values, so that the order of rows does not matter. Computed once per release.
    """
    key = ("places", tuple(attributes))
    if key not in release.cache:
        release.cache[key] = _places(release, attributes, classes)
    found: NDArray[np.float64] | None = release.cache[key]
    return found


def _places(release: Release, attributes: Sequence[str], classes: Classes) -> NDArray[np.float64] | None:
    found = []
    for name in attributes:
        if release.schema[name].kind not in _NUMERIC:
            return None
        numbers = _numbers(release.values(name))
        if numbers is None:
            return None
        found.append(_standardised(numbers)[classes.rows[classes.begins]])
    return np.column_stack(found)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    if column.null_count:
        return None
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    try:
        numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
    except pa.ArrowException:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _standardised(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = float(np.abs(numbers).max())
    if largest == 0:
        return numbers
    scaled = np.ldexp(numbers, -np.frexp(largest)[1])  # squares neither overflow nor vanish
    rising = np.sort(scaled)
    centred = scaled - rising.mean()
    spread = float(np.sqrt(np.square(np.sort(centred)).mean()))
    return centred / spread if spread > 0 else np.zeros(len(numbers))


class Around(NamedTuple):
    """Some classes, and the classes around each of them."""

    asked: NDArray[np.int64]
    owner: NDArray[np.int64]  #: for each neighbour, the position in `asked` of the class it is near; ascending
    near: NDArray[np.int64]


class Neighbourhood:
    """Nearest-class search in the leaves of a kd-tree: boxes that are too far away are skipped."""

    def __init__(self, places: NDArray[np.float64], sizes: NDArray[np.int64]) -> None:
        leaves = _leaves(places)
        self.classes = np.concatenate(leaves)  # grouped by leaf
        self.ends = np.cumsum([len(leaf) for leaf in leaves])
        self.begins = np.concatenate(([0], self.ends[:-1]))
        self.at = np.empty(len(places), np.int64)
        self.at[self.classes] = np.arange(len(places))
        self.places, self.sizes = np.ascontiguousarray(places[self.classes].T), sizes[self.classes]
        self.low = np.minimum.reduceat(self.places, self.begins, axis=1)
        self.high = np.maximum.reduceat(self.places, self.begins, axis=1)
        self.records = np.add.reduceat(self.sizes, self.begins)

    def around(self, asked: NDArray[np.int64], records: int) -> Iterator[Around]:
        """Yield classes with the fewest nearest classes, themselves included, that hold at least `records` records.

        Classes at equal distances are all included or all excluded. `records` must not exceed the number of records.
        """
        asked = asked[np.argsort(self.at[asked])]
        step = max(_PAIRS // (len(self.ends) + 4 * records), 1)
        for together in np.split(asked, np.flatnonzero(np.diff(self.at[asked] // _LEAF)) + 1):
            for first in range(0, len(together), step):
                yield from self._nearest(together[first : first + step], records)

    def _nearest(self, asked: NDArray[np.int64], records: int) -> Iterator[Around]:
        """Find the neighbours of classes that lie close together: first bound their distance, then find all within."""
        here = self.places[:, self.at[asked]]
        outside = self._outside(here)
        few = min(1 + 2 * records // int(self.records.min()), len(self.ends))  # leaves that hold enough
        opened = outside <= np.partition(outside, few - 1, axis=1)[:, few - 1 : few]
        ceiling = np.concatenate([_ceiling(apart, held, records) for _, _, apart, held in self._opened(here, opened)])
        opened = outside * (1 - 1e-9) <= ceiling[:, None]  # up to rounding, no other can be as near
        for rows, members, apart, held in self._opened(here, opened):
            owner, near = np.divmod(np.flatnonzero(apart <= ceiling[rows, None]), len(members))
            found = apart[owner, near]
            kept = found <= _reach(owner, found, held[near], records)[owner]
            yield Around(asked[rows], owner[kept], self.classes[members[near[kept]]])

    def _outside(self, here: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared distance of each position from the box of each leaf: no member is nearer."""
        found = np.zeros((here.shape[1], len(self.ends)))
        for rows in _shares(len(found), len(self.ends), _CACHE):
            for place, low, high in zip(here[:, rows], self.low, self.high, strict=True):
                gap = np.maximum(low - place[:, None], place[:, None] - high)
                np.maximum(gap, 0, out=gap)
                found[rows] += np.square(gap, out=gap)
        return found

    def _opened(
        self, here: NDArray[np.float64], opened: NDArray[np.bool_]
    ) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]]:
        """Yield positions, the classes in all leaves opened for any of them, their distances and records."""
        leaf = np.flatnonzero(opened.any(axis=0))
        counts = self.ends[leaf] - self.begins[leaf]
        members = np.arange(int(counts.sum())) + np.repeat(self.ends[leaf] - np.cumsum(counts), counts)
        there, held = self.places[:, members], self.sizes[members]
        for share in _shares(here.shape[1], len(members), _PAIRS):
            apart = np.zeros((share.stop - share.start, len(members)))
            for rows in _shares(len(apart), len(members), _CACHE):
                for place, coordinate in zip(here[:, share][:, rows], there, strict=True):
                    gap = place[:, None] - coordinate
                    apart[rows] += np.square(gap, out=gap)
            yield share, members, apart, held


def _shares(rows: int, columns: int, most: int) -> Iterator[slice]:
    """Yield slices of the rows of a matrix with at most `most` cells each."""
    step = max(most // columns, 1)
    for first in range(0, rows, step):
        yield slice(first, min(first + step, rows))


def _ceiling(apart: NDArray[np.float64], held: NDArray[np.int64], records: int) -> NDArray[np.float64]:
    """Return for each row, quickly, a distance within which the columns hold at least `records` records."""
    few = min(-(-records // int(held.min())), apart.shape[1])  # any this many columns hold enough
    return np.asarray(np.partition(apart, few - 1, axis=1)[:, few - 1])


def _reach(
    owner: NDArray[np.int64], apart: NDArray[np.float64], held: NDArray[np.int64], records: int
) -> NDArray[np.float64]:
    """Return for each owner the distance within which the nearest hold `records` records, or all."""
    order = np.lexsort((apart, owner))
    ends = np.append(np.flatnonzero(np.diff(owner)), len(owner) - 1)
    passed = np.cumsum(held[order])
    before = np.concatenate(([0], passed[ends[:-1]]))
    return np.asarray(apart[order[np.searchsorted(passed, np.minimum(before + records, passed[ends]))]])


def _leaves(places: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Halve the classes along their widest coordinate until few are left in each part."""
    found, parts = [], [np.arange(len(places))]
    while parts:
        part = parts.pop()
        spread = np.ptp(places[part], axis=0)
        if len(part) <= _LEAF or not spread.any():
            found.append(part)
            continue
        order = np.argpartition(places[part, int(spread.argmax())], len(part) // 2)
        parts += [part[order[: len(part) // 2]], part[order[len(part) // 2 :]]]
    return found


_EXACT = 2**61  # sums of two integers up to this fit 64 bits
ROUNDING = 1e-9  #: more than the rounding error of a distance between distributions


class Supersets:
    """Distances of classes from their supersets: the whole table, then at least n records around them, 2n, 4n, …

    Parameters
    ----------
    values
        Distances between values.
    classes
        The records, grouped by class.
    where
        Positions of the classes; None: only the whole table is a superset.
    n
        Minimum number of records of a superset.
    """

    def __init__(self, values: Values, classes: Classes, where: NDArray[np.float64] | None, n: int) -> None:
        self.values, self.sizes, self.n = values, classes.sizes, n
        self.codes = classes.codes(values.codes, values.count)
        self.begins = classes.begins
        self.total = len(self.codes)
        self.hood = None if where is None else Neighbourhood(where, self.sizes)
        self.whole = work(values, self.codes, self.sizes, np.sort(values.codes))
        self.rough = roughly(self.whole, self.sizes, self.total, values.scale)  #: the least so far, rounded
        self.looked = np.zeros(len(self.sizes), np.int64)  #: number of supersets examined in addition to the table
        self.found: dict[int, Fraction] = {}
        self.all = 0  # number of supersets in addition to the table
        while self.hood is not None and n << self.all < self.total:
            self.all += 1

    def least(self, c: int) -> Fraction:
        """Return the exact distance of a class from the closest superset examined so far."""
        if c not in self.found:
            self.found[c] = self.from_table(self.whole[c], self.sizes[c])
        return self.found[c]

    def from_table(self, work: Any, size: int) -> Fraction:
        """Return the exact distance of a class from the whole table."""
        return distance(work, size, self.total, self.values.scale)

    def done(self, c: int) -> bool:
        """Tell whether no other superset of a class could be closer."""
        return bool(self.looked[c] == self.all) or self.least(c) == 0

    def look(self, asked: NDArray[np.int64]) -> None:
        """Examine one more superset of each of some classes."""
        assert self.hood is not None
        for looked in np.unique(self.looked[asked]).tolist():
            for around in self.hood.around(asked[self.looked[asked] == looked], self.n << looked):
                self._closer(around)
        self.looked[asked] += 1

    def _closer(self, around: Around) -> None:
        """Lower the distances of some classes to those from their surroundings, where these are smaller."""
        works, held = self.works(around)
        sizes = self.sizes[around.asked]
        rough = works.astype(np.float64) / (sizes * held * float(self.values.scale))
        for i in np.flatnonzero(rough <= self.rough[around.asked] + ROUNDING).tolist():
            c = int(around.asked[i])
            self.found[c] = min(self.least(c), distance(works[i], int(sizes[i]), int(held[i]), self.values.scale))
            self.rough[c] = float(self.found[c])

    def works(self, around: Around) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return N · s · scale · EMD of each class from its surroundings, in integers, and N."""
        near, owner = around.near, around.owner
        counts = self.sizes[near]
        ends = np.cumsum(counts)
        rows = np.arange(int(ends[-1])) + np.repeat(self.begins[near] - ends + counts, counts)
        own = np.repeat(near == around.asked[owner], counts)
        of = np.repeat(owner, counts)
        held = np.bincount(of, minlength=len(around.asked))
        sizes = self.sizes[around.asked]
        exact = float((sizes * held).max()) * self.values.scale <= _EXACT
        n, s = (array.astype(np.int64 if exact else object) for array in (held, sizes))
        codes = self.codes[rows]
        if not self.values.levels:
            return _line(of, codes, own, n, s), held
        return sum(_level(level, of, codes, own, n, s) for level in self.values.levels), held  # type: ignore[return-value]


def _line(
    of: NDArray[np.int64], codes: NDArray[np.int64], own: NDArray[np.bool_], n: NDArray[Any], s: NDArray[Any]
) -> NDArray[Any]:
    """Sum |N · records of C up to a value − s · records of T up to it| over all ordered values."""
    owner, code, member = _sorted(of, codes, own, int(codes.max()) + 1)
    begins = np.searchsorted(owner, np.arange(len(n)))
    passed = np.cumsum(member)
    before = (passed[begins] - member[begins])[owner]
    gap = np.diff(code, append=code[-1])
    until = np.arange(1, len(code) + 1) - begins[owner]  # at an owner's last, all records of both are passed: adds 0
    return np.asarray(np.add.reduceat(abs(n[owner] * (passed - before) - s[owner] * until) * gap, begins))


def _level(
    level: Level, of: NDArray[np.int64], codes: NDArray[np.int64], own: NDArray[np.bool_], n: NDArray[Any], s: Any
) -> NDArray[Any]:
    """Sum length · |N · records of C below a node − s · records of T below it| over the nodes of a level."""
    node = level.node[codes]
    there = node >= 0
    total = np.zeros_like(n)
    if not there.any():
        return total
    owner, node, member = _sorted(of[there], node[there], own[there], len(level.length))
    run = np.flatnonzero(np.concatenate(([True], (node[1:] != node[:-1]) | (owner[1:] != owner[:-1]))))
    all_, inside = np.diff(np.append(run, len(node))), np.add.reduceat(member, run)
    owner, node = owner[run], node[run]
    np.add.at(total, owner, level.length[node] * abs(n[owner] * inside - s[owner] * all_))
    return total


def _sorted(
    owner: NDArray[np.int64], code: NDArray[np.int64], own: NDArray[np.bool_], codes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort by owner, then by code, packed into one number each, which sorts many times faster."""
    keys = (owner * codes + code) * 2 + own
    keys.sort()
    pairs = keys >> 1
    owner = pairs // codes
    return owner, pairs - owner * codes, keys & 1
