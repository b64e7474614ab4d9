"""Long columns in pieces that a fast cache holds: fresh memory for a whole column takes longer than the arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.sums import Grids, grids_for, on_grids, place, times_power, total_on
from shoal.kernels.runtime.jit import each
from shoal.types import Footing

_PIECE = 1 << 15  # records
_MANY = 1 << 20  # records from which threads are worth their start

Column = NDArray[np.float64]


def pieces(records: int) -> Iterator[slice]:
    """Yield the rows of each piece.

    >>> list(pieces(40_000))
    [slice(0, 32768, None), slice(32768, 40000, None)]
    """
    for begin in range(0, records, _PIECE):
        yield slice(begin, min(begin + _PIECE, records))


def totals(columns: Callable[[], Iterable[Sequence[Column]]]) -> list[float]:
    """Return the sums of several columns, given side by side in pieces, which are requested twice.

    **Guarantee.** Each is the `orderless_total` of its values, bit for bit: that depends on their largest magnitude and
    their number only, and parts of a column add up exactly.

    >>> totals(lambda: [(np.array([1e16, 1.0]), np.array([1.0, 2.0])), (np.array([-1e16]), np.array([3.0]))])
    [1.0, 6.0]
    """
    largest, count = largest_of(columns())
    grids = grids_of(largest, count)
    return totals_on(grids, sums_on(grids, columns()))


def largest_of(columns: Iterable[Sequence[Column]]) -> tuple[list[float], int]:
    """Return the largest magnitude in each of several columns, and the number of their values."""
    ends, count = [], 0
    for several in columns:
        ends.append([max(float(one.max()), -float(one.min())) for one in several])
        count += len(several[0])
    return np.max(ends, axis=0).tolist(), count


def grids_of(largest: Sequence[float], count: int) -> list[Grids | None]:
    """Return the grids on which to add columns, given their largest magnitudes; None where it is zero or infinite."""
    return [grids_for(one, count) if 0.0 < one < math.inf else None for one in largest]


def sums_on(grids: Sequence[Grids | None], columns: Iterable[Sequence[Column]]) -> NDArray[np.float64]:
    """Return the sums of several columns on their grids; those of parts of a column add up exactly."""
    sums = np.zeros((len(grids), 3))
    for several in columns:
        for at, (grid, one) in enumerate(zip(grids, several, strict=True)):
            sums[at] += on_grids(one, grid) if grid is not None else float(np.sum(one))
    return sums


def totals_on(grids: Sequence[Grids | None], sums: NDArray[np.float64]) -> list[float]:
    """Return the totals of columns from their sums on grids."""
    return [float(own[0]) if grid is None else total_on(grid, own) for own, grid in zip(sums, grids, strict=True)]


def variation(columns: Callable[[], Iterable[Column]], records: int) -> tuple[float, float]:
    """Return the mean of a column, and the sum of squared differences from it."""
    mean = totals(lambda: ((column,) for column in columns()))[0] / records
    return mean, totals(lambda: (((column - mean) ** 2,) for column in columns()))[0]


def standard(values: Column) -> Footing:
    """Return the scale on which a column has mean 0 and deviation 1, as `location_and_spread` finds it."""
    low, high = float(values.min()), float(values.max())
    exponent = math.frexp(max(-low, high))[1]
    if low == high:
        return Footing(math.ldexp(low, -exponent), 0.0, exponent)
    mean, squares = variation(
        lambda: (times_power(values[rows], -exponent) for rows in pieces(len(values))), len(values)
    )
    return Footing(mean, float(np.sqrt(squares / len(values))), exponent)


def placed_table(columns: Sequence[Column], footings: Sequence[Footing]) -> Column:
    """Scale columns to coordinates: (n, d), in C order."""
    found = np.empty((len(columns[0]), len(columns)))

    def place_rows(rows: slice) -> None:
        for j, (values, footing) in enumerate(zip(columns, footings, strict=True)):
            found[rows, j] = place(values[rows], footing.location, footing.spread, footing.exponent)

    if len(found) < _MANY:
        for rows in pieces(len(found)):
            place_rows(rows)
    else:
        each(place_rows, pieces(len(found)))
    return found
