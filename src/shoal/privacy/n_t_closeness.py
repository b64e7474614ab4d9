"""(n,t)-closeness: in every class confidential values are distributed almost as in n or more records around it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy.counting.classes import Classes, classes_of
from shoal.privacy.counting.earth_mover import noted, within
from shoal.privacy.counting.neighbourhoods import ROUNDING, Supersets, places
from shoal.privacy.counting.values import Values, values_of
from shoal.types import ConfidentialModel, Finding, Release

_WORST = 5
_MOST = 2**15  # classes examined before the worst few are known better


@dataclass(frozen=True)
class NTCloseness(Checked, ConfidentialModel):
    """(n,t)-closeness (Li, Li and Venkatasubramanian), audited on the table as it is written.

    A class is (n,t)-close if the earth mover's distance between the distribution of a confidential attribute in the
    class and in some natural superset of it, of at least n records, is at most t. A release is (n,t)-close if all its
    classes are.

    **Natural superset.** [LLV10] do not define what is natural. Here it is the class together with the classes nearest
    to it in the released quasi-identifiers, standardised: as few as hold n records, then 2n, 4n, …, and the whole
    table. Classes at equal distances are all included or all excluded. A class of n records or more is its own
    superset, and close. If a quasi-identifier is not a number or date, or has a missing value, only the whole table
    counts.

    So t-closeness implies (n,t)-closeness for every n, and both are the same if n is at least the number of records.
    Distances between values, bins, missing values and classes are those of t-closeness; bins are the values of the
    whole table for every superset.

    **Guarantee.** As for t-closeness, rounding of distances between distributions decides nothing. The nearest classes
    are found in floats, in a way that does not depend on the order of rows.

    **Complexity.** O(n log n) for n records. Then one superset for each class that is farther from the whole table than
    the farthest class turns out to be from its supersets: few classes, or all of them if quasi-identifiers reveal much
    about the confidential attribute. All supersets for a handful of classes. A superset takes about as many steps as it
    has records, plus the number of nearby classes.

    **Departures.** [LLV10] have a second distance between distributions; here it is the earth mover's, as in [LLV07].

    References: [LLV10], [SC15].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)))
    >>> ages, pay = [20, 20, 30, 30, 60, 60, 70, 70], [1, 2, 1, 2, 3, 4, 3, 4]
    >>> release = Release(pa.table({"age": ages, "pay": pay}), schema)
    >>> [NTCloseness(n=n, t=0.1).audit(release, ["age"], ["pay"])[0].achieved for n in (4, 8)]
    [0.0, 0.3333333333333333]
    """

    short: ClassVar[str] = "n_t"
    level: ClassVar[str] = "t"
    example: ClassVar[str] = "200:0.1"

    n: Annotated[int, Param("Smallest number of records in a superset.", low=1)]
    t: Annotated[
        float | None, Param("Largest distance (0–1) of a class from its superset; none: only report.", low=0, high=1)
    ] = None

    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find how far classes over some columns are from their nearest supersets."""
        classes = classes_of(release, attributes)
        where = places(release, attributes, classes) if self.n < release.data.num_rows else None
        values = values_of(release.schema[confidential], release.values(confidential))
        worst = _farthest(values, classes, where, self.n)
        alone = "" if where is not None else "; here only the whole table is known"
        return self.finding(
            attributes,
            float(worst[0][1]),
            self.t,
            len(classes.sizes),
            noted(worst),
            holds=within(worst[0][1], self.t),
            note=f"against supersets of at least {self.n:,} records{alone}; "
            f"bins are the distinct values, and {values.reading}",
            confidential=confidential,
            given=(("n", self.n),),
        )


def _farthest(
    values: Values, classes: Classes, where: NDArray[np.float64] | None, n: int
) -> list[tuple[int, Fraction]]:
    """Return the classes farthest from all of their supersets, by number, the farthest first.

    Each superset examined can only lower the distance found for a class. So the next superset is examined only for
    classes that are among the farthest so far, until all supersets of these have been examined.
    """
    around, numbers, share = Supersets(values, classes, where, n), classes.numbers(), _WORST
    while True:
        level, worst = _known(around, numbers)
        new = _new(around, level, around.least(worst[-1]) if len(worst) == _WORST else Fraction(-1))
        if len(new):  # many at a time, which is faster
            new = new[np.lexsort((numbers[new], -around.rough[new]))][:share]
            share = min(4 * share, _MOST)
        else:
            new = np.array([c for c in worst if not around.done(c)], np.int64)
        if not len(new):
            return [(int(numbers[c]), around.least(c)) for c in worst]
        around.look(new)


def _new(around: Supersets, level: float, floor: Fraction) -> NDArray[np.int64]:
    """Return the unexamined classes that are farther from the table than a floor, which is rounded to a level."""
    if not around.all:
        return np.array([], np.int64)
    unseen = np.flatnonzero((around.looked == 0) & (around.rough >= level - ROUNDING))
    sure = unseen[around.rough[unseen] > level + ROUNDING]
    if len(sure):
        return np.asarray(sure)
    works, sizes = around.whole[unseen].tolist(), around.sizes[unseen].tolist()  # many may be equally far
    above = {pair for pair in set(zip(works, sizes, strict=True)) if around.from_table(*pair) > floor}
    return unseen[[pair in above for pair in zip(works, sizes, strict=True)]] if above else unseen[:0]


def _known(around: Supersets, numbers: NDArray[np.int64]) -> tuple[float, list[int]]:
    """Return the farthest few of the examined classes, and the distance of the last of them.

    If the table is the only superset, all have been examined. Among equally far classes, those without another superset
    come first: the others then need no examination.
    """
    seen = np.flatnonzero(around.looked) if around.all else np.arange(len(numbers))
    if len(seen) < _WORST:
        few, level = seen, -1.0 if around.all else 0.0
    else:
        level = float(np.partition(around.rough[seen], -_WORST)[-_WORST])
        few = seen[around.rough[seen] >= level - ROUNDING]
    ranked = sorted(few.tolist(), key=lambda c: (-around.least(c), not around.done(c), numbers[c]))
    return level, ranked[:_WORST]
