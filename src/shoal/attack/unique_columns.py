"""Unique columns: columns released unchanged that no one has reviewed, and that make records unique."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.types.attack import Attempt, Case, codes, joined, numbers
from shoal.types.protocols import Attack
from shoal.types.run import MOST_UNREVIEWED
from shoal.types.table import Role


@dataclass(frozen=True)
class UniqueColumns(Attack):
    """The attacker knows a person's values in columns that were released unchanged.

    **What the attacker knows.** The values of a person in all columns that are released unchanged, except those that
    the recipe declares as `reviewed`.

    **What the attacker does.** Looks for the only record with these values.

    **Learnt.** Records that are unique on these columns.

    **Baseline.** 5 % of the records; a report warns of more.

    **Complexity.** O(n log n) for each column.
    """

    quick: ClassVar[bool] = True
    advice: ClassVar[str] = (
        "Declare columns that an attacker may know as quasi-identifiers, and list the others in reviewed."
    )

    def run(self, case: Case) -> Attempt:
        """Count the records that are unique on the unchanged columns."""
        names = _unchanged(case)
        n = len(case)
        if not names:
            return Attempt.not_run(self.key, "No column that is released unchanged lacks a review.")
        unique = _unique(case, names)
        of = f"{names[0]!r}, which is" if len(names) == 1 else f"{len(names):,} columns, which are"
        what = f"which record is a person's from {of} released unchanged,"
        return Attempt.of(self.key, n, unique, MOST_UNREVIEWED * n, what)


def _unique(case: Case, names: list[str]) -> int:
    """Count the records that equal no other record of the release; if the case is a sample, those of the sample."""
    n = len(case)
    if case.everything is not None:
        return int((case.everything.occurrences(names) == 1).sum())
    columns = [codes(case.table.data.column(name)) for name in names]
    whole = any(int(one.max(initial=-1)) + 1 == n for one in columns)
    keys = columns[0] if len(columns) == 1 else joined(columns, n)
    return n if whole else int((np.bincount(keys) == 1).sum())


def _unchanged(case: Case) -> list[str]:
    """Return the columns of the first table that are released unchanged and were not reviewed."""
    roles = (Role.CONFIDENTIAL, Role.OTHER, Role.STRATA)
    names = list(case.original.schema.names(*roles))
    if case.weight is not None and _by_record(case, case.weight):
        names.append(case.weight)
    reviewed = case.recipe.get("reviewed") or ()
    return [name for name in names if name in case.table.data.column_names and name not in reviewed]


def _by_record(case: Case, weight: str) -> bool:
    """Tell whether records of one class have weights of their own.

    Two classes can have equal released quasi-identifiers and different mean weights, and look like one class. These are
    means if at least *k* records share each of them, and some are not the weight of any record of the original.
    """
    labels, column = case.classes, case.table.data.column(weight)
    sizes = np.bincount(joined([labels, codes(column)], len(labels)))
    if len(sizes) <= int(labels.max(initial=-1)) + 1:
        return False
    after, before = numbers(column), numbers(case.original.data.column(weight))
    if after is None or before is None or bool(np.isin(after, before).all()):
        return True
    return bool((sizes < max(int(case.recipe.get("k") or 2), 2)).any())
