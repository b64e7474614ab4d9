"""Privacy ledger: how the ε of a release was spent, and what it means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import listing
from shoal.types.axis import FROM_THE_DATA, Domain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


PARALLEL, AT_ONCE, SEQUENTIAL = "parallel", "at once", "sequential"


def sequential(epsilons: Iterable[float]) -> float:
    """Return the ε of several releases of the same records: their sum.

    >>> sequential([0.1] * 10)
    1.0
    """
    return math.fsum(epsilons)


def parallel(epsilons: Iterable[float]) -> float:
    """Return the ε of several releases of disjoint records: the largest.

    >>> parallel([0.5, 1.0, 0.25])
    1.0
    """
    return max(epsilons, default=0.0)


class Line(NamedTuple):
    """A line of the ledger.

    Attributes
    ----------
    block
        The number of the block, from 0; None: the whole release.
    attributes
        The attributes that the ε was spent on.
    epsilon
        The ε spent.
    composition
        How the parts of the line compose. Classes of an attribute are ``parallel``, because no record is in two;
        where one record may change many classes they are covered ``at once``. Attributes of a block, and blocks,
        are ``sequential``.
    entry
        For a single attribute: its sensitivities and scales. None: a sum.
    """

    block: int | None
    attributes: tuple[str, ...]
    epsilon: float
    composition: str
    entry: Entry | None = None

    @property
    def cells(self) -> tuple[str, str, str, str, str, str]:
        """The line as text: block, attribute, ε, sensitivity, scale, classes; the same everywhere."""
        block = "all" if self.block is None else str(self.block + 1)
        if self.entry is None:
            return block, f"Σ {self.composition}", f"{self.epsilon:.4g}", "", "", ""
        least, most = (f"{end:,.4g}" for end in (self.entry.scales.min(), self.entry.scales.max()))
        scale = most if least == most else f"{least} … {most}"
        reach = f"{self.entry.sensitivities.max():,.4g}"
        classes = f"{len(self.entry.scales):,}, {self.composition}"
        return block, self.entry.attribute, f"{self.epsilon:.4g}", reach, scale, classes

    def to_dict(self) -> dict[str, Any]:
        """Return a sum as plain values."""
        said = {"attributes": list(self.attributes), "epsilon": self.epsilon, "composition": self.composition}
        return said if self.block is None else {"block": self.block, **said}


def lines_of(entries: Sequence[Entry], *, at_once: bool) -> tuple[Line, ...]:
    """Return the lines of a ledger: each block's attributes, its sum if there are several, and the release."""
    found: list[Line] = []
    within = AT_ONCE if at_once else PARALLEL
    for block in dict.fromkeys(entry.block for entry in entries):
        own = [entry for entry in entries if entry.block == block]
        found += [Line(block, (entry.attribute,), entry.epsilon, within, entry) for entry in own]
        if 1 < len(own) < len(entries):
            found.append(_sum(block, own))
    return (*found, _sum(None, entries))


def _sum(block: int | None, entries: Sequence[Entry]) -> Line:
    return Line(block, tuple(e.attribute for e in entries), sequential(e.epsilon for e in entries), SEQUENTIAL)


#: The meaning of ε by claim, in its standard wording.
CLAIMS = {
    "microaggregated": (
        "ε-differential privacy of the microaggregated data set with its classes held fixed. Classes that were formed "
        "from the data depend on every record, so it is not ε-differential privacy of the original records"
    ),
    "original": (
        "ε-differential privacy of the original records: one record may become any other of the domain, the number of "
        "records is public. Classes come from an order of the domain that does not depend on the data"
    ),
}


@dataclass(frozen=True, eq=False)
class Entry:
    """The cost of one attribute of a block.

    Attributes
    ----------
    block, attribute
        The number of the block, from 0, and the name of the attribute.
    epsilon
        The ε spent on the attribute.
    mechanism
        ``laplace`` or ``exponential``.
    sensitivities
        With classes held fixed, how much the value of each class can change when one of its members does. For the
        claim ``original`` one number: how much the list of all means can change in total.
    scales
        The scale of the noise of each class.
    """

    block: int
    attribute: str
    epsilon: float
    mechanism: str
    sensitivities: NDArray[np.float64] = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain values, with the largest and smallest figure of the classes."""
        return {
            "block": self.block,
            "attribute": self.attribute,
            "epsilon": self.epsilon,
            "mechanism": self.mechanism,
            "classes": len(self.scales),
            "sensitivity": float(self.sensitivities.max()),
            "scale": float(self.scales.max()),
            "least_scale": float(self.scales.min()),
        }


@dataclass(frozen=True, eq=False)
class Ledger:
    """Account of how ε was spent: attributes and blocks add up (sequential composition).

    Within an attribute, fixed classes are disjoint (parallel composition); for original records the list of all classes
    is covered at once, by how far one record can move it.

    Attributes
    ----------
    claim
        ``microaggregated`` or ``original``; see :data:`CLAIMS`.
    entries
        One per attribute.
    domains
        The bounds of each numeric attribute.
    clamped
        Number of values of each attribute outside its bounds, if any; they were moved to the nearer bound. None for
        the claim ``original``: they are not counted, because the count depends on the data.
    uncovered
        Columns that are released unchanged and that ε does not cover.
    noise
        The generator of the noise.
    from_data
        Bounds were taken from the data, which is not private.
    seeded
        Noise came from a seed, for a test, which is not private.
    strips
        For the claim ``original``, the number of strips into which each attribute's domain was cut to order it.
    weighed
        Blocks share ε as the method weighed it, possibly based on the data.
    representative
        What noise was added to: the ``mean`` of each class, or its ``medoid``, one of its records.
    steps
        The resolution to which the noisy values of each attribute were rounded; absent if they were not.
    """

    claim: str
    entries: tuple[Entry, ...]
    domains: Mapping[str, Domain] = field(repr=False)
    clamped: Mapping[str, int] | None = field(default_factory=dict)
    uncovered: tuple[str, ...] = ()
    noise: str = ""
    from_data: bool = False
    seeded: bool = False
    strips: tuple[int, ...] = ()
    weighed: bool = False
    representative: str = "mean"
    steps: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """The ε of the whole release."""
        return sequential(entry.epsilon for entry in self.entries)

    @property
    def private(self) -> bool:
        """Whether the claim is made at all."""
        return not (self.from_data or self.seeded)

    @property
    def meaning(self) -> str:
        """The meaning of ε here, in words; anything that is not private comes first."""
        claimed = CLAIMS[self.claim] if self.private else f"the claim otherwise: {CLAIMS[self.claim]}"
        return "; ".join((*self.warnings, claimed, *self.remarks))

    @property
    def lines(self) -> tuple[Line, ...]:
        """The table of the ledger: attributes, sums of blocks with several, and the release."""
        return lines_of(self.entries, at_once=self.claim == "original")

    @property
    def composition(self) -> str:
        """How the parts compose to the whole."""
        then = "attributes and blocks by sequential composition, and add up"
        if self.claim == "original":  # one record may change many classes
            return f"the list of all classes is covered at once; {then}"
        return f"classes count by parallel composition, because no record is in two; {then}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why the release is not private."""
        found = []
        if self.seeded:
            found.append("NOT PRIVATE: the noise came from a seed, for a test, and can be removed again")
        if self.from_data:
            found.append(f"NOT PRIVATE: bounds were taken {FROM_THE_DATA}")
        return tuple(found)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Further remarks for the reader."""
        found = []
        if self.weighed:
            found.append(
                "the method chose how blocks share ε; the shares may depend on the data and are held fixed, too"
            )
        if self.uncovered:
            found.append(f"columns released unchanged, which ε does not cover: {listing(self.uncovered)}")
        if self.claim == "original":
            found.append("all columns but the quasi-identifiers are removed")
        return (*found, "ε covers the released table only, not measures, printed figures or reports")

    @property
    def beyond(self) -> tuple[str, ...]:
        """Numbers of values outside the bounds; counts of the original table, not for publication."""
        return tuple(
            f"{count:,} values of {name!r} were outside the bounds and were moved to them"
            for name, count in (self.clamped or {}).items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the ledger as plain values, without counts or bounds from the original table."""
        return {
            "epsilon": self.total,
            "claim": self.claim,
            "private": self.private,
            "meaning": self.meaning,
            "noise": self.noise,
            "bounds_from_the_data": self.from_data,
            "seeded": self.seeded,
            "bounds": {}
            if self.from_data
            else {name: [domain.low, domain.high] for name, domain in self.domains.items()},
            "not_covered": list(self.uncovered),
            "composition": self.composition,
            "representative": self.representative,
            "resolution": dict(self.steps),
            **({"strips": list(self.strips)} if self.strips else {}),
            "entries": [
                {**line.entry.to_dict(), "composition": line.composition}
                for line in self.lines
                if line.entry is not None
            ],
            "sums": [line.to_dict() for line in self.lines if line.entry is None],
        }
