"""Losses of all records, from pieces of columns: coordinates of the whole table are never in memory at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.flow.stages.measure import measures, partition_readings, read_measures
from shoal.points._pieces import totals, variation
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
    with np.errstate(all="ignore"):  # the square of an extreme masked value may overflow
        errors = [_Numbers(given, at) if given.has_pieces(at) else _Column(given, at) for at in range(len(names))]
        varied = [part for one in errors for part in one.varied()]
        sse, absolute, exact = totals(lambda: (_summed(*pair) for one in errors for pair in one.squares()))
    known = _Totals(sse, sum(varied), absolute), _Totals(exact, sum(varied), math.nan)
    of_release, of_partition = (_known(one, names, len(given.masked[0])) for one in known)
    found = read_measures(of_release, measures(quick=True)).readings
    return Readings(found if given.exact is None else (*found, *partition_readings(of_partition)))


_Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def _summed(squares: NDArray[np.float64], exact: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    return squares, np.sqrt(squares), exact


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
