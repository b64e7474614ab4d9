"""δ-presence: an attacker who knows the population cannot tell who of it is in the released table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.privacy.counting.numbers import rounded, written
from shoal.privacy.counting.population import NEAREST, Belonging, belonging, strata_of
from shoal.types import Finding, Release, TableModel

_WORST = 5


@dataclass(frozen=True)
class DeltaPresence(Checked, TableModel):
    """δ-presence (Nergiz, Atzori and Clifton), audited on the table as it is written and a file of the population.

    Of the population records that belong to a released combination, a share is in the sample: released records divided
    by population records. It is the probability that one of these people is in the table. A release has δ-presence if
    no share exceeds δ. Each population record belongs to the nearest combination, as in
    :func:`~shoal.privacy.counting.population.belonging`, and the population is assumed to contain everyone in the
    sample. With a subject column, people are counted instead of records.

    **Guarantee.** Shares are fractions of integers, and are compared with δ as written. `achieved` is the largest
    share, and ``delta_min`` the smallest. A combination with more released than population records has a share above 1:
    then the population lacks people of the sample, or they are nearer to another combination. No δ holds then. Without
    a population nothing that is required holds either.

    **Complexity.** O((n + m) log m) for n population records and m combinations of few attributes.

    **Departures.** [NAC07] and ARX match generalised values exactly, and have a lower bound as well, which is only
    reported here. Released values are means, so that the nearest combination matches instead.

    **What it does not promise.** That confidential values are protected, or that an attacker who knows that a person is
    in the sample learns nothing.

    References: [NAC07].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER),))
    >>> people = pa.table({"age": [21, 22, 25, 28, 40, 52, 60, 80]})
    >>> release = Release(pa.table({"age": [23, 23, 50, 50]}), schema, population=people)
    >>> DeltaPresence(delta=0.5).audit(release, ["age"]).achieved
    0.5
    """

    short: ClassVar[str] = "delta"
    level: ClassVar[str] = "delta"
    of_population: ClassVar[bool] = True
    more_is_worse: ClassVar[bool] = True
    example: ClassVar[str] = "0.1"

    delta: Annotated[
        float | None,
        Param("Largest share of a combination's population in the table; none: only report.", low=0, high=1),
    ] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the largest and the smallest share of a combination's population that is in the table."""
        names = (*attributes, *strata_of(release, attributes))
        if release.population is None:
            return self.finding(names, 1.0, self.delta, 0, holds=self.delta is None, note="no population was given")
        found = belonging(release, attributes)
        shares = _shares(found)
        most, least = max(shares, default=Fraction(0)), min(shares, default=Fraction(0))
        lacking = int((found.released > found.population).sum())
        return self.finding(
            names,
            rounded(most, self.delta),
            self.delta,
            len(found.population),
            _worst(found),
            holds=self.delta is None or (not lacking and most <= written(self.delta)),
            note=_note(lacking),
            found=(("delta_min", float(least)),),
        )


def _shares(found: Belonging) -> list[Fraction]:
    """Return the different shares; a combination without population records counts as one with a single record."""
    pairs = set(zip(found.released.tolist(), found.population.tolist(), strict=True))
    return [Fraction(inside, max(people, 1)) for inside, people in pairs]


def _worst(found: Belonging) -> tuple[tuple[int, float], ...]:
    shares = found.released / np.maximum(found.population, 1)
    order = np.lexsort((found.number, -shares))[:_WORST]
    return tuple((int(found.number[i]), float(shares[i])) for i in order)


def _note(lacking: int) -> str:
    note = f"{NEAREST}; the population is assumed to contain the sample"
    if not lacking:
        return note
    what = "1 combination has" if lacking == 1 else f"{lacking:,} combinations have"
    return f"{note}; {what} more released than population records, so that no δ holds"
