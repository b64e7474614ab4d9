"""IL of [N14]: how far values, covariances, variances and correlations moved, in percent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import missing, notes, numbers_of


@dataclass(frozen=True)
class InformationLoss(Measure):
    """100 times the mean of the four parts of [N14] section 2.3, over the numeric attributes.

    With X the table, V its covariances, S its variances, R its correlations, and a prime for those of the masked table:
    the mean variation of X, of V on and above the diagonal, and of S, and the mean absolute error of R above the
    diagonal. A variation is |x − x′| / |x|. The variation of the means is a part, too, and so is the mean including it
    (`five`).

    **Guarantee.** 0 if and only if nothing changed, up to rounding.

    **Complexity.** O(n d²).

    **Departures.** [N14] does not define the variation if x is 0: here it is 0 if x′ is 0 too, else 1. It names the
    means, but not among the averaged parts; [DT01a] averages five, and others cap variations or divide by deviations
    ([YWC02]). With one attribute there are no correlations, and the mean is over three parts. Records with a number
    missing before or after are left out.

    References: [N14], [DT01a], [YWC02].

    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 1.5, 3.5, 3.5]))}
    >>> comparison = Comparison(np.zeros((4, 1)), np.zeros((4, 1)), ("pay",), numbers)
    >>> {name: round(value, 6) for name, value in InformationLoss().measure(comparison).parts}["variances"]
    20.0
    """

    exchangeable: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    short: ClassVar[str] = "il"

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the information loss of a masked table."""
        columns = numbers_of(comparison)
        if not columns:
            return self.undefined("no attribute is a number")
        whole = np.logical_and.reduce([column.there for column in columns])
        n = int(whole.sum())
        if n < 2:
            return self.undefined("fewer than two records have all numbers before and after")
        X, Y = (
            np.column_stack([getattr(column, side)[whole[column.there]] for column in columns])
            for side in ("before", "after")
        )
        found = components(X, Y)
        value = _mean([part for name, part in found.items() if name != "means"])
        parts = (*found.items(), ("five", _mean(list(found.values()))))
        gone = len(comparison) - n
        others = len(comparison.attributes) - len(columns)
        omitted = f"attributes that are not numbers are omitted: {others:,}" if others else ""
        note = notes(missing(gone, "record"), omitted)
        names = tuple(column.name for column in columns)
        return self.reading(value, names, parts, note)


def components(X: NDArray[np.float64], Y: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean variations and the mean absolute error that make up IL, in percent."""
    (means, V), (others, W) = _moments(X), _moments(Y)
    upper, above = np.triu_indices(len(V)), np.triu_indices(len(V), 1)
    found = {
        "values": _variation(X, Y),
        "covariances": _variation(V[upper], W[upper]),
        "variances": _variation(V.diagonal(), W.diagonal()),
        "means": _variation(means, others),
    }
    if len(V) > 1:
        found["correlations"] = float(np.mean(np.abs(_correlations(V) - _correlations(W))[above]))
    return {name: 100.0 * value for name, value in found.items()}


def _moments(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and covariances; exactly 0 where nothing varies."""
    offsets = X - X[0]
    mean = offsets.mean(axis=0)
    offsets -= mean
    offsets[:, (X[0] == X).all(axis=0)] = 0.0
    return X[0] + mean, offsets.T @ offsets / len(X)


def _correlations(V: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return correlations; 0 where an attribute does not vary."""
    spread = np.sqrt(V.diagonal())
    both = np.outer(spread, spread)
    return np.asarray(np.divide(V, both, out=np.zeros_like(V), where=both > 0))


def _variation(x: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the mean of |x − x′| / |x|; if x is 0, the term is 0 if x′ is 0 too, else 1."""
    changed = np.abs(x - other)
    return float(np.mean(np.divide(changed, np.abs(x), out=(changed > 0).astype(np.float64), where=x != 0)))


def _mean(parts: list[float]) -> float:
    return math.fsum(parts) / len(parts)
