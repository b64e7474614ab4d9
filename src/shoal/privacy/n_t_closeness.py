"""(n,t)-closeness: in every class confidential values are distributed almost as in at least n records around it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.privacy._classes import Classes, classes_of
from shoal.privacy._earth_mover import distance, noted, roughly, within, work
from shoal.privacy._neighbours import Neighbourhood, places
from shoal.privacy._values import Values, values_of
from shoal.types import Finding, Release

_WORST = 5


@dataclass(frozen=True)
class NTCloseness(Checked):
    """(n,t)-closeness (Li, Li and Venkatasubramanian), audited on the table as it is written.

    A class is (n,t)-close if the earth mover's distance between the distribution of a confidential attribute in the
    class and in some natural superset of it, of at least n records, is at most t. A release is if all classes are.

    **Natural superset.** [LLV10] leave to the reader what is natural. Here it is the class together with the classes
    nearest to it in the released quasi-identifiers, standardised: as few as hold n records, then 2n, 4n, …, and the
    whole table. Classes equally far away are all in or all out. A class of n records or more is its own superset, and
    close. If a quasi-identifier is no number or date, or is missing somewhere, only the whole table counts.

    So t-closeness implies (n,t)-closeness for every n, and is the same where n is the number of records or more.
    Distances between values, bins, missing values and classes are those of t-closeness; bins are the values of the
    whole table for every superset.

    **Guarantee.** As t-closeness: no rounding of distances between distributions decides. Which classes are nearest is
    found in floats, in a way that does not depend on the order of rows.

    **Complexity.** O(n log n) for n records, and about O(records of its supersets) for each class whose supersets
    are looked for: those that are farthest from the whole table, until no other can be worse.

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
    of_confidential: ClassVar[bool] = True
    reported: ClassVar[bool] = False
    example: ClassVar[str] = "200:0.1"

    n: Annotated[int, Param("How many records a superset must hold.", low=1)]
    t: Annotated[float | None, Param("How far a class may be from its superset; none: only report.", low=0, high=1)] = (
        None
    )

    def audit(self, release: Release, attributes: Sequence[str], confidential: Sequence[str]) -> tuple[Finding, ...]:
        """Find how far classes over some columns are from the nearest superset, in each confidential column."""
        names = tuple(attributes)
        classes = classes_of(release, names)
        where = places(release, names, classes) if self.n < release.data.num_rows else None
        return tuple(self._one(release, names, classes, where, name) for name in confidential)

    def _one(
        self,
        release: Release,
        names: tuple[str, ...],
        classes: Classes,
        where: NDArray[np.float64] | None,
        confidential: str,
    ) -> Finding:
        values = values_of(release.schema[confidential], release.values(confidential))
        worst = _farthest(values, classes, where, self.n)
        alone = "" if where is not None else ", of which only the whole table is known here"
        return Finding(
            model="n_t_closeness",
            attributes=names,
            achieved=float(worst[0][1]),
            required=self.t,
            holds=within(worst[0][1], self.t),
            classes=len(classes.sizes),
            worst=noted(worst),
            note=f"against supersets of at least {self.n:,} records{alone}; "
            f"bins are the distinct values, and {values.reading}",
            confidential=confidential,
            short=self.short,
            given=(("n", self.n),),
            level="t",
        )


def _farthest(
    values: Values, classes: Classes, where: NDArray[np.float64] | None, n: int
) -> list[tuple[int, Fraction]]:
    """Return the classes farthest from all of their supersets, by number, the farthest first.

    No class is farther from its supersets than from the whole table: they are looked at in that order, until those
    that are left cannot be worse than the worst few found.
    """
    total = len(values.codes)
    around = _Supersets(values, classes.codes(values.codes, values.count), classes.sizes, where, n)
    works = work(values, around.codes, classes.sizes, np.sort(values.codes))
    rough, numbers = roughly(works, classes.sizes, total, values.scale), classes.numbers()
    worst: list[tuple[Fraction, int]] = []  # a heap, the least of the worst on top
    for c in np.lexsort((numbers, -rough)).tolist():
        floor = worst[0][0] if len(worst) == _WORST else Fraction(-1)
        if rough[c] < float(floor) - 1e-9:
            break
        least = around.least(c, distance(works[c], classes.sizes[c], total, values.scale), floor)
        if least > floor:
            (heapq.heappush if len(worst) < _WORST else heapq.heappushpop)(worst, (least, -int(numbers[c])))
    return [(-number, found) for found, number in sorted(worst, reverse=True)]


@dataclass(frozen=True, eq=False)
class _Supersets:
    values: Values
    codes: NDArray[np.int64]  #: class after class
    sizes: NDArray[np.int64]
    where: NDArray[np.float64] | None  #: places of classes; None: only the whole table is a superset
    n: int

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        return np.asarray(np.cumsum(self.sizes))

    @cached_property
    def hood(self) -> Neighbourhood | None:
        return None if self.where is None else Neighbourhood(self.where, self.sizes)

    def inside(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of the records of some classes, ascending."""
        sizes = self.sizes[classes]
        first = self.ends[classes] - sizes
        rows = np.arange(int(sizes.sum())) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        return np.sort(self.codes[rows])

    def least(self, c: int, least: Fraction, floor: Fraction) -> Fraction:
        """Return how far a class is from the superset it is closest to, or any distance that is not above a floor.

        `least` is how far it is from the whole table.
        """
        wanted = self.n
        while self.hood is not None and least > max(floor, Fraction(0)):
            near = self.hood.around(c, wanted)
            if len(near) == len(self.sizes):
                break
            base = self.inside(near)
            found = work(self.values, self.inside(np.array([c])), self.sizes[c : c + 1], base)[0]
            least = min(least, distance(found, self.sizes[c], len(base), self.values.scale))
            wanted *= 2
        return least
