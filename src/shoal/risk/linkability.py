"""Linkability: the records that an attacker who knows all attributes finds again in the masked table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shoal.parameters import Checked
from shoal.risk._attacker import Sample, advantage, credit, different, linking
from shoal.types import Comparison, Measure, Reading


@dataclass(frozen=True)
class Linkability(Checked, Measure):
    """Percentage of records that can be linked with a second table about the same people, in the worst case.

    The second table is the original: an attacker who knows the true values of *all* attributes links each person to the
    nearest masked record, picking one of several at random. Also reported: the result of blind guessing, and the
    advantage over it.

    **Guarantee.** Equal to the count over all pairs of records, for the records examined. ``linked`` is at most
    ``class found``, and in a release of classes of at least k at most ``class found`` / k.

    **Complexity.** That of one set of :class:`~shoal.risk.distance_linkage.DistanceLinkage`.

    **Departures.** [WP14] gives no formula. [GBM23] links two sets of attributes through the synthetic records nearest
    to each; here each masked record belongs to one original record, so that a link is right or wrong.

    References: [WP14], [GBM23].

    >>> import numpy as np
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> masked = np.array([[1.5], [1.5], [3.5], [3.5]])
    >>> Linkability().measure(Comparison(x, masked, ("x",))).value
    50.0
    """

    exchangeable: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    sample: Sample = None

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the linkability of a masked table."""
        attributes, n = comparison.attributes, len(comparison)
        if not n:
            return self.reading(math.nan, attributes, note="There are no records.")
        who = linking(comparison, self.sample, different(comparison.masked), 1)
        ties = who.ties(attributes)
        found = credit(ties)
        linked, chance = 100.0 * float(found.mean()), 100.0 / n
        parts = (
            ("linked", linked),
            ("class found", 100.0 * float((ties > 0).mean())),
            ("by chance", chance),
            ("advantage", advantage(linked, chance)),
        )
        return self.reading(linked, attributes, parts, who.told(found))
