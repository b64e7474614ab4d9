"""Exchangeability: classes stay the same when members of an atom exchange their confidential values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.parameters import Checked, Param
from shoal.privacy.k_anonymity import class_sizes
from shoal.types import Finding, Release, TableModel


@dataclass(frozen=True)
class Exchangeability(Checked, TableModel):
    """The exchange rule, audited by replay: the run is repeated on exchanged inputs and must give equal classes.

    Within each atom (a class that was formed from quasi-identifiers alone), people exchange their rows at random: their
    quasi-identifiers and everything that belongs to them, but not the confidential values. Then the classes are formed
    again. If they are always the same, an attacker who knows the algorithm cannot tell these inputs apart.

    The replay itself is not done here, because it runs the method again. It is the one exception to an audit that
    shares nothing with the code that made the release. A table of more than 100,000 records is replayed on a sample.

    **Guarantee.** `achieved` is the number of replays whose classes and atoms were equal to those of the run. It holds
    only if all of them were.

    **Complexity.** As many runs of the method as replays are required.

    **Departures.** None: there is no paper.

    **What it does not promise.** That no exchange at all would change a class: replays are a sample. Methods that
    declare the property are tested on all exchanges of small tables.

    >>> import pyarrow as pa
    >>> from shoal.types import Schema
    >>> release = Release(pa.table({"age": [30, 30]}), Schema(()), replays=(19, 20))
    >>> found = Exchangeability(replays=20).audit(release, ["age"])
    >>> found.holds, found.note
    (False, '19 of 20 exchanged inputs gave equal classes')
    """

    short: ClassVar[str] = "exchangeability"
    level: ClassVar[str] = "replays"
    example: ClassVar[str] = "20"
    by_replay: ClassVar[bool] = True

    replays: Annotated[int | None, Param("Number of exchanged inputs; none: only report.", low=1, high=10_000)] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find how many replays gave equal classes."""
        equal, tried = release.replays or (0, 0)
        return self.finding(
            tuple(attributes),
            equal,
            self.replays,
            len(class_sizes(release, attributes)),
            holds=self.replays is None or (equal == tried and tried >= self.replays),
            note=f"{equal:,} of {tried:,} exchanged inputs gave equal classes" if tried else "no run was replayed",
        )
