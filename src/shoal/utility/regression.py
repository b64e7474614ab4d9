"""Regression: whether a linear regression gives the same answer after as before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError, listing
from shoal.parameters import Checked, Param, unknown
from shoal.types import Codes, Comparison, Measure, Pair, Reading
from shoal.utility._columns import MOST, missing

_ALIASED = 1e-9  # a column with a smaller share of new variation adds nothing


class Fit(NamedTuple):
    """Least-squares fit. A column that is a combination of those before it has no coefficient: NaN."""

    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]  #: of the coefficients
    r_squared: float  #: NaN if there is nothing to explain


def triangle(blocks: Iterator[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the triangle R of a QR decomposition of all blocks: R'R is X'X, without its rounding."""
    found: NDArray[np.float64] | None = None
    for block in blocks:
        stacked = block if found is None else np.vstack((found, block))
        found = np.asarray(np.linalg.qr(stacked, mode="r"))
    assert found is not None
    return found


def least_squares(R: NDArray[np.float64], n: int) -> Fit:
    """Regress the last column of a table of n rows on the others, the first being the intercept; R is its triangle.

    >>> x = np.array([0.0, 1.0, 2.0])
    >>> fit = least_squares(np.linalg.qr(np.column_stack((np.ones(3), x, 1 + 2 * x)), mode="r"), 3)
    >>> fit.coefficients.round(6).tolist()
    [1.0, 2.0]
    """
    X, y = R[:, :-1], R[:, -1]
    kept = independent(X)
    found, *_ = np.linalg.lstsq(X[:, kept], y, rcond=None)
    coefficients = np.full(X.shape[1], np.nan)
    coefficients[kept] = found
    error = float(np.sum((y - X[:, kept] @ found) ** 2))
    covariance = np.full((X.shape[1],) * 2, np.nan)
    inverse = np.linalg.pinv(X[:, kept])
    covariance[np.ix_(kept, kept)] = inverse @ inverse.T * (error / max(n - len(kept), 1))
    one = X[:, 0] / np.linalg.norm(X[:, 0])
    total = float(np.sum((y - one * (one @ y)) ** 2))
    return Fit(coefficients, covariance, 1.0 - error / total if total > (_ALIASED**2) * (y @ y) else np.nan)


def independent(X: NDArray[np.float64]) -> list[int]:
    """Return the columns that are not combinations of those before them."""
    basis: list[NDArray[np.float64]] = []
    kept = []
    for j, column in enumerate(X.T):
        rest = column
        for _ in range(2):  # twice removes what rounding left
            for direction in basis:
                rest = rest - direction * (direction @ rest)
        length = float(np.linalg.norm(rest))
        if length > _ALIASED * float(np.linalg.norm(column)):
            basis.append(rest / length)
            kept.append(j)
    return kept


_MOST = 60  # coefficients
_BLOCK = 65_536  # rows
_WIDTH = 1.959963984540054  # of a 95 % interval, in standard errors


@dataclass(frozen=True)
class Regression(Checked, Measure):
    """Average overlap of the 95 % confidence intervals of the coefficients before and after ([KKORS06]).

    Least squares of a numeric column on others. A category gives a coefficient for each of its levels but the first,
    which is the reference; levels are named by their numbers. An overlap is the mean of the shares of each interval
    that the common part makes up: 1 if the intervals are equal, 0 if they are disjoint. Parts are the coefficients
    before and after, their overlaps, and R² before and after.

    **Guarantee.** 1 if and only if all intervals are preserved, up to rounding.

    **Complexity.** O(n p²) for p coefficients, at most 60.

    **Departures.** If intervals are disjoint, the formula of [KKORS06] is negative; here the overlap is 0. A
    coefficient that exists on one side only has an overlap of 0. Records with a column of the formula missing before or
    after are left out.

    References: [KKORS06].

    >>> x, y = np.arange(6.0), np.array([0.0, 1.0, 2.0, 2.0, 4.0, 5.0])
    >>> numbers = {"age": Pair(x, x), "pay": Pair(y, y)}
    >>> comparison = Comparison(np.zeros((6, 1)), np.zeros((6, 1)), ("age",), numbers)
    >>> Regression("pay ~ age").measure(comparison).value
    1.0
    """

    goal: ClassVar[str] = "high"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    formula: Annotated[str | None, Param("Regression to compare: a numeric column, ~, and columns joined by +.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.columns
        odd = len(names) < 2 or not all(names) or len(set(names)) < len(names) or any("~" in name for name in names)
        if self.formula is not None and odd:
            raise ParameterError(
                "Regression: formula must be a column, ~, and one or more others joined by +, each once, got "
                f"{self.formula!r}. Write it as 'income ~ age + education'."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the formula, the explained one first; empty without a formula."""
        if self.formula is None:
            return ()
        explained, _, others = self.formula.partition("~")
        return tuple(name.strip() for name in (explained, *others.split("+")))

    def measure(self, comparison: Comparison) -> Reading:
        """Fit before and after, and measure the overlap of confidence intervals."""
        if self.formula is None:
            return self.undefined("no formula was given, such as income ~ age + education")
        explained, others = self._look_up(comparison)
        there = np.logical_and.reduce([_there(column) for column in (explained, *others.values())])
        n = int(there.sum())
        terms = _terms(others)
        if n <= len(terms) + 1:
            return self.undefined(f"{n:,} records are too few for {len(terms) + 1} coefficients")
        fits = [_fit(explained, others, there, side) for side in (0, 1)]
        overlaps = _overlaps(*fits)
        parts = [("R², before", fits[0].r_squared), ("R², after", fits[1].r_squared)]
        for at, name in enumerate(("intercept", *terms)):
            if not np.isnan(overlaps[at]) and len(parts) + 3 <= MOST:
                parts += [(f"{name}, before", fits[0].coefficients[at]), (f"{name}, after", fits[1].coefficients[at])]
                parts += [(f"{name}, overlap", overlaps[at])]
        shown = tuple((name, float(value)) for name, value in parts if not np.isnan(value))
        gone = len(there) - n
        note = missing(gone, "record")
        value = float(np.nanmean(overlaps))
        return self.reading(value, self.columns, parts=shown, note=note)

    def _look_up(self, comparison: Comparison) -> tuple[Pair, dict[str, Pair | Codes]]:
        """Return the columns of the formula, or report which one does not exist."""
        known: dict[str, Pair | Codes] = {**comparison.numbers, **comparison.categories}
        for name in self.columns:
            if name not in known:
                raise ParameterError(unknown("Regression", "compared column (in formula)", name, tuple(known)))
        explained = known[self.columns[0]]
        if not isinstance(explained, Pair):
            numbers = listing(sorted(comparison.numbers)) or "none"
            raise ParameterError(
                f"Regression: the dependent variable must be a column of numbers ({numbers}), got "
                f"{self.columns[0]!r}. Put such a column before the ~."
            )
        return explained, {name: known[name] for name in self.columns[1:]}


def _there(column: Pair | Codes) -> NDArray[np.bool_]:
    if isinstance(column, Pair):
        return np.asarray(np.isfinite(column.before) & np.isfinite(column.after))
    return np.asarray((column.before >= 0) & (column.after >= 0))


def _terms(columns: dict[str, Pair | Codes]) -> list[str]:
    """Return the name of each coefficient after the intercept: a numeric column, or a level by its number."""
    terms: list[str] = []
    for name, column in columns.items():
        if isinstance(column, Pair):
            terms.append(name)
        else:
            terms += [f"{name}, level {level}" for level in range(2, len(column.names) + 1)]
    if len(terms) + 1 > _MOST:
        raise ParameterError(
            f"Regression: formula may have at most {_MOST} coefficients, got {len(terms) + 1:,}: a category has one "
            "for each level but the first. Leave out columns of many categories."
        )
    return terms


def _fit(explained: Pair, others: dict[str, Pair | Codes], there: NDArray[np.bool_], side: int) -> Fit:
    """Fit one side. Numbers are centred at their original mean, and the intercept is moved back."""
    centres = [_centre(column, there) for column in others.values()]
    rows = np.flatnonzero(there)
    fit = least_squares(triangle(_blocks(explained, list(others.values()), centres, rows, side)), len(rows))
    back = np.eye(len(fit.coefficients))
    at = 1
    for column, centre in zip(others.values(), centres, strict=True):
        if isinstance(column, Pair):
            back[0, at] = -centre
        at += 1 if isinstance(column, Pair) else max(len(column.names) - 1, 0)
    had = ~np.isnan(fit.coefficients)
    coefficients, covariance = np.where(had, fit.coefficients, 0.0), np.nan_to_num(fit.covariance)
    moved, spread = back @ coefficients, back @ covariance @ back.T
    return Fit(np.where(had, moved, np.nan), spread, fit.r_squared)


def _centre(column: Pair | Codes, there: NDArray[np.bool_]) -> float:
    return float(column.before[there].mean()) if isinstance(column, Pair) else 0.0


def _blocks(
    explained: Pair, others: Sequence[Pair | Codes], centres: Sequence[float], rows: NDArray[np.int64], side: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the intercept, the terms and the explained column, some rows at a time."""
    for begin in range(0, len(rows), _BLOCK):
        some = rows[begin : begin + _BLOCK]
        columns = [np.ones((len(some), 1))]
        for column, centre in zip(others, centres, strict=True):
            if isinstance(column, Pair):
                columns.append(column[side][some][:, None] - centre)
            else:
                codes = (column.after if side else column.before)[some]
                columns.append((codes[:, None] == np.arange(1, len(column.names))).astype(np.float64))
        yield np.column_stack((*columns, explained[side][some]))


def _overlaps(before: Fit, after: Fit) -> NDArray[np.float64]:
    """Return the overlap of the intervals of each coefficient; NaN if neither side has it."""
    widths = [_WIDTH * np.sqrt(fit.covariance.diagonal()) for fit in (before, after)]
    b, a = before.coefficients, after.coefficients
    reach = widths[0] + widths[1] - np.abs(b - a)  # from the lower end of one to the upper end of the other
    common = np.minimum(reach, 2 * np.minimum(*widths))
    shares = [np.divide(common, 2 * w, out=(common == 0).astype(np.float64), where=w > 0) for w in widths]
    found = np.clip((shares[0] + shares[1]) / 2, 0.0, 1.0)
    found = np.where(np.isnan(b) != np.isnan(a), 0.0, found)
    return np.where(np.isnan(b) & np.isnan(a), np.nan, found)
