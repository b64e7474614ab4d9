"""Losses of all records, from pieces of columns: coordinates of the whole table are never in memory at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.flow.stages.measure import measures, partition_readings, read_measures
from shoal.kernels.runtime.jit import each
from shoal.points._pieces import grids_of, largest_of, sums_on, totals_on, variation
from shoal.points.before_and_after import Compared, Sides
from shoal.points.encoding import Part
from shoal.types import Coded, Comparison, Readings, distances, stacked
from shoal.utility._columns import variations


class _Totals(NamedTuple):
    """Sums over all records and attributes, under the names by which measures share them."""

    sse: float
    sst: float
    absolute: float


def loss_readings(given: Compared) -> Readings:
    """Return the readings of quick measures, and those of the partition where exact means are known.

    **Guarantee.** Their values are those of :func:`~shoal.flow.stages.measure.compared`, bit for bit. They have no
    parts.
    """
    names = tuple(attribute.name for attribute in given.attributes)
    errors = each(lambda at: _Numbers(given, at) if given.has_pieces(at) else _Column(given, at), range(len(names)))
    varied = [part for found in each(_varied, errors) for part in found]
    sse, absolute, exact = _totals(errors)
    known = _Totals(sse, sum(varied), absolute), _Totals(exact, sum(varied), math.nan)
    of_release, of_partition = (_known(one, names, len(given.masked[0])) for one in known)
    found = read_measures(of_release, measures(quick=True)).readings
    return Readings(found if given.exact is None else (*found, *partition_readings(of_partition)))


_Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


@np.errstate(all="ignore")  # of each thread: the square of an extreme masked value may overflow
def _varied(one: _Numbers | _Column) -> list[float]:
    return one.varied()


def _totals(errors: Sequence[_Numbers | _Column]) -> list[float]:
    """Return the sums of squared errors, of absolute ones, and of squared errors from exact means, over all columns."""

    @np.errstate(all="ignore")
    def ends(one: _Numbers | _Column) -> tuple[list[float], int]:
        return largest_of(one.squares())

    @np.errstate(all="ignore")
    def sums(one: _Numbers | _Column) -> NDArray[np.float64]:
        return sums_on(grids, ((squares, np.sqrt(squares), exact) for squares, exact in one.squares()))

    found = each(ends, errors)
    squares, exact = np.max([largest for largest, _ in found], axis=0).tolist()
    grids = grids_of((squares, float(np.sqrt(squares)), exact), sum(count for _, count in found))
    return totals_on(grids, np.sum(each(sums, errors), axis=0))


class _Numbers:
    """Errors in a column of numbers, computed as often as they are needed."""

    def __init__(self, given: Compared, at: int) -> None:
        self._given, self._at = given.with_footing(at), at

    def varied(self) -> list[float]:
        sides = self._given.original_in_pieces
        return [variation(lambda: sides(self._at), len(self._given.masked[self._at]))[1]]

    def squares(self) -> Iterator[_Pair]:
        return (_squares(side) for side in self._given.in_pieces(self._at))


class _Column:
    """Errors in any other column, which are kept."""

    def __init__(self, given: Compared, at: int) -> None:
        self._sides = given.sides(at)
        self._squares = _squares(self._sides)

    def varied(self) -> list[float]:
        return variations(_alone(self._sides.before))

    def squares(self) -> Iterator[_Pair]:
        yield self._squares


def _squares(side: Sides) -> _Pair:
    """Return the squared distance of each record in one attribute, as released and from exact means."""
    released = _distances(side.before, side.after)
    return released, released if side.exact is side.after else _distances(side.before, side.exact)


def _distances(before: Part, after: Part) -> NDArray[np.float64]:
    found = distances(_alone(before), _alone(after))
    return np.asarray(found[:, 0] if found.shape[1] == 1 else found.sum(axis=1))


def _alone(part: Part) -> NDArray[np.float64] | Coded:
    """Return records with one attribute."""
    return stacked([part]) if isinstance(part, tuple) else part


def _known(totals: _Totals, names: tuple[str, ...], records: int) -> Comparison:
    """Return a comparison whose totals are known, and whose coordinates are not: measures of totals need no more."""
    nothing = np.broadcast_to(np.nan, (records, len(names)))
    found = Comparison(nothing, nothing, names)
    found.cache.update(totals._asdict())
    return found
