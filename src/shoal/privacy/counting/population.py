"""Population records by released combination: each belongs to the nearest one of its stratum.

Released values are means, so that people of the population seldom have exactly these values. An attacker who looks for
someone takes the nearest combination, and so does the count. Strata are released unchanged, so that it is one of the
person's own stratum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.privacy.counting.classes import classes_of, comparable, people_of
from shoal.privacy.counting.nearest import Axis, nearest
from shoal.privacy.counting.values import normal
from shoal.types import Column, Kind, Release, Role, called

NEAREST = "population records belong to the nearest released combination"  #: how they were counted, in words
_NUMERIC = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)
_LARGEST = 1 << 62


class Belonging(NamedTuple):
    """Released combinations, and how many records of the population belong to each.

    Attributes
    ----------
    population
        For each combination, the number of population records that are nearest to it.
    released
        For each combination, the number of released records, or of different subjects.
    combination
        The number of the combination of each class, in the order of :func:`~shoal.privacy.counting.classes.classes_of`.
        Classes that are only written differently, such as 1 and 1.0, are one combination.
    number
        For each combination, the number of its first class by first rows, which is the name that a user sees.
    exact
        Number of population records that have exactly the values of their combination.
    outside
        Number of population records that belong to no combination, because nothing was released of their stratum.
    """

    population: NDArray[np.int64]
    released: NDArray[np.int64]
    combination: NDArray[np.int64]
    number: NDArray[np.int64]
    exact: int
    outside: int

    @property
    def average_risk(self) -> float:
        """The mean of 1 divided by the population records of a combination, over released records or subjects.

        A combination that no population record belongs to counts as one with a single record.
        """
        shares = (self.released / np.maximum(self.population, 1)).tolist()
        return math.fsum(shares) / max(int(self.released.sum()), 1)


def strata_of(release: Release, attributes: Sequence[str]) -> tuple[str, ...]:
    """Return the strata of a release, which population records share with their combination."""
    return tuple(name for name in release.schema.names(Role.STRATA) if name not in attributes)


def belonging(release: Release, attributes: Sequence[str]) -> Belonging:
    """Count the population records of a release by combination; `release.population` must be given.

    The distance of two values is: of numbers and dates, their difference over the range of both tables; of ordinal
    values, the same of their ranks; of nominal values 1, or with a taxonomy the height of their lowest common ancestor
    over the height of the tree; of a missing value 1 from all others. Squares are added. Of several nearest
    combinations the first counts, by their values, so that no order of rows matters. With strata, only combinations of
    a record's own stratum are considered. Computed once per release.

    >>> from shoal.types import Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER),))
    >>> people = pa.table({"age": [21, 25, 40, 52, 80]})
    >>> found = belonging(Release(pa.table({"age": [23, 23, 50, 50]}), schema, population=people), ["age"])
    >>> found.population.tolist(), found.released.tolist()
    ([2, 3], [2, 2])
    """
    key = ("population", tuple(attributes))
    if key not in release.cache:
        release.cache[key] = _counted(release, attributes)
    found: Belonging = release.cache[key]
    return found


def of_records(release: Release, attributes: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each released record the number of population records of its combination, and its combination."""
    found, classes = belonging(release, attributes), classes_of(release, _seen(release, attributes))
    own = np.empty(release.data.num_rows, np.int64)
    own[classes.rows] = np.repeat(found.combination, classes.sizes)
    return found.population[own], own


def _seen(release: Release, attributes: Sequence[str]) -> tuple[str, ...]:
    return (*attributes, *strata_of(release, attributes))


def _counted(release: Release, attributes: Sequence[str]) -> Belonging:
    people = release.population
    assert people is not None
    classes = classes_of(release, _seen(release, attributes))
    first = pa.array(classes.rows[classes.begins])
    strata = _strata(release, first, people, strata_of(release, attributes))
    pairs = [placed(release.schema[name], release.values(name).take(first), people.column(name)) for name in attributes]
    axes = [axis for _, _, axis in pairs]
    here = _distinct([strata[0], *(values for values, _, _ in pairs)], len(first))
    there = _distinct([strata[1], *(values for _, values, _ in pairs)], people.num_rows)
    best, apart = _nearest(there.rows, here.rows, axes)
    often = np.bincount(there.numbers, minlength=len(there.rows))
    counts = np.zeros(len(here.rows), np.int64)
    inside = best >= 0
    np.add.at(counts, best[inside], often[inside])
    owner = np.empty(release.data.num_rows, np.int64)
    owner[classes.rows] = np.repeat(here.numbers, classes.sizes)
    number = np.full(len(counts), len(classes.sizes))
    np.minimum.at(number, here.numbers, classes.numbers())
    exact, outside = int(often[apart == 0.0].sum()), int(often[~inside].sum())
    return Belonging(counts, _released(release, owner), here.numbers, number, exact, outside)


def _nearest(
    there: NDArray[np.float64], here: NDArray[np.float64], axes: Sequence[Axis]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest row of the same stratum, the first column, and its distance; −1 in an empty stratum."""
    best, apart = np.full(len(there), -1), np.full(len(there), np.inf)
    for stratum in np.unique(here[:, 0]):
        own, others = (slice(*np.searchsorted(rows[:, 0], [stratum, stratum + 1])) for rows in (here, there))
        if others.start < others.stop:
            found, apart[others] = nearest(there[others, 1:], here[own, 1:], axes)
            best[others] = found + own.start
    return best, apart


def _strata(
    release: Release, first: pa.Array, people: pa.Table, names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Number the strata of some released rows and of all population records; equal values share a number."""
    count = len(first)
    codes = np.zeros(count + people.num_rows, np.int64)
    for name in names:
        one, other = comparable(name, release.values(name).take(first)), comparable(name, people.column(name))
        if one.type != other.type and release.schema[name].kind in _NUMERIC:
            both = np.concatenate([_numbers(name, one), _numbers(name, other)])
        else:
            (own, at), (there, where) = _names(name, one), _names(name, other)
            number = {value: code for code, value in enumerate(dict.fromkeys([*own, *there]))}
            table = [np.array([*(number[value] for value in values), len(number)]) for values in (own, there)]
            both = np.concatenate([table[0][at], table[1][where]])
        found = np.unique(both, return_inverse=True)[1].reshape(-1)
        codes = np.unique(codes * (int(found.max(initial=0)) + 1) + found, return_inverse=True)[1].reshape(-1)
    return codes[:count].astype(np.float64), codes[count:].astype(np.float64)


def _released(release: Release, owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of records, or of different subjects, of each combination."""
    if release.subjects is None:
        return np.bincount(owner)
    who = people_of(release).codes
    many = int(who.max(initial=0)) + 1
    return np.bincount(np.unique(owner * many + who) // many)


class _Distinct(NamedTuple):
    """Distinct rows in ascending order, column by column, and the number of each given row among them."""

    rows: NDArray[np.float64]
    numbers: NDArray[np.int64]


def _distinct(columns: Sequence[NDArray[np.float64]], count: int) -> _Distinct:
    keys, most = np.zeros(count, np.int64), 1
    for column in columns:
        found, codes = np.unique(column, return_inverse=True)
        if most * len(found) >= _LARGEST:
            kept, keys = np.unique(keys, return_inverse=True)
            most = len(kept)
        keys, most = keys * len(found) + codes.reshape(-1), most * len(found)
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    rows = np.column_stack([column[first] for column in columns]) if columns else np.zeros((len(first), 0))
    return _Distinct(rows, numbers.reshape(-1))


def placed(
    column: Column, released: pa.ChunkedArray, people: pa.ChunkedArray
) -> tuple[NDArray[np.float64], NDArray[np.float64], Axis]:
    """Return the positions of a column's values in a release and in a population, and their distances."""
    if column.kind in _NUMERIC and column.taxonomy is None:
        return _on_a_line(_numbers(column.name, released), _numbers(column.name, people))
    one, other = (_names(column.name, cells) for cells in (released, people))
    if column.kind is Kind.ORDINAL and (ranks := _ranks(column, released, (*one[0], *other[0]))):
        rank = [np.array([ranks.get(name, np.inf) for name in names] + [np.inf]) for names, _ in (one, other)]
        return _on_a_line(rank[0][one[1]], rank[1][other[1]])
    order, gaps = _in_tree(column, {*one[0], *other[0]})
    at = [np.array([*(order[name] for name in names), len(order)], np.float64) for names, _ in (one, other)]
    return at[0][one[1]], at[1][other[1]], Axis(gaps=gaps)


def _on_a_line(
    one: NDArray[np.float64], other: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], Axis]:
    """Scale numbers by a power of two, which is exact, so that no difference overflows."""
    both = np.concatenate([one[np.isfinite(one)], other[np.isfinite(other)]])
    missing = len(both) < len(one) + len(other)
    if not len(both):
        return one, other, Axis(1.0, missing)
    scale = -int(np.frexp(np.abs(both).max())[1])
    one, other, both = (np.ldexp(values, scale) for values in (one, other, both))
    return one, other, Axis(float(np.ptp(both)) or 1.0, missing)


def _numbers(name: str, cells: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return numbers, and dates and times as numbers; a missing one is infinite."""
    cells = comparable(name, cells)
    if pa.types.is_timestamp(cells.type) or pa.types.is_date(cells.type):
        cells = cells.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    elif pa.types.is_temporal(cells.type):
        cells = cells.cast(pa.int64() if cells.type.bit_width == 64 else pa.int32())
    try:
        found = np.array(cells.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    except pa.ArrowException:  # its message may contain a cell value
        raise DataError(
            f"Column {name!r}: the population must have numbers or dates, as the release does, got {cells.type}."
        ) from None
    found[~np.isfinite(found)] = np.inf
    return found


def _names(name: str, cells: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct values by name, and the number of each cell's value; a missing one has the last number."""
    encoded = normal(comparable(name, cells)).combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    names = [called(value) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
    return names, np.asarray(codes, np.int64)


def _ranks(column: Column, released: pa.ChunkedArray, names: Sequence[str]) -> Mapping[str, float]:
    """Return the rank of each ordinal value: in its declared or stored order, or as a number; empty if none is known.

    A value of the population that has no rank is as far from all others as a missing one.
    """
    if column.order:
        return {called(value): float(at) for at, value in enumerate(column.order)}
    if pa.types.is_dictionary(released.type) and released.num_chunks:
        stored = released.unify_dictionaries().chunk(0).dictionary.to_pylist()
        return {called(value): float(at) for at, value in enumerate(stored)}
    try:
        return {name: float(at) for at, name in enumerate(sorted(set(names), key=float))}
    except ValueError:
        return {}


def _in_tree(column: Column, names: set[str]) -> tuple[dict[str, int], NDArray[np.float64]]:
    """Return the positions of categories in the order of their tree, and the distance of each from the next.

    Without a taxonomy, and for categories that it lacks, all are 1 apart. A missing value comes last, 1 apart.
    """
    paths: Mapping[str, tuple[str, ...]] = {} if column.taxonomy is None else column.taxonomy.paths
    known = sorted((name for name in names if name in paths), key=lambda name: (*paths[name], name))
    order = {name: at for at, name in enumerate([*known, *sorted(names - set(known))])}
    gaps = np.ones(len(order))
    if column.taxonomy is not None:
        heights = _heights(paths)
        for at, (one, other) in enumerate(itertools.pairwise(known)):
            gaps[at] = heights[_common(paths[one], paths[other])] / column.taxonomy.height
    return order, gaps


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path to the lowest common ancestor of two leaves."""
    return tuple(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _heights(paths: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """Return the number of steps from each inner node, by its path, down to its deepest leaf."""
    found: dict[tuple[str, ...], int] = {}
    for path in paths.values():
        for depth in range(len(path) + 1):
            found[path[:depth]] = max(found.get(path[:depth], 0), len(path) + 1 - depth)
    return found
