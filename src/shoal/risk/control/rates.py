"""Success rates of attacks with their intervals, and the excess of members over the control."""

from __future__ import annotations

import math
from typing import NamedTuple

_Z = 1.959963984540054  # two-sided 95 %


class Rate(NamedTuple):
    """Share of attacks that succeed, with the 95 % Wilson score interval.

    An attack whose success is uncertain, because it picks one of several equally good guesses, counts as its
    probability.

    >>> one = Rate(50.0, 100)
    >>> one.share, round(one.low, 4), round(one.high, 4)
    (0.5, 0.4038, 0.5962)
    """

    successes: float
    attacks: int

    @property
    def share(self) -> float:
        """The share of attacks that succeed; NaN if there was none."""
        return self.successes / self.attacks if self.attacks else math.nan

    @property
    def middle(self) -> float:
        """The middle of the interval."""
        return (self.successes + _Z * _Z / 2) / (self.attacks + _Z * _Z)

    @property
    def reach(self) -> float:
        """Half the width of the interval."""
        failed = self.attacks - self.successes
        varied = self.successes * failed / self.attacks if self.attacks else 0.0
        return _Z / (self.attacks + _Z * _Z) * math.sqrt(varied + _Z * _Z / 4)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return max(self.middle - self.reach, 0.0)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return min(self.middle + self.reach, 1.0)


class Excess(NamedTuple):
    """Excess of the success on members over that on the control, with a 95 % interval; may be below 0."""

    value: float
    low: float
    high: float

    @property
    def bounded(self) -> Excess:
        """The same within 0 and 1, as it is reported."""
        return Excess(*(min(max(one, 0.0), 1.0) for one in self))


def excess(members: Rate, control: Rate) -> Excess:
    """Return (members − control) / (1 − control).

    Of the attacks that fail on people outside the release, it is the share that succeeds on members. The interval
    propagates the errors of both rates, from the middles and half widths of their Wilson intervals, as [GBM23] do. The
    value itself is that of the plain shares; 0 if every attack on the control succeeds.

    >>> [round(one, 3) for one in excess(Rate(600, 1000), Rate(500, 1000))]
    [0.2, 0.121, 0.278]
    """
    of, than = members.middle, control.middle
    estimate, room = (of - than) / (1 - than), 1 - than
    error = math.hypot(members.reach / room, control.reach * (of - 1) / room**2)
    value = (members.share - control.share) / (1 - control.share) if control.share < 1 else 0.0
    return Excess(value, min(estimate - error, value), max(estimate + error, value))


class Attacks(NamedTuple):
    """Result of the same attack on members and on the control, next to an uninformed guess."""

    members: Rate
    control: Rate  #: no attacks if there is no control
    baseline: float  #: share of uninformed guesses that are right

    @property
    def excess(self) -> Excess:
        """The excess, within 0 and 1."""
        return excess(self.members, self.control).bounded

    @property
    def value(self) -> float:
        """The reading in percent: the excess; without a control, the share of attacks on members that succeed."""
        return 100.0 * (self.excess.value if self.control.attacks else self.members.share)

    def parts(self, name: str = "") -> tuple[tuple[str, float], ...]:
        """Return all figures in percent, with their intervals and the numbers of attacks."""
        shown: list[tuple[str, float]] = []
        for which, rate in (("members", self.members), ("control", self.control)):
            if rate.attacks:
                shown += [(which, 100 * rate.share), (f"{which}, low", 100 * rate.low)]
                shown += [(f"{which}, high", 100 * rate.high), (f"{which}, attacks", float(rate.attacks))]
        shown.append(("baseline", 100 * self.baseline))
        if self.control.attacks:
            found = self.excess
            shown += [("excess", 100 * found.value), ("excess, low", 100 * found.low)]
            shown.append(("excess, high", 100 * found.high))
        return tuple((f"{name}: {what}" if name else what, value) for what, value in shown)

    def told(self, what: str, *, coin: bool = False) -> str:
        """Say all figures in words; `what` says how an attack succeeds, such as ``a guess is right``.

        `coin` tells that an uninformed guess is as good on the control: then only the excess shows a weak attack.
        """
        of = f"{what} in {_share(self.members)} of {self.members.attacks:,} attacks on members"
        chance = f"; uninformed guessing: {100 * self.baseline:.1f} %"
        if not self.control.attacks:
            return f"{of}{chance}."
        found, weak = self.excess, not coin and self.members.share <= self.baseline
        interval = f"{100 * found.low:.1f} to {100 * found.high:.1f}"
        than = f"and in {_share(self.control)} of {self.control.attacks:,} on control records{chance}."
        return f"{of} {than} Excess: {100 * found.value:.1f} % (95 % interval {interval}): {_read(found, weak)}."


def _read(found: Excess, weak: bool) -> str:
    """Say how to read an excess; `weak` tells that the attack is not better than uninformed guessing.

    >>> _read(Excess(0.22, 0.11, 0.33), False), _read(Excess(0.1, 0.0, 0.2), False)
    ('of 100 attacks that fail on strangers, 22 succeed on members', 'no measurable difference from strangers')
    >>> _read(Excess(1.0, 0.96, 1.0), False)
    'of 100 attacks that fail on strangers, 100 succeed on members'
    >>> _read(Excess(0.0, 0.0, 0.1), True)
    'an attack that is no better than guessing shows nothing'
    """
    if found.low:
        succeed = f"{100 * found.value:.0f}" if found.value >= 0.01 else f"{100 * found.value:.1g}"
        return f"of 100 attacks that fail on strangers, {succeed} succeed on members"
    if weak:
        return "an attack that is no better than guessing shows nothing"
    return "no measurable difference from strangers"


def _share(rate: Rate) -> str:
    return f"{100 * rate.share:.1f} % ({100 * rate.low:.1f} to {100 * rate.high:.1f})"
