"""Resolution: the step that released values are multiples of, so that a mean has no more digits than its column."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

#: Units of dates and times that a recipe may declare, from the coarsest. A column's own may be finer.
UNITS = ("year", "month", "day", "hour", "minute", "second")


@dataclass(frozen=True, slots=True)
class Step:
    """Multiples of p · 10⁻ᵈ.

    >>> Step.of(0.05), Step.of(100), str(Step(1, 2))
    (Step(multiple=5, decimals=2), Step(multiple=100, decimals=0), '0.01')
    """

    multiple: int  #: p ≥ 1
    decimals: int  #: d ≥ 0

    @classmethod
    def of(cls, number: float) -> Step:
        """Return the step that a number is written as."""
        _, digits, exponent = Decimal(repr(number)).as_tuple()
        whole = int("".join(map(str, digits)))
        power = int(exponent)
        return cls(whole * 10**power, 0) if power >= 0 else _reduced(whole, -power)

    @property
    def number(self) -> Decimal:
        """The step as an exact number."""
        return Decimal(self.multiple).scaleb(-self.decimals)

    def __str__(self) -> str:
        return f"{self.number:f}"


def _reduced(multiple: int, decimals: int) -> Step:
    while decimals and multiple % 10 == 0:
        multiple, decimals = multiple // 10, decimals - 1
    return Step(multiple, decimals)


#: A step of numbers, a unit of dates and times, or None: all digits that there are.
Resolution = Step | str | None
