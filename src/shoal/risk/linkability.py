"""Linkability: the records that an attacker who knows all attributes finds again in the masked table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.errors import ParameterError
from shoal.parameters import Checked, Param, unknown
from shoal.risk._attacker import Sample, advantage, credit, different, linking
from shoal.risk.control.links import Halves, linked
from shoal.risk.control.nearest import Attempts
from shoal.types import Attacked, Comparison, ControlledMeasure, Measure, Reading


@dataclass(frozen=True)
class Linkability(Checked, Measure, ControlledMeasure):
    """Percentage of records that can be linked with a second table about the same people, in the worst case.

    The second table is the original: an attacker who knows the true values of *all* attributes links each person to the
    nearest masked record, picking one of several at random. Also reported: the result of blind guessing, and the
    advantage over it.

    With a control, or if rows do not correspond, two owners each know half of the attributes, and join both halves of a
    person through the nearest released records. The value is then the excess over people outside the release; the
    parts give its 95 % interval: see :mod:`shoal.risk.control`.

    **Guarantee.** Equal to the count over all pairs of records, for the records examined. ``linked`` is at most
    ``class found``, and in a release of classes of at least k at most ``class found`` / k.

    **Complexity.** That of one set of :class:`~shoal.risk.distance_linkage.DistanceLinkage`.

    **Departures.** [WP14] gives no formula. Without a control, each masked record belongs to one original record, so
    that a link is right or wrong. With one, as in [GBM23], except that equally near records count by their share.

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

    without_control: ClassVar[str] = (
        "links are judged by rows; to measure how much better two owners can join records of people in the release "
        "than of others, leave some people out (protect --holdout 0.1 --holdout-to FILE) and give them as --control "
        "FILE"
    )

    sample: Sample = None
    halves: Annotated[str, Param("Attributes of two owners, e.g. age,sex;town,job; empty: every other one.")] = ""
    attacks: Attempts = 2_000

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

    def attack(self, attacked: Attacked) -> Reading:
        """Join halves of members and of control records through the nearest released records."""
        if len(attacked.attributes) < 2:
            return self.undefined("two owners need at least two attributes. Compare more columns.")
        found = linked(attacked, self._halves(attacked.attributes), self.attacks)
        note = found.told("the halves are linked") + " In classes of k, k people share what a link leads to."
        return self.reading(found.value, attacked.attributes, found.parts(), note)

    def _halves(self, attributes: tuple[str, ...]) -> Halves:
        """Return the attributes of both owners."""
        if not self.halves:
            return attributes[::2], attributes[1::2]
        named = [tuple(name.strip() for name in half.split(",")) for half in self.halves.split(";")]
        for name in (name for half in named for name in half):
            if name not in attributes:
                raise ParameterError(unknown("Linkability", "attribute (in halves)", name, attributes))
        if len(named) != 2 or set(named[0]) & set(named[1]):
            raise ParameterError(
                f"Linkability: halves must be two lists without a common attribute, such as a,b;c,d, got "
                f"{self.halves!r}. Separate them by a semicolon."
            )
        return named[0], named[1]
