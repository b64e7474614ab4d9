"""Linkage: the released record nearest to a person's original values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.risk._attacker import credit, different, linking
from shoal.types import Comparison
from shoal.types.attack import Attempt, Case, codes, numbers
from shoal.types.protocols import Attack

_SAMPLE = 20_000  # records that are linked
_CATEGORIES = 200  # most categories of an attribute that are told apart; the rarest share one


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
    parts = []
    for name in case.quasi:
        before, after = (table.data.column(name) for table in (case.truth, case.table))
        x, y = numbers(before), numbers(after)
        both = _categories(before, after) if x is None or y is None else _standardised(x, y)
        parts.append((name, *both))
    owners = tuple(name for name, x, _ in parts for _ in range(x.shape[1]))
    original, masked = (np.ascontiguousarray(np.hstack([part[side] for part in parts])) for side in (1, 2))
    return Comparison(original, masked, owners)


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


def _categories(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a coordinate for each category, so that any two are 1 apart."""
    texts = [_text(column) for column in (before, after)]
    both = codes(pa.chunked_array([chunk for one in texts for chunk in one.chunks], pa.large_string()))
    n = len(texts[0])
    common = np.argsort(-np.bincount(both), kind="stable")[: _CATEGORIES - 1]
    place = np.full(int(both.max()) + 1, len(common), np.int64)
    place[common] = np.arange(len(common))
    found = np.zeros((len(both), len(common) + 1))
    found[np.arange(len(both)), place[both]] = np.sqrt(0.5)
    return found[:n], found[n:]


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string())
