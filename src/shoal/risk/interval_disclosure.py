"""ID: interval disclosure, the original values that lie in an interval around their masked values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from shoal.parameters import Checked, Param
from shoal.risk._attacker import in_reach, near_in_rank, ranks_of, reach_of
from shoal.types import Codes, Comparison, Measure, Pair, Reading

_USUAL = tuple(range(1, 11))


@dataclass(frozen=True)
class IntervalDisclosure(Checked, Measure):
    """Percentage of original values in an interval around the masked value, averaged over attributes.

    The masked value is placed among the sorted original values, and the interval covers p percent of the records to
    either side of it. Original values that equal the masked one are included, and equal values are included together.
    With ``among="masked"`` the ranks are those of the masked values; equal ones have all their ranks, so the interval
    covers at least the class below to the class above, however small p is. With ``by="deviation"`` it covers p percent
    of the original's deviation to either side. A category is disclosed if it is unchanged.

    **Guarantee.** The mean over all sets of known attributes is the same: each attribute is in as many sets of every
    size as any other. Records with a value missing before or after are left out for that attribute, and counted in the
    note.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** [N14] specifies neither the width of the intervals nor whose ranks they use. Without p this is the
    mean over p = 1 … 10. Among masked ranks, microaggregated values in large classes give the same figure for every p.

    References: [N14] Section 2.3, [DT01].

    >>> pair = Pair(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 1.5, 3.5, 3.5]))
    >>> table = Comparison(pair.before[:, None], pair.after[:, None], ("x",), {"x": pair})
    >>> IntervalDisclosure(p=50, by="deviation").measure(table).value
    100.0
    """

    short: ClassVar[str] = "id"
    exchangeable: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    by: Annotated[Literal["rank", "deviation"], Param("Unit of intervals.")] = "rank"
    among: Annotated[Literal["original", "masked"], Param("Table whose ranks the intervals use.")] = "original"
    p: Annotated[
        float | None,
        Param("Half-width of intervals, in percent; default: the mean over 1, 2, …, 10.", low=0, high=100),
    ] = None

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the ID of a masked table."""
        parts, left_out = [], 0
        for name in comparison.attributes:
            column = comparison.numbers.get(name) or comparison.categories.get(name)
            if column is None:
                continue
            there, share = self._share(column)
            left_out += int(np.count_nonzero(~there))
            if there.any():
                parts.append((name, 100.0 * share))
        notes = []
        if left_out:
            notes.append(f"{left_out:,} values were omitted, because they are missing before or after.")
        if not parts:
            notes.append("No attribute has a value both before and after.")
        value = float(np.mean([share for _, share in parts])) if parts else math.nan
        return self.reading(value, comparison.attributes, tuple(parts), " ".join(notes))

    def _share(self, column: Pair | Codes) -> tuple[np.ndarray, float]:
        """Return which records have the value before and after, and the share of those that are disclosed."""
        if isinstance(column, Codes):
            there = (column.before >= 0) & (column.after >= 0)
            return there, float(np.mean((column.before == column.after)[there])) if there.any() else 0.0
        there = np.isfinite(column.before) & np.isfinite(column.after)
        before, after = column.before[there], column.after[there]
        if not len(before):
            return there, 0.0
        widths = _USUAL if self.p is None else (self.p,)
        if self.by == "deviation":
            apart, deviation = np.abs(before - after), float(before.std())
            return there, float(np.mean([(apart <= width / 100 * deviation).mean() for width in widths]))
        # in rank order, neighbours in memory are neighbours in rank: ten times faster
        if self.among == "masked":
            order = np.argsort(after)
            ranked = after[order]
            ranks = ranks_of(ranked, ranked)
            inside = (in_reach(ranked, *ranks, before[order], width) for width in widths)
        else:
            order = np.argsort(before)
            ranked = before[order]
            own, place = ranks_of(ranked, ranked), ranks_of(ranked, after[order])
            inside = (near_in_rank(own, place, reach_of(width, len(ranked))) for width in widths)
        return there, float(np.mean([found.mean() for found in inside]))
