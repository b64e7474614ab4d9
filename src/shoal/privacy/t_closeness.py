"""t-closeness: in every class confidential values are distributed almost as in the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.privacy.counting.earth_mover import distance, largest, noted, roughly, within, work
from shoal.privacy.counting.histograms import Histograms, histograms_of
from shoal.privacy.counting.numbers import rounded
from shoal.types import ConfidentialModel, Finding, Release

_WORST = 5


@dataclass(frozen=True)
class TCloseness(Checked, ConfidentialModel):
    """t-closeness (Li, Li and Venkatasubramanian), audited on the table as it is written.

    A release is t-close if in every class the earth mover's distance between the distribution of a confidential
    attribute in the class and in the whole table is at most t, for each confidential attribute separately.

    The bins are the distinct values of the table. The distance of numbers, dates and ordinal values is that of their
    ranks, (i − j) / (m − 1); that of two nominal values is 1; that of two values of a taxonomy is the height of their
    lowest common ancestor over the height of the tree. A missing value is a value: the last in an order, next to all
    groups in a taxonomy. NaN is missing, and −0 is 0. Classes are those of the audit of k-anonymity. Nothing is
    dropped, so the order of rows does not matter.

    **Guarantee.** Distances are fractions of integers, and are compared with t as written (0.1 is one tenth): rounding
    decides nothing. `achieved` is the largest distance, rounded to the nearest float.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** [LLV07] do not define the distance if the table holds a single value: here it is 0.

    **What it does not promise.** That an attacker learns nothing from the whole table, or about a confidential value
    combined with another: each attribute is audited separately.

    References: [LLV07], [SC15].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)))
    >>> release = Release(pa.table({"age": [30, 30, 50, 50], "pay": [1, 3, 2, 4]}), schema)
    >>> TCloseness(t=0.2).audit(release, ["age"], ["pay"])[0].achieved
    0.16666666666666666
    """

    short: ClassVar[str] = "t"
    level: ClassVar[str] = "t"
    reported: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    more_is_worse: ClassVar[bool] = True
    example: ClassVar[str] = "0.2"

    t: Annotated[
        float | None, Param("Largest distance (0–1) of a class from the table; none: only report.", low=0, high=1)
    ] = None

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find how far classes over some columns are from the table."""
        found = histograms_of(release, attributes, confidential)
        achieved, worst = farthest(found)
        return self.finding(
            attributes,
            rounded(achieved, self.t),
            self.t,
            len(found.classes.sizes),
            worst,
            holds=within(achieved, self.t),
            note=f"bins are the distinct values, and {found.values.reading}",
            confidential=confidential,
        )


def farthest(found: Histograms) -> tuple[Fraction, tuple[tuple[int, float], ...]]:
    """Return the distance of the farthest class from the table, and the farthest few classes by number."""
    values, sizes = found.values, found.classes.sizes
    n = values.records
    works = work(values, found.codes, sizes, found.base)
    numbers = found.classes.numbers()
    rough = roughly(works, sizes, n, values.scale)
    far = np.flatnonzero(rough >= np.partition(rough, -min(_WORST, len(rough)))[-min(_WORST, len(rough))])
    order = far[np.lexsort((numbers[far], -rough[far]))][:_WORST]
    worst = [(int(numbers[i]), distance(works[i], sizes[i], n, values.scale)) for i in order]
    return largest(works, sizes, n, values.scale), noted(worst)
