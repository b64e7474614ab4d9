"""Least squares by triangles: a table of any length becomes a small one with the same fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_ALIASED = 1e-9  # a column of which a smaller share is new says nothing new


class Fit(NamedTuple):
    """A least-squares fit. A column that is a combination of those before it has no coefficient: NaN."""

    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]  #: of the coefficients
    r_squared: float  #: NaN where there is nothing to explain


def triangle(blocks: Iterator[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the triangle R of a QR decomposition of all blocks: R'R is X'X, without its rounding."""
    found: NDArray[np.float64] | None = None
    for block in blocks:
        stacked = block if found is None else np.vstack((found, block))
        found = np.asarray(np.linalg.qr(stacked, mode="r"))
    assert found is not None
    return found


def least_squares(R: NDArray[np.float64], n: int) -> Fit:
    """Fit the last column of a table of n rows to the others, the first of them the intercept; R is its triangle.

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
    """Return the columns that are no combination of those before them."""
    basis: list[NDArray[np.float64]] = []
    kept = []
    for j, column in enumerate(X.T):
        rest = column
        for _ in range(2):  # twice is enough for what rounding left
            for direction in basis:
                rest = rest - direction * (direction @ rest)
        length = float(np.linalg.norm(rest))
        if length > _ALIASED * float(np.linalg.norm(column)):
            basis.append(rest / length)
            kept.append(j)
    return kept
