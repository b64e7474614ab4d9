"""Membership: how well an attacker tells whether a known record was in the protected table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.parameters import Checked
from shoal.risk.control.nearest import Attempts
from shoal.risk.control.recognition import recognised
from shoal.types import Attacked, Comparison, ControlledMeasure, Measure, Reading

_WORDS = {"all": "all records", "outliers": "the 10 % most outlying records"}


@dataclass(frozen=True)
class Membership(Checked, Measure, ControlledMeasure):
    """Excess of members that are recognised over people outside the release, in percent; the worse of two groups.

    An attacker knows all attributes of a person, and calls the person a member if a released record is unusually near.
    It is measured for all records, and for the 10 % most outlying ones, who are usually recognised more often. It needs
    a control table.

    **Guarantee.** None: it is one attack. About 0 if the release was made without the members; 100 if it holds them as
    they are.

    **Complexity.** O(a·(r + s)·d) for a attacked, r distinct released records and a sample of s = 2,000.

    **Departures.** [GBM23] define control and excess for other attacks. The statistic, a distance relative to the
    distance of neighbours, is ours, as is the threshold, which other records of both tables choose.

    References: [GBM23].

    >>> import numpy as np
    >>> x, control = np.random.default_rng(0).normal(size=(2, 400, 3))
    >>> round(Membership().attack(Attacked(x, x, control, ("a", "b", "c"))).value)
    100
    """

    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    attacks: Attempts = 2_000

    def measure(self, comparison: Comparison) -> Reading:
        """Return no value: without a control there are no outsiders to compare members with."""
        return self.undefined(
            "it needs a control: leave some people out (protect --holdout 0.1 --holdout-to FILE) and give them as "
            "--control FILE"
        )

    def attack(self, attacked: Attacked) -> Reading:
        """Tell members from control records by their distance to the release."""
        found = recognised(attacked, self.attacks) if attacked.controlled else {}
        if not found:
            why = "the control has too few records." if attacked.controlled else "it needs a control table (--control)."
            return self.undefined(why)
        parts: list[tuple[str, float]] = []
        for name, one in found.items():
            parts += [*one.attacks.parts(name), (f"{name}: AUC", one.auc)]
        told = {name: one.attacks.told("membership is claimed", coin=True) for name, one in found.items()}
        notes = [f"{_WORDS[name]}: {said}" for name, said in told.items()]
        value = max(one.attacks.value for one in found.values())
        return self.reading(value, attacked.attributes, tuple(parts), " ".join(notes))
