"""The lines of a budget ledger: what each attribute cost, each block, and the release, and how the parts add up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from shoal.types.ledger import Entry

PARALLEL, AT_ONCE, SEQUENTIAL = "parallel", "at once", "sequential"


def sequential(epsilons: Iterable[float]) -> float:
    """Return the ε of several releases that look at the same records: their sum.

    >>> sequential([0.1] * 10)
    1.0
    """
    return math.fsum(epsilons)


def parallel(epsilons: Iterable[float]) -> float:
    """Return the ε of several releases that look at disjoint records: the largest.

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
        Whose ε it is.
    epsilon
        What was spent.
    composition
        How the parts of the line add up. Classes of an attribute are ``parallel``, for no record is in two; where one
        record may change many they are covered ``at once``. Attributes of a block, and blocks, are ``sequential``.
    entry
        Of a single attribute: its sensitivities and scales. None: a sum.
    """

    block: int | None
    attributes: tuple[str, ...]
    epsilon: float
    composition: str
    entry: Entry | None = None

    @property
    def cells(self) -> tuple[str, str, str, str, str, str]:
        """The line as text: block, attribute, ε, sensitivity, scale, classes; the same wherever it is shown."""
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
    """Return the lines of a ledger: the attributes of each block, its sum if that is not plain, and the release."""
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
