"""Order of rows: the position of a record in a sorted file gives away its rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.types.attack import Attempt, Case, numbers
from shoal.types.protocols import Attack
from shoal.types.table import Role

_LENGTH = 3  # mean length of runs that are used
_COLUMNS = 3  # columns whose runs are used
_ROWS = 100_000  # rows of runs that are used
_MOST = 1_000_000  # rows, about, that are attacked in a larger table

_Run = tuple[str, NDArray[np.int64], NDArray[np.int64]]  # column, rows, and the run of each; no column: one run


@dataclass(frozen=True)
class RowOrder(Attack):
    """The attacker guesses a value from the position of its row.

    **What the attacker knows.** The released table, and that files are often sorted.

    **What the attacker does.** Guesses the i-th smallest released value for the i-th row, and for a descending order
    the i-th largest. Files are also sorted by several columns, such as region and income: if an unchanged column has
    runs of equal values, the attacker does the same within its runs. Of the three columns with the fewest runs, up to
    100,000 rows are used. In a table of two million rows or more, every second, third, … row is attacked, about a
    million in all: they are sorted if the table is.

    **Learnt.** Records whose guess is nearer to the original than the released value is, for the quasi-identifier, the
    direction and the runs in which they exceed the baseline most.

    **Baseline.** Half of the records where the guess and the released value differ.

    **Complexity.** O(n log n) for each numeric quasi-identifier, and for each column of runs.
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
        step = max(len(case) // _MOST, 1)
        rows = np.arange(0, len(case), step)
        runs = [("", rows, np.zeros(len(rows), np.int64)), *_runs(case)]
        found = [one for name in case.quasi for one in self._of(case, name, runs)]
        if not found:
            return Attempt.not_run(self.key, "The release has no numeric quasi-identifier.")
        worst, said = Attempt.worst(found), f" One of every {step:,} rows was attacked."
        return worst if step == 1 else replace(worst, sentence=worst.sentence + said)

    def _of(self, case: Case, name: str, runs: list[_Run]) -> list[Attempt]:
        assert case.truth is not None
        found = []
        for of, rows, run in runs:
            before, after = (_numbers(table.data.column(name), rows) for table in (case.truth, case.table))
            if before is None or after is None:
                return []
            there = np.isfinite(before) & np.isfinite(after)
            own, shown = before[there], after[there]
            rising = shown[np.lexsort((shown, run[there]))] if of else np.sort(shown)
            where = f"the position of a row among those with its {of!r}" if of else "the position of a row"
            what = f"more about {name!r} from {where} than from the released value"
            for guess in (rising, rising[_reversed(run[there])] if of else rising[::-1]):
                nearer = int((np.abs(guess - own) < np.abs(shown - own)).sum())
                found.append(Attempt.of(self.key, len(run), nearer, int((guess != shown).sum()) / 2, what))
        return found


def _numbers(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return half the numbers in some rows, so that no difference is beyond the largest number; None: not numbers."""
    found = numbers(column if len(rows) == len(column) else column.take(pa.array(rows)))
    return None if found is None else found / 2


def _reversed(run: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of rows with each run reversed.

    >>> _reversed(np.array([0, 0, 0, 1, 1])).tolist()
    [2, 1, 0, 4, 3]
    """
    return np.asarray(np.searchsorted(run, run) + np.searchsorted(run, run, "right") - 1 - np.arange(len(run)))


def _runs(case: Case) -> list[_Run]:
    """Return the unchanged columns with the fewest runs of equal values, rows, and the run of each row."""
    found = []
    for name in case.original.schema.names(Role.OTHER, Role.STRATA, Role.CONFIDENTIAL):
        if name in case.table.data.column_names and len(case) > 1:
            column = case.table.data.column(name)
            begins = _begins(column, min(len(case), _ROWS))
            runs = int(np.count_nonzero(begins)) + 1
            if 1 < runs <= len(begins) / _LENGTH:
                found.append((runs, name, np.concatenate([[0], np.cumsum(begins)])))
    return [(name, np.arange(len(run)), run) for _, name, run in sorted(found, key=lambda one: one[:2])[:_COLUMNS]]


def _begins(column: pa.ChunkedArray, n: int) -> NDArray[np.bool_]:
    """Tell for each of n cells except the first whether it differs from the cell before."""
    if pa.types.is_dictionary(column.type):
        column = column.slice(0, n).cast(column.type.value_type)
    try:
        differ = pc.not_equal(column.slice(0, n - 1), column.slice(1, n - 1))
    except pa.ArrowException:  # lists and structures
        return np.ones(n - 1, np.bool_)
    return np.asarray(pc.fill_null(differ, True).to_numpy(), np.bool_)
