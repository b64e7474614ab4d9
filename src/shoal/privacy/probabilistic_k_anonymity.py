"""Probabilistic k-anonymity: a record is linked to its own quasi-identifiers with probability at most 1 in k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeError, ParameterError
from shoal.parameters import Checked, Param
from shoal.privacy.counting.classes import by_first_row, codes_of, numbered, paired, sizes_of
from shoal.privacy.counting.numbers import smallest
from shoal.privacy.counting.values import normal
from shoal.types import Finding, Release, TableModel

_CHANCES = 64  # classes that each keep all values in place with probability at most 1 in 2


@dataclass(frozen=True)
class ProbabilisticKAnonymity(Checked, TableModel):
    """Probabilistic k-anonymity (Soria-Comas and Domingo-Ferrer), audited from the table before and after.

    A release has it if an attacker who knows a person's quasi-identifiers picks the person's record with a probability
    of at most 1 in k ([SD12]). Values that are permuted at random within classes of k achieve this. If the classes are
    known, two conditions can be checked, and both are: every class has at least k records, or subjects; and every
    quasi-identifier has the same values in every class before and after, each equally often. The level of a class that
    fails the second is 0.

    Attributes that were not permuted, such as strata, are assumed to be known: they split the classes.

    Values are compared as values, exactly. A missing value is a value, NaN is a missing one, and −0 is 0.

    **Guarantee.** Counts are integers: nothing is rounded. Nothing is dropped.

    **Complexity.** O(n log n) for each attribute.

    **What it does not promise.** That the order within the classes was random: this cannot be seen, except that a large
    table in which no value moved fails. That k holds by grouping: combinations may be unique. Anything about
    confidential values: if all members of a class share one value, it is disclosed to anyone who finds out the class.
    If a subject has several records, its share of a class may be above 1 in k; the note gives the largest share.

    **Departures.** Cited from memory.

    References: [SD12].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema, classes = Schema((Column("age", Role.QUASI, Kind.INTEGER),)), {"age": np.array([0, 0, 1, 1])}
    >>> before = pa.table({"age": [30, 31, 50, 52]})
    >>> for ages in ([31, 30, 50, 52], [31, 50, 30, 52]):
    ...     release = Release(pa.table({"age": ages}), schema, original=before, classes=classes)
    ...     print(ProbabilisticKAnonymity(2).audit(release, ["age"]).achieved)
    2
    0
    """

    short: ClassVar[str] = "prob_k"
    level: ClassVar[str] = "k"
    example: ClassVar[str] = "5"

    k: Annotated[int | None, Param("Smallest class that is allowed; none: only report.", low=2)] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the smallest class within which the values of some columns were permuted."""
        names = tuple(attributes)
        if release.original is None:
            raise ParameterError(
                "ProbabilisticKAnonymity: needs the original table and its classes. It is audited during protect, "
                "with the release swap; leave it out here."
            )
        owner = _classes(release, names, release.original.num_rows)
        sizes, notes = sizes_of(release, owner)
        (strange, varies), moved = np.zeros((2, len(sizes)), np.bool_), False
        for name in (name for name in names if name in release.classes):
            before, after = codes_of(name, release.original.column(name), release.values(name))
            strange |= _different(owner, before, after, len(sizes))
            varies |= _varies(owner, before, len(sizes))
            moved |= bool((before != after).any())
        levels = np.where(strange, 0, sizes)
        if strange.any():
            notes.append(f"{int(strange.sum()):,} classes whose values changed count as 0")
        if not moved and int(varies.sum()) >= _CHANCES:
            levels = np.zeros_like(levels)
            notes.append("no value was moved in any class, which does not happen by chance")
        notes.append("the output does not show whether the order within a class is random")
        achieved, worst = smallest(levels)
        return self.finding(names, achieved, self.k, len(levels), worst, note="; ".join(notes))


def _classes(release: Release, names: Sequence[str], before: int) -> NDArray[np.int64]:
    """Return the class of each record over some columns, numbered in order of first rows."""
    n = release.data.num_rows
    if n != before or any(len(labels) != n for labels in release.classes.values()):
        raise GuaranteeError(
            "ProbabilisticKAnonymity: every record must have one class, before and after, but the numbers differ. "
            "Nothing was written."
        )
    owner = np.zeros(n, np.int64)
    for name in names:
        own = release.classes.get(name)
        own = numbered(normal(release.values(name))) if own is None else np.asarray(own)
        owner = paired(owner, np.unique(own, return_inverse=True)[1])
    return by_first_row(owner)


def _varies(owner: NDArray[np.int64], codes: NDArray[np.int64], classes: int) -> NDArray[np.bool_]:
    """Tell for each class whether its values differ, so that at least half of all orders would move one."""
    least, most = np.full(classes, np.iinfo(np.int64).max), np.full(classes, -1)
    np.minimum.at(least, owner, codes)
    np.maximum.at(most, owner, codes)
    return np.asarray(least < most)


def _different(
    owner: NDArray[np.int64], before: NDArray[np.int64], after: NDArray[np.int64], classes: int
) -> NDArray[np.bool_]:
    """Tell for each class whether its values, or their counts, changed."""
    found = np.zeros(classes, np.bool_)
    first, second = np.lexsort((before, owner)), np.lexsort((after, owner))
    found[owner[first[before[first] != after[second]]]] = True
    return found
