"""What became of the claims of an evidence when somebody else looked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What was found of one claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNSEEN = "cannot be checked"  #: from the output, by anybody: it is not said to hold


@dataclass(frozen=True, slots=True)
class Check:
    """One claim, what was found of it, and why."""

    claim: str
    verdict: Verdict
    why: str

    def to_dict(self) -> dict[str, str]:
        """Return the check as plain values."""
        return {"claim": self.claim, "verdict": self.verdict.value, "why": self.why}


@dataclass(frozen=True)
class Verification:
    """What a file turned out to be, against the evidence that came with it.

    >>> seen = Verification("safe.csv", (Check("k", Verdict.HOLDS, "counted"), Check("seed", Verdict.UNSEEN, "gone")))
    >>> seen.holds, seen.to_dict()["unchecked"]
    (True, 1)
    """

    output: str
    checks: tuple[Check, ...]
    audit: Mapping[str, Any] = field(default_factory=dict, repr=False)  #: what the evidence says the audit found

    @property
    def holds(self) -> bool:
        """Whether everything that can be checked holds."""
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """The claims that are not true."""
        return tuple(check for check in self.checks if check.verdict is Verdict.FAILS)

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """The claims of which the output shows nothing."""
        return tuple(check for check in self.checks if check.verdict is Verdict.UNSEEN)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, as in the JSON of ``shoal verify``."""
        return {
            "output": self.output,
            "holds": self.holds,
            "failed": len(self.failed),
            "unchecked": len(self.unchecked),
            "checks": [check.to_dict() for check in self.checks],
        }
