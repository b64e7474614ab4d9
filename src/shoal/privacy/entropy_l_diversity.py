"""Entropy l-diversity: in every class confidential values are as uncertain as l equally frequent values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import Histograms, at_least, effective, entropies, histograms_of, kinds
from shoal.privacy.counting.numbers import beside, worst, written
from shoal.types import ConfidentialModel, Finding, Release


@dataclass(frozen=True)
class EntropyLDiversity(Checked, ConfidentialModel):
    """Entropy l-diversity (Machanavajjhala et al.), audited on the table as it is written.

    Let pᵢ be the shares of the values of a confidential attribute in a class. Its entropy is −Σ pᵢ log pᵢ. A release is
    l-diverse in this sense if the entropy of every class is at least log l, for each confidential attribute separately.
    l need not be an integer. Shares are of records, even where k counts subjects. Values, spellings and classes are
    counted as in :func:`~shoal.privacy.counting.histograms.histograms_of`.

    **Guarantee.** l is taken as written (2.5 is five halves), and rounding decides nothing: entropies that floats
    cannot tell from log l are compared as products of powers of integers. `achieved` is exp(entropy) of the worst
    class, rounded.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** None.

    **What it does not promise.** That values differ by much, or that a class resembles the table. The whole table must
    itself be l-diverse, which one very common value makes impossible.

    References: [MKGV07], [DSS08].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)))
    >>> release = Release(pa.table({"age": [30] * 4 + [50] * 3, "ill": list("aabcdef")}), schema)
    >>> found = EntropyLDiversity(l=2.9).audit(release, ["age"], ["ill"])[0]
    >>> round(found.achieved, 6), found.holds
    (2.828427, False)
    """

    short: ClassVar[str] = "l_entropy"
    level: ClassVar[str] = "l"
    reported: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    example: ClassVar[str] = "2.5"

    l: Annotated[  # noqa: E741 - the literature's name
        float | None, Param("Smallest exp(entropy) of a class, in equally frequent values; none: only report.", low=1)
    ] = None

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find exp(entropy) of the least diverse class over some columns."""
        found = histograms_of(release, attributes, confidential, as_counted=True)
        rough, error = _effective(found)
        holds, level = self.l is None or _holds(found, rough, error, self.l), _least(found, rough, error)
        return self.finding(
            attributes,
            level if holds or self.l is None else beside(level, False, self.l),
            self.l,
            len(rough),
            worst(rough, found.classes),
            holds=holds,
            confidential=confidential,
        )


def _effective(found: Histograms) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return exp(entropy) of each class in floats, and an error bound; the bound is 0 where all counts are equal."""
    rough, error = found.distinct.astype(np.float64), np.zeros(len(found.distinct))
    some = found.uneven
    if len(some.at):
        entropy, off = entropies(some)
        rough[some.at] = np.exp(entropy)
        error[some.at] = rough[some.at] * (2 * off + 1e-15)
    return rough, error


def _holds(found: Histograms, rough: NDArray[np.float64], error: NDArray[np.float64], l: float) -> bool:  # noqa: E741
    """Tell whether every class is l-diverse, exactly."""
    asked, some = written(l), found.uneven
    if (rough + error < l * (1 - 1e-15)).any():
        return False
    if bool((found.distinct[found.even] < math.ceil(asked)).any()):
        return False
    near = np.flatnonzero((rough - error)[some.at] <= l * (1 + 1e-15))
    return all(at_least(counts, asked) for counts in kinds(some, near))


def _least(found: Histograms, rough: NDArray[np.float64], error: NDArray[np.float64]) -> float:
    """Return the least exp(entropy) of any class, rounded once."""
    near = np.flatnonzero(rough - error <= (rough + error).min())
    even: list[float] = found.distinct[near[found.even[near]]][:1].astype(np.float64).tolist()
    uneven = np.flatnonzero(np.isin(found.uneven.at, near[~found.even[near]]))
    return min([*even, *(float(effective(counts)) for counts in kinds(found.uneven, uneven))])
