"""Order of rows: the position of a record in a sorted file gives away its rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.types.attack import Attempt, Case, numbers
from shoal.types.protocols import Attack


@dataclass(frozen=True)
class RowOrder(Attack):
    """The attacker guesses a value from the position of its row.

    **What the attacker knows.** The released table, and that files are often sorted.

    **What the attacker does.** Guesses the i-th smallest released value for the i-th row, and for a descending order
    the i-th largest.

    **Learnt.** Records whose guess is nearer to the original than the released value is, for the quasi-identifier and
    the direction in which they exceed the baseline most.

    **Baseline.** Half of the records where the guess and the released value differ.

    **Complexity.** O(n log n) for each numeric quasi-identifier.
    """

    needs: ClassVar[tuple[str, ...]] = ("quasi", "rows")
    quick: ClassVar[bool] = True
    advice: ClassVar[str] = 'Set row_order = "shuffle".'

    def run(self, case: Case) -> Attempt:
        """Guess the values of all numeric quasi-identifiers from positions."""
        if case.truth is None:
            return Attempt.not_run(self.key, case.why_no_rows)
        if case.link is not None:
            return Attempt.not_run(self.key, "Quasi-identifiers are released unchanged, so rows add nothing.")
        found = [one for name in case.quasi for one in self._of(case, name)]
        if not found:
            return Attempt.not_run(self.key, "The release has no numeric quasi-identifier.")
        return Attempt.worst(found)

    def _of(self, case: Case, name: str) -> list[Attempt]:
        assert case.truth is not None
        before, after = numbers(case.truth.data.column(name)), numbers(case.table.data.column(name))
        if before is None or after is None:
            return []
        known = np.isfinite(before) & np.isfinite(after)
        before, after = before[known], after[known]
        rising, error = np.sort(after), np.abs(after - before)
        found = []
        for guess in (rising, rising[::-1]):
            nearer = int((np.abs(guess - before) < error).sum())
            differ = int((guess != after).sum())
            what = f"more about {name!r} from the position of a row than from the released value"
            found.append(Attempt.of(self.key, len(case), nearer, differ / 2, what))
        return found
