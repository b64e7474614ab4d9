"""Propensity: whether a regression can distinguish masked records from originals (pMSE)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.types import Codes, Comparison, Measure, Pair, Reading

_BLOCK = 16_384  # records
_LEVELS = 30  # of a category; all others together are the reference
_STEPS = 25
_FEW = 100_000  # records used for an initial guess
_SAME = 1e-7  # a combination of terms that varies less, per record, counts as constant
_CLOSE = 1e-10  # possible gain in likelihood per record at which to stop
_FAR = 1e6  # deviations: no original lies this far off unless there are 10¹² of them, and squares stay finite
_RIDGE = 1e-9  # per record: keeps coefficients finite if the two can be separated perfectly


class Square(NamedTuple):
    """Column of numbers and its square, standardised by the original."""

    pair: Pair
    moments: tuple[float, float, float, float]  #: mean and deviation of the values, and of their squares
    missing: bool  #: whether a value is missing before or after, which gets a column of its own

    @property
    def width(self) -> int:
        """Return the number of terms."""
        return 3 if self.missing else 2

    def every(self, so_many: int) -> Square:
        """Return the column with every `so_many`-th record."""
        return self._replace(pair=Pair(self.pair.before[::so_many], self.pair.after[::so_many]))

    def terms(self, side: int, begin: int, out: NDArray[np.float64]) -> None:
        """Fill in the terms of some records."""
        values = self.pair[side][begin : begin + len(out)]
        mean, spread, other, wide = self.moments
        np.subtract(values, mean, out=out[:, 0])
        out[:, 0] /= spread
        np.clip(out[:, 0], -_FAR, _FAR, out=out[:, 0])
        np.multiply(out[:, 0], out[:, 0], out=out[:, 1])
        out[:, 1] -= other
        out[:, 1] /= wide
        if self.missing:
            out[:, 2] = np.isnan(values)
            np.nan_to_num(out, copy=False)


class Levels(NamedTuple):
    """Most frequent categories of a column, missing values included, except the most frequent of all."""

    codes: Codes
    levels: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Return the number of terms."""
        return len(self.levels)

    def every(self, so_many: int) -> Levels:
        """Return the column with every `so_many`-th record."""
        before, after = self.codes.before[::so_many], self.codes.after[::so_many]
        return self._replace(codes=self.codes._replace(before=before, after=after))

    def at(self, side: int, begin: int, end: int) -> NDArray[np.int64]:
        """Return the term of each of some records, from 1; 0 for the reference."""
        codes = (self.codes.after if side else self.codes.before)[begin:end] + 1  # −1 is missing
        term = np.zeros(max(int(codes.max(initial=0)), int(self.levels.max(initial=-1)) + 1) + 1, np.int64)
        term[self.levels + 1] = np.arange(1, self.width + 1)
        return np.asarray(term[codes])


class Terms(NamedTuple):
    """Terms of some records: a matrix of intercept and numbers, and for each column of categories the one that is 1."""

    numbers: NDArray[np.float64]  #: (m, 1 + terms of numbers)
    levels: list[NDArray[np.int64]]  #: for each column: the term of each record, from 1; 0 for the reference
    widths: list[int]  #: terms of each column

    def dot(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the linear predictor of each record."""
        d = self.numbers.shape[1]
        found = self.numbers @ at[:d]
        for level, width in zip(self.levels, self.widths, strict=True):
            found += np.concatenate(([0.0], at[d : d + width]))[level]
            d += width
        return np.asarray(found)

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted sum of each term."""
        levels = (
            np.bincount(level, weights, width + 1)[1:] for level, width in zip(self.levels, self.widths, strict=True)
        )
        return np.concatenate((weights @ self.numbers, *levels))

    def products(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the weighted sum of the product of every two terms, from counts where both are categories."""
        ones = np.ones(len(self.numbers)) if weights is None else weights
        weighted, d = self.numbers * ones[:, None], self.numbers.shape[1]
        found = np.zeros((d + sum(self.widths),) * 2)
        found[:d, :d] = self.numbers.T @ weighted
        starts = np.cumsum([d, *self.widths]).tolist()
        for a, (level, width) in enumerate(zip(self.levels, self.widths, strict=True)):
            own = slice(starts[a], starts[a + 1])
            for j in range(d):
                found[own, j] = np.bincount(level, weighted[:, j], width + 1)[1:]
            found[:d, own] = found[own, :d].T
            found[own, own] = np.diag(found[own, 0])  # a record has one term of a column
            for b in range(a):
                cells = np.bincount(
                    level * (self.widths[b] + 1) + self.levels[b], ones, (width + 1) * (self.widths[b] + 1)
                )
                other = slice(starts[b], starts[b + 1])
                found[own, other] = cells.reshape(width + 1, -1)[1:, 1:]
                found[other, own] = found[own, other].T
        return found


def columns_of(comparison: Comparison) -> list[Square | Levels]:
    """Return the attributes as terms of a logistic regression."""
    found: list[Square | Levels] = []
    for name in comparison.attributes:
        if name in comparison.numbers:
            found += _square(comparison.numbers[name])
        elif name in comparison.categories:
            codes = comparison.categories[name]
            levels, counts = np.unique(np.concatenate(codes[:2]), return_counts=True)
            found.append(Levels(codes, levels[np.argsort(-counts, kind="stable")][1 : _LEVELS + 1]))
    return found


def _square(pair: Pair) -> list[Square | Levels]:
    known = pair.before[~np.isnan(pair.before)]
    missing = bool(np.isnan(pair.before).any() or np.isnan(pair.after).any())
    if not len(known):
        return []
    mean, spread = float(known.mean()), float(known.std()) or 1.0
    squares = ((known - mean) / spread) ** 2
    return [Square(pair, (mean, spread, float(squares.mean()), float(squares.std()) or 1.0), missing)]


def too_large(columns: list[Square | Levels]) -> bool:
    """Tell whether an attribute holds numbers so large that mean or deviation overflow."""
    return any(isinstance(column, Square) and not np.isfinite(column.moments).all() for column in columns)


class State(NamedTuple):
    """Coefficients, and the likelihood and its derivatives there."""

    at: NDArray[np.float64]
    likelihood: float
    gradient: NDArray[np.float64]
    curvature: NDArray[np.float64]
    squares: float  #: Σ (propensity − ½)²


def fitted(columns: list[Square | Levels], n: int) -> State:
    """Fit by Newton steps, halved while they lead downhill. A large table starts from the fit of a subsample."""
    start = np.zeros(1 + sum(column.width for column in columns))
    every = n // _FEW
    if every > 1:
        start = fitted([column.every(every) for column in columns], (n + every - 1) // every).at
    state = _look(start, columns, n)
    for _ in range(_STEPS):
        step = np.linalg.lstsq(state.curvature, state.gradient, rcond=1e-12)[0]
        if state.gradient @ step <= _CLOSE * n:
            break
        found = _look(state.at + step, columns, n)
        while not found.likelihood >= state.likelihood and np.abs(step).max() > 1e-6:
            step = step / 2
            found = _look(state.at + step, columns, n)
        state = found
    return state


def rank(columns: list[Square | Levels], n: int) -> int:
    """Return the number of terms without the intercept and without those that are implied by others."""
    curvature = sum(terms.products() for _, terms in _blocks(columns, n))
    return int(np.linalg.matrix_rank(curvature, tol=_SAME * n, hermitian=True)) - 1


def _look(at: NDArray[np.float64], columns: list[Square | Levels], n: int) -> State:
    """Evaluate all records once."""
    ridge = _RIDGE * n
    sides = [np.zeros(len(at)), np.zeros(len(at))]  # separate, so that equal tables cancel exactly
    curvature = ridge * np.eye(len(at))
    likelihood, squares = -ridge / 2 * float(at @ at), 0.0
    for side, terms in _blocks(columns, n):
        away = terms.dot(at)
        p = 0.5 * (1.0 + np.tanh(0.5 * away))
        wrong = 1.0 - p if side else p
        sides[side] += terms.sums(wrong)
        curvature += terms.products(p * (1.0 - p))
        likelihood -= float(np.logaddexp(0.0, -away if side else away).sum())
        squares += float(((p - 0.5) ** 2).sum())
    return State(at, likelihood, sides[1] - sides[0] - ridge * at, curvature, squares)


def _blocks(columns: list[Square | Levels], n: int) -> Iterator[tuple[int, Terms]]:
    """Yield the terms of originals (0) and masked records (1), in blocks; those of numbers come first."""
    numbers = [column for column in columns if isinstance(column, Square)]
    levels = [column for column in columns if isinstance(column, Levels)]
    for side in (0, 1):
        for begin in range(0, n, _BLOCK):
            end = min(begin + _BLOCK, n)
            X = np.ones((end - begin, 1 + sum(column.width for column in numbers)), order="F")
            at = 1
            for column in numbers:
                column.terms(side, begin, X[:, at : at + column.width])
                at += column.width
            yield side, Terms(X, [one.at(side, begin, end) for one in levels], [one.width for one in levels])


@dataclass(frozen=True)
class Propensity(Measure):
    """pMSE ([WROK09]): the mean squared distance from ½ of the propensity to be a masked record.

    Original and masked records are put in one table, and a logistic regression on the attributes estimates how likely
    each is to be a masked one. Numbers enter with their squares; the 31 most frequent categories of a column are
    distinguished. A missing value is a category, too, so nothing is left out. Part ``ratio`` divides by the average for
    as many records drawn at random from the original ([SRNDS18]), part ``expected``.

    **Guarantee.** 0 if the regression finds no difference at all; 0.25 if it separates all records.

    **Complexity.** O(n (p + c)²) for p terms of numbers and c columns of categories, a few times.

    **Departures.** A masked record stays near its original, unlike one drawn at random, so the ratio is below 1 more
    often than for synthetic data. A ridge of 10⁻⁹ per record keeps coefficients finite.

    References: [WROK09], [SRNDS18].

    >>> import numpy as np
    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.arange(4.0), np.arange(4.0))}
    >>> Propensity().measure(Comparison(np.zeros((4, 1)), np.zeros((4, 1)), ("pay",), numbers)).value
    0.0
    """

    exchangeable: ClassVar[bool] = True
    unpaired: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 0.25)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how well masked records can be distinguished from originals."""
        columns = columns_of(comparison)
        if not columns:
            return self.undefined("no attribute has a value")
        if too_large(columns):
            return self.undefined("an attribute holds numbers too large to have a deviation")
        n = len(comparison)
        value = min(fitted(columns, n).squares / (2 * n), 0.25)
        terms = rank(columns, n)
        expected = terms / (16 * n)  # [SRNDS18]: (p − 1)(1 − c)² c / N with c = ½ and N = 2n
        parts = [("terms", float(terms)), ("expected", expected)]
        parts += [("ratio", value / expected)] if terms else []
        return self.reading(value, comparison.attributes, parts=tuple(parts))
