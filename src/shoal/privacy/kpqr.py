"""(k,p,q,r)-anonymity: classes with a rare confidential value hold p values, and vary almost as much as the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy.counting.histograms import Histograms, histograms_of
from shoal.privacy.counting.numbers import Numbers, nearest, numbers_of, rounded, worst, written
from shoal.privacy.counting.variances import Runs, variances
from shoal.types import ConfidentialModel, Finding, Release


class _Found(NamedTuple):
    any: bool  #: whether a class has a rare value
    p: int
    r: Fraction
    r_rare: Fraction
    worst: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Kpqr(Checked, ConfidentialModel):
    """(k,p,q,r)-anonymity (Domingo-Ferrer, Sebé and Solanas), audited on the table as it is written.

    A confidential value is rare if its share in the whole table is less than q. A release is (k,p,q,r)-anonymous if it
    is k-anonymous, and every class with a rare value holds at least p different values, and its variance is at least r
    times that of the whole table, for each confidential attribute separately. The audit of k-anonymity checks that
    classes hold at least k records. Shares are of records, even where k counts subjects.

    **Variance** is half the mean squared distance between two records. Numbers are used as they are, dates and times in
    days; missing and non-finite values are left out, and the variance is 0 if no value is left. Ordinal values are
    their ranks. Nominal ones have Gini's 1 − Σ share². The squared distance of two values of a taxonomy is the path
    between them in its tree, as in t-closeness. If the variance of the table is 0, so is that of every class, and the
    ratio is 1.

    Rarity goes by exact spelling, while values that differ only in capitals, surrounding blanks or invisible characters
    count as one of the p. A missing value is a value: it may be rare, and it counts as one of the p. Classes are those
    of the audit of k-anonymity. No record is dropped, so the order of rows does not matter.

    **Guarantee.** Numbers, q and r are taken as written: rounding decides nothing. `achieved` is the smallest ratio of
    any class with a rare value, 1 if no class has one. `found` holds the fewest values p of these classes, and
    `r_rare`: the same ratio, against the variance of the rare records alone.

    **Complexity.** O(n log n) for n records, for each attribute.

    **Departures.** Definition 7 of [DSS08] compares with the whole table, and so does this audit; their heuristic
    compares with the rare records: `r_rare`. They leave the variance of categories open; here it is that of [LM71],
    which includes the variance of numbers as a special case.

    References: [DSS08], [LM71], [DT05].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)))
    >>> release = Release(pa.table({"age": [30, 30, 50, 50, 50], "pay": [1, 3, 2, 2, 2]}), schema)
    >>> Kpqr(p=2, q=0.5, r=1).audit(release, ["age"], ["pay"])[0].achieved
    2.5
    """

    short: ClassVar[str] = "kpqr"
    level: ClassVar[str] = "r"
    mergeable: ClassVar[bool] = True
    example: ClassVar[str] = "4:0.2:0.5"

    p: Annotated[
        int | None, Param("Smallest number of values in a class with a rare one; none: only report.", low=1)
    ] = None
    q: Annotated[float | None, Param("Share below which a value is rare; none: all are.", low=0, high=1)] = None
    r: Annotated[
        float | None, Param("Smallest ratio of such a class's variance to the table's; none: only report.", low=0)
    ] = None

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the smallest variance of classes with a rare value, over some columns."""
        counted = histograms_of(release, attributes, confidential)
        distinct = histograms_of(release, attributes, confidential, as_counted=True).distinct
        numbers = numbers_of(release, confidential, counted.values)
        rare = _rare(counted.table, self.q)
        found = _least(counted, distinct, numbers, rare, self)
        return self.finding(
            attributes,
            rounded(found.r, self.r),
            self.r,
            len(counted.distinct),
            found.worst,
            holds=not found.any or self._met(found),
            note=f"of classes with a value whose share is less than {self.q:g}" if self.q is not None else "",
            confidential=confidential,
            given=tuple((name, value) for name, value in (("p", self.p), ("q", self.q)) if value is not None),
            found=(("p", found.p), ("r_rare", nearest(found.r_rare))),
        )

    def merge(self, parts: Sequence[Finding]) -> Finding:
        """Merge the findings of the parts that have a class with a rare value; if none has, that of the table."""
        rare = [part for part in parts if part.worst] or parts[:1]
        return replace(super().merge(rare), classes=sum(part.classes for part in parts), worst=())

    def _met(self, found: _Found) -> bool:
        return (self.p is None or found.p >= self.p) and (self.r is None or found.r >= written(self.r))


def _rare(table: NDArray[np.int64], q: float | None) -> NDArray[np.bool_]:
    """Tell for each value whether it is rare: strictly less frequent than q."""
    if q is None:
        return np.ones(len(table), np.bool_)
    limit = written(q) * int(table.sum())
    return np.asarray(table < -(-limit.numerator // limit.denominator))  # below a limit is below the next integer


def _different(counted: Histograms) -> int:
    """Return how many different values the table has, counting spellings of one value once."""
    values = counted.values.as_counted()
    return len(np.unique(values.codes)) if values.table is None else int(np.count_nonzero(values.table))


def _least(
    counted: Histograms, distinct: NDArray[np.int64], numbers: Numbers | None, rare: NDArray[np.bool_], asked: Kpqr
) -> _Found:
    """Return the minima over the classes with a rare value; if no class has one, those of the table."""
    r = None if asked.r is None else written(asked.r)
    which = np.ones(len(counted.begins), np.bool_)
    if not rare.all():
        which = np.logical_or.reduceat(rare[counted.codes[counted.runs]], counted.begins)
    if not which.any():
        return _Found(False, _different(counted), Fraction(1), Fraction(1), ())
    levels = counted.values.levels
    inside = variances(Runs.of(counted, which), levels, numbers)
    table = variances(Runs.one(counted.table), levels, numbers).least()
    alone = table if rare.all() else variances(Runs.one(np.where(rare, counted.table, 0)), levels, numbers).least()
    ratios = np.full(len(which), np.inf)
    ratios[which] = inside.rough / float((table.low + table.high) / 2) if table.high else 1.0
    short = which & (distinct < (asked.p or 0))
    if short.any():  # these are worse than any ratio
        ratios[~short] = np.inf
    least = inside.least()
    return _Found(
        True,
        int(distinct[which].min()),
        Fraction(1) if int(counted.classes.sizes[0]) == counted.values.records else least.over(table, r),
        least.over(alone, None),
        tuple(pair for pair in worst(ratios, counted.classes) if pair[1] < np.inf),
    )
