"""Homogeneity: a class whose members all share one confidential value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types.attack import Attempt, Case, codes
from shoal.types.protocols import Attack

_PERMUTATIONS = 20


@dataclass(frozen=True)
class Homogeneity(Attack):
    """The attacker finds a person's class, and all its records have the same confidential value.

    **What the attacker knows.** The released tables, and the quasi-identifiers of a person, precisely enough to find
    the class; not which record is the person's.

    **What the attacker does.** Reads the value that all records of the class share. A missing value is a value.

    **Learnt.** People in classes of one value, for the confidential column in which they exceed the baseline most.

    **Baseline.** The mean of that number over 20 random permutations of the column over the same classes: some classes
    have one value by chance.

    References: [MKGV07].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema, Table
    >>> columns = Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)
    >>> table = Table(pa.table({"age": [20] * 50 + [30] * 50, "ill": ["a"] * 50 + ["b"] * 50}), Schema(columns))
    >>> Homogeneity().run(Case(table, (table,))).learnt
    100
    """

    needs: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    advice: ClassVar[str] = "Require p = 2 of the column, or t."

    def run(self, case: Case) -> Attempt:
        """Count the people in classes of one value, and compare with chance."""
        if not case.quasi or not case.confidential:
            return Attempt.not_run(self.key, "It needs quasi-identifiers and a confidential column in the release.")
        return Attempt.worst(self._of(case, name) for name in case.confidential)

    def _of(self, case: Case, name: str) -> Attempt:
        table = case.table_with(name)
        labels, values = case.classes_in(table), codes(table.data.column(name))
        order = np.argsort(labels, kind="stable")
        begins = np.flatnonzero(np.diff(labels[order], prepend=-1))
        rng = np.random.default_rng(0)
        chance = [_uniform(rng.permutation(values), begins) for _ in range(_PERMUTATIONS)]
        what = f"the value of {name!r}, which a whole class shares,"
        return Attempt.of(self.key, len(labels), _uniform(values[order], begins), float(np.mean(chance)), what)


def _uniform(values: NDArray[np.int64], begins: NDArray[np.int64]) -> int:
    """Return the number of records in classes of one value; each class extends from one begin to the next."""
    if not len(values):
        return 0
    constant = np.minimum.reduceat(values, begins) == np.maximum.reduceat(values, begins)
    return int(np.diff(np.append(begins, len(values)))[constant].sum())
