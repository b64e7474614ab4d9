"""Correlations: how far the correlation of two attributes moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import MOST, Numbers, in_groups, left_out, notes, numbers_of, sizes_of, worst

_FEW = 3  # two records always have a correlation of 1 or −1
_ROUNDING = 1e-12  # a variance that is a smaller share of its terms counts as 0


@dataclass(frozen=True)
class Correlations(Measure):
    """Largest change of the correlation (Pearson) of two attributes: |r′ − r|.

    Parts are the changes r′ − r of all pairs and, for each stratum of at least three records, of the pair that changed
    most there. A pair is compared in the records that have both attributes before and after. If an attribute does not
    vary, its correlations are undefined and count as 0.

    **Guarantee.** 0 if and only if all correlations are preserved, up to rounding.

    **Complexity.** O(n d²).

    **Departures.** None: there is no paper.

    >>> from shoal.types import Pair
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    >>> numbers = {"age": Pair(x, x), "pay": Pair(y, x)}
    >>> Correlations().measure(Comparison(np.zeros((3, 2)), np.zeros((3, 2)), ("age", "pay"), numbers)).parts
    (('age and pay', 0.5),)
    """

    exchangeable: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 2.0)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how far correlations moved."""
        columns = numbers_of(comparison)
        if len(columns) < 2:
            return self.undefined("fewer than two attributes are numbers")
        tables = Tables(columns)
        above = np.triu_indices(len(columns), 1)
        found = tables.change(slice(None))[above]
        names = [f"{columns[i].name} and {columns[j].name}" for i, j in zip(*above, strict=True)]
        table = [(name, float(value)) for name, value in zip(names, found, strict=True)]
        inside: list[tuple[str, float]] = []
        for number, rows in _strata(comparison):
            there = tables.change(rows)[above]
            at = int(np.argmax(np.abs(there)))
            inside.append((f"{names[at]} in stratum {number}", float(there[at])))
        parts = worst(table)
        if inside:
            parts = (*worst(table, MOST // 2), *worst(inside, MOST // 2))
        cut = len(parts) < len(table) + len(inside)
        note = notes(left_out(columns), "parts are the largest changes only" if cut else "")
        value = float(np.max(np.abs(found)))
        attributes = tuple(column.name for column in columns)
        return self.reading(value, attributes, parts=parts, note=note)


def _strata(comparison: Comparison) -> list[tuple[int, NDArray[np.int64]]]:
    """Return the strata that are large enough, by number, and their records."""
    if comparison.strata is None:
        return []
    order, begins = in_groups(comparison.strata)
    sizes = sizes_of(begins, len(order))
    return [
        (int(comparison.strata[order[begin]]), order[begin : begin + size])
        for begin, size in zip(begins, sizes, strict=True)
        if size >= _FEW
    ]


class Tables:
    """Columns side by side before and after, and which values are present."""

    def __init__(self, columns: list[Numbers]) -> None:
        self.there = np.column_stack([column.there for column in columns])
        self.before, self.after = np.zeros(self.there.shape), np.zeros(self.there.shape)
        for j, column in enumerate(columns):
            self.before[column.there, j], self.after[column.there, j] = column.before, column.after

    def change(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the change of each correlation among some records."""
        there = self.there[rows]
        return correlation(self.after[rows], there) - correlation(self.before[rows], there)


def correlation(X: NDArray[np.float64], there: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the correlations of columns, each pair over the records with both values; 0 if undefined.

    >>> correlation(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 5.0]]), np.ones((2, 3), bool))[0]
    array([1., 1., 0.])
    """
    counts = there.sum(axis=0)
    first = X[there.argmax(axis=0), np.arange(X.shape[1])]
    whole = bool(there.all())
    Z = X - first if whole else np.where(there, X - first, 0.0)  # from the first value: exact if nothing varies
    Z -= Z.sum(axis=0) / np.maximum(counts, 1)
    if not whole:
        Z[~there] = 0.0
    scale = np.maximum(Z.max(axis=0), -Z.min(axis=0))
    Z /= np.where(scale > 0, scale, 1.0)
    if whole:
        products, squares = Z.T @ Z, np.broadcast_to((Z**2).sum(axis=0)[:, None], (Z.shape[1],) * 2)
    else:
        M = there.astype(np.float64)
        n, sums, raw = np.maximum(M.T @ M, 1.0), Z.T @ M, (Z**2).T @ M  # (i, j): of column i where j is present
        products, squares = Z.T @ Z - sums * sums.T / n, raw - sums**2 / n
        squares = np.where(squares > _ROUNDING * raw, squares, 0.0)
    both = np.sqrt(squares * squares.T)
    return np.asarray(np.clip(np.divide(products, both, out=np.zeros_like(products), where=both > 0), -1.0, 1.0))
