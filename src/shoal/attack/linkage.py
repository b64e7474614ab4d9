"""Linkage: the released record nearest to a person's original values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.risk._attacker import credit, different, linking
from shoal.types import CodedColumn, Comparison, stacked
from shoal.types.attack import Attempt, Case, codes, numbers
from shoal.types.protocols import Attack

_SAMPLE = 20_000  # records that are linked


@dataclass(frozen=True)
class Linkage(Attack):
    """The attacker links a person to the nearest released record.

    **What the attacker knows.** All quasi-identifiers of every person, exactly, and the released table.

    **What the attacker does.** Takes the released record nearest to a person, by Euclidean distance of standardised
    numbers; categories are equally far apart. Among several nearest, picks one at random. Of more than 20,000 records,
    a random sample is linked.

    **Learnt.** Expected number of people linked to their own record.

    **Baseline.** The person's share of the class, added up: 1 in the number of records that are equal in all released
    quasi-identifiers, and at most 1 in k.

    References: [DT01].

    **Complexity.** As for the measure ``distance_linkage``, with one set of known attributes.
    """

    needs: ClassVar[tuple[str, ...]] = ("quasi", "rows")
    advice: ClassVar[str] = "Protect the table again, with a larger k."

    def run(self, case: Case) -> Attempt:
        """Link people to released records by distance."""
        if not case.quasi:
            return Attempt.not_run(self.key, "The release has no quasi-identifiers.")
        if case.link is not None:
            return Attempt.not_run(
                self.key, "Quasi-identifiers are released unchanged; only their class has confidential values."
            )
        if case.truth is None:
            return Attempt.not_run(self.key, case.why_no_rows)
        if not len(case):
            return Attempt.not_run(self.key, "The release has no records.")
        comparison = _comparison(case)
        who = linking(comparison, min(_SAMPLE, len(case)), different(comparison.masked), 1)
        linked = float(credit(who.ties(comparison.attributes)).sum())
        share = 1.0 / np.bincount(case.classes)[case.classes[who.rows]]
        fair = float(np.minimum(share, 1.0 / max(int(case.recipe.get("k") or 1), 1)).sum())
        return Attempt.of(self.key, len(who.rows), round(linked), fair, "which record is a person's, by distance,")


def _comparison(case: Case) -> Comparison:
    assert case.truth is not None
    parts: list[list[NDArray[np.float64] | tuple[CodedColumn, float]]] = [[], []]
    owners: list[str] = []
    for name in case.quasi:
        before, after = (table.data.column(name) for table in (case.truth, case.table))
        x, y = numbers(before), numbers(after)
        if x is None or y is None:
            for side, column in zip(parts, _categories(before, after), strict=True):
                side.append((column, 1.0))
            owners.append(name)
        else:
            for side, coordinates in zip(parts, _standardised(x, y), strict=True):
                side.append(coordinates)
            owners += [name, name]
    return Comparison(stacked(parts[0]), stacked(parts[1]), tuple(owners))


def _standardised(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scale by the original's mean and deviation; a second coordinate marks missing values."""
    known = before[np.isfinite(before)]
    middle, spread = (float(known.mean()), float(known.std()) or 1.0) if len(known) else (0.0, 1.0)
    found = []
    for values in (before, after):
        lacking = ~np.isfinite(values)
        scaled = np.where(lacking, 0.0, (np.where(lacking, middle, values) - middle) / spread)
        found.append(np.column_stack((scaled, lacking.astype(np.float64))))
    return found[0], found[1]


def _categories(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[CodedColumn, CodedColumn]:
    """Return codes; any two categories are 1 apart."""
    texts = [_text(column) for column in (before, after)]
    both = codes(pa.chunked_array([chunk for one in texts for chunk in one.chunks], pa.large_string())).astype(np.int32)
    each = np.arange(int(both.max()) + 1, dtype=np.int32)[None]
    once, n = np.ones(1, np.int64), len(texts[0])
    return CodedColumn(both[:n], each, each + 1, once), CodedColumn(both[n:], each, each + 1, once)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string())
