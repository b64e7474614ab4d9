"""Propensity: whether a regression can tell masked records from originals (pMSE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Reading
from shoal.utility._columns import nothing
from shoal.utility._membership import columns_of, fitted, rank, too_large


@dataclass(frozen=True)
class Propensity:
    """pMSE ([WROK09]): the mean squared distance from ½ of the propensity to be a masked record.

    Original and masked records are put in one table, and a logistic regression on the attributes says how likely each
    is to be a masked one. Numbers enter with their squares; of categories the 31 most frequent are told apart. A value
    that is missing is a category, too, so that nothing is left out. Part ``ratio`` divides by what as many records
    drawn at random from the original would give on average ([SRNDS18]), part ``expected``.

    **Guarantee.** 0 if the regression finds no difference at all; 0.25 if it tells all records apart.

    **Complexity.** O(n p²) for p terms, a few times.

    **Departures.** A masked record stays near its original, other than one drawn at random, so that the ratio is
    below 1 more often than for synthetic data. A ridge of 10⁻⁹ for each record keeps coefficients finite.

    References: [WROK09], [SRNDS18].

    >>> import numpy as np
    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.arange(4.0), np.arange(4.0))}
    >>> Propensity().measure(Comparison(np.zeros((4, 1)), np.zeros((4, 1)), ("pay",), numbers)).value
    0.0
    """

    exchangeable: ClassVar[bool] = True
    goal: ClassVar[str] = "low"
    range: ClassVar[tuple[float, float]] = (0.0, 0.25)

    def measure(self, comparison: Comparison) -> Reading:
        """Read how well masked records can be told from originals."""
        columns = columns_of(comparison)
        if not columns:
            return nothing("propensity", self, "no attribute has a value")
        if too_large(columns):
            return nothing("propensity", self, "an attribute holds numbers too large to have a deviation")
        n = len(comparison)
        value = min(fitted(columns, n).squares / (2 * n), 0.25)
        terms = rank(columns, n)
        expected = terms / (16 * n)  # [SRNDS18]: (p − 1)(1 − c)² c / N with c = ½ and N = 2n
        parts = [("terms", float(terms)), ("expected", expected)]
        parts += [("ratio", value / expected)] if terms else []
        return Reading("propensity", value, self.goal, self.range, comparison.attributes, parts=tuple(parts))
