"""Records that look for themselves among the masked ones, all or a sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.space.nearest_own import Masked, as_near, different
from shoal.types import Comparison

_LINKS = 5_000_000  # records × sets of attributes that are looked at, unless somebody says how many records
_FEWEST = 1_000  # records, however many sets there are


class Linking(NamedTuple):
    """Different masked records, and the original ones that look for themselves."""

    comparison: Comparison
    masked: Masked
    rows: NDArray[np.int64]  #: the records that look
    x: NDArray[np.float64]  #: their original coordinates
    places: dict[str, tuple[int, ...]]

    def ties(self, known: Sequence[str]) -> NDArray[np.int64]:
        """Return how many masked records are as near as the right one; 0 if one is nearer."""
        columns = np.array(sorted(j for name in known for j in self.places[name]))
        return np.asarray(as_near(self.x, self.masked.of_row[self.rows], self.masked, columns))

    def told(self, linked: NDArray[np.float64]) -> str:
        """Return the sentence about the sample, with the standard error of the mean of what was read, in percent."""
        n, m = len(self.comparison), len(self.rows)
        if m == n:
            return ""
        error = float(linked.std() * np.sqrt((1 - m / n) / m))
        return f"A random sample of {m:,} of {n:,} records was looked at; standard error {100 * error:.2g} %."


def linking(comparison: Comparison, sample: int | None, masked: Masked, sets: int) -> Linking:
    """Choose the records that look: `sample` of them, or as many as so many sets allow."""
    n = len(comparison)
    size = min(n, max(_LINKS // sets, _FEWEST) if sample is None else sample)
    rows = np.arange(n)
    if size < n:
        rows = np.sort(np.random.default_rng(comparison.seed).choice(n, size, replace=False))
    return Linking(comparison, masked, rows, comparison.original[rows], comparison.places)


def credit(ties: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how likely an intruder is right who picks one of the nearest masked records.

    >>> credit(np.array([1, 4, 0])).tolist()
    [1.0, 0.25, 0.0]
    """
    return np.where(ties > 0, 1.0 / np.maximum(ties, 1), 0.0)


__all__ = ["Linking", "credit", "different", "linking"]
