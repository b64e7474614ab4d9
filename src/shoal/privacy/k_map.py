"""k-map: at least k people of the population belong to every released combination of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.privacy.counting.population import NEAREST, belonging, strata_of
from shoal.types import Finding, Release, TableModel

_WORST = 5


@dataclass(frozen=True)
class KMap(Checked, TableModel):
    """k-map (Sweeney), audited on the table as it is written and a file of the population.

    A release satisfies k-map if at least k people of the population match every released combination of
    quasi-identifiers. The attacker is one who does not know who was sampled, and looks for a released record in the
    population. Each population record belongs to the nearest combination, as in
    :func:`~shoal.privacy.counting.population.belonging`, and with strata to the nearest of its own stratum. Every row
    of the population file counts as one person.

    **Guarantee.** `achieved` is the smallest number of population records of a combination; it is counted.
    ``population`` is the number of all of them, and ``exact`` of those with exactly the values of their combination.
    ``average_risk`` is the journalist's risk on average: the mean of 1 divided by that number, over released records.
    At worst it is 1 divided by `achieved`.
    Without a population `achieved` is 0, and nothing that is required holds.

    **Complexity.** O((n + m) log m) for n population records and m combinations of few attributes.

    **Departures.** [SWE01] and ARX match generalised values exactly. Released values are means here, so that the
    nearest combination matches instead. ARX can also estimate the population; here it must be given.

    **What it does not promise.** Anything against an attacker who knows that a person is in the sample: that is
    k-anonymity.

    References: [SWE01], [ED08].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER),))
    >>> people = pa.table({"age": [21, 25, 40, 52, 80]})
    >>> release = Release(pa.table({"age": [23, 23, 50, 50]}), schema, population=people)
    >>> KMap(k_map=3).audit(release, ["age"]).achieved
    2
    """

    short: ClassVar[str] = "k_map"
    level: ClassVar[str] = "k_map"
    of_population: ClassVar[bool] = True
    example: ClassVar[str] = "10"

    k_map: Annotated[
        int | None, Param("Smallest number of population records of a combination; none: only report.", low=1)
    ] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the smallest number of population records that belong to a combination."""
        names = (*attributes, *strata_of(release, attributes))
        if release.population is None:
            return self.finding(names, 0, self.k_map, 0, holds=self.k_map is None, note="no population was given")
        found = belonging(release, attributes)
        achieved = int(found.population.min(initial=release.population.num_rows))
        order = np.lexsort((found.number, found.population))[:_WORST]
        worst = tuple((int(found.number[i]), int(found.population[i])) for i in order)
        about = [("population", release.population.num_rows), ("exact", found.exact)]
        about += [("outside", found.outside)] if len(names) > len(attributes) else []
        about += [("average_risk", found.average_risk)]
        return self.finding(names, achieved, self.k_map, len(found.population), worst, note=NEAREST, found=tuple(about))
