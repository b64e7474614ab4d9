"""k-anonymity of sets: the whole set of a person's combinations is shared by at least k people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.parameters import Checked, Param
from shoal.privacy.counting.classes import classes_of, people_of, respelled
from shoal.privacy.counting.numbers import smallest
from shoal.privacy.counting.sets import sets_of
from shoal.types import Finding, Release, TableModel


@dataclass(frozen=True)
class KSets(Checked, TableModel):
    """k-anonymity over the sets of combinations of each person, audited on the table as it is written.

    Where a table shows which records belong to one person, for example by a pseudonym, an attacker who knows several
    combinations of that person can look for all of them at once. A release has k of sets if for every person at least
    k - 1 others have the same combinations of quasi-identifiers, each in equally many records. Read it as: someone who
    knows all records of a person is left with k people.

    Values are compared as in k-anonymity, and people as k-anonymity compares subjects.

    **Guarantee.** `achieved` is the smallest number of people who share a set; it is counted. It is at most the k of
    k-anonymity counted in subjects.

    **Complexity.** O(n log n) for n records.

    **Departures.** The idea is that of [NCN09], who extend k-anonymity to several tables of a person. Here all records
    of a person are in one table, and a combination that occurs twice differs from one that occurs once.

    **What it does not promise.** Anything about columns that are released unchanged: a person's values in them are
    linked with each other, too.

    References: [NCN09].

    >>> import pyarrow as pa
    >>> from shoal.types import Schema
    >>> whose = pa.chunked_array([list("aabbcc")])
    >>> release = Release(pa.table({"age": [30, 50, 50, 30, 30, 30]}), Schema(()), subjects=whose)
    >>> KSets(k=2).audit(release, ["age"]).achieved
    1
    """

    short: ClassVar[str] = "k_sets"
    level: ClassVar[str] = "k"
    example: ClassVar[str] = "5"

    k: Annotated[int | None, Param("Smallest number of people who share a set; none: only report.", low=2)] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the smallest number of people with one set of combinations over some columns."""
        names = tuple(attributes)
        if release.subjects is None:
            raise DataError(
                "KSets: the column that identifies the person must be named, got none. Name it as the subject."
            )
        if release.subjects.null_count:
            raise DataError(
                f"KSets: every record must name its person; {release.subjects.null_count:,} of "
                f"{len(release.subjects):,} do not. Fill the missing values."
            )
        classes = classes_of(release, names)
        codes = np.empty(release.data.num_rows, np.int64)
        codes[classes.rows] = np.repeat(np.arange(len(classes.sizes)), classes.sizes)
        people = np.unique(people_of(release).codes, return_inverse=True)[1].reshape(-1)
        sizes = np.bincount(sets_of(people, codes))
        many = tuple(zip(*(part.tolist() for part in np.unique(sizes, return_counts=True)), strict=True))
        achieved, worst = smallest(sizes)
        note = "; ".join(["counted over sets of combinations", *respelled(release)])
        return self.finding(names, achieved, self.k, len(sizes), worst, note=note, sizes=many)
