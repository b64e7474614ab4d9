"""Verification of evidence: the verdict on each of its claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shoal.display.card import Card, Shown
from shoal.errors import listing


class Verdict(StrEnum):
    """The verdict on one claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNSEEN = "cannot be checked"  #: not from the output, by anyone: it is not assumed to hold
    NOT_PROMISED = "not promised"  #: by the recipe, although most readers expect it


@dataclass(frozen=True, slots=True)
class Check:
    """One claim, its verdict, and why."""

    claim: str
    verdict: Verdict
    why: str
    essential: bool = True  #: False: it does not concern the output's protection, such as the origin of the input

    @property
    def verified(self) -> bool:
        """Whether it holds, or does not concern the output's protection."""
        return self.verdict is Verdict.HOLDS or (self.verdict is Verdict.UNSEEN and not self.essential)

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain values."""
        return {"claim": self.claim, "verdict": self.verdict.value, "why": self.why, "essential": self.essential}


@dataclass(frozen=True, slots=True)
class Promise:
    """A level that a release promises.

    >>> str(Promise("t_closeness", "t", (0.2,), ("age", "sex"), "pay"))
    't = 0.2 of pay over age, sex'
    """

    model: str  #: key of the privacy model
    short: str  #: its short name, as in ``--require``
    levels: tuple[float, ...]
    over: tuple[str, ...]
    of: str | None = None  #: the confidential column, for a model about one

    def __str__(self) -> str:
        of = "" if self.of is None else f" of {self.of}"
        return f"{self.short} = {':'.join(f'{level:g}' for level in self.levels)}{of} over {listing(self.over)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the promise as plain values."""
        levels = [*self.levels]
        return {"model": self.model, "short": self.short, "levels": levels, "over": [*self.over], "of": self.of}


@dataclass(frozen=True, repr=False)
class Verification(Shown):
    """The result of checking a file against its evidence.

    >>> seen = Verification("safe.csv", (Check("k", Verdict.HOLDS, "counted"), Check("t", Verdict.UNSEEN, "gone")))
    >>> seen.holds, seen.to_dict()["unchecked"]
    (True, 1)
    >>> Verification("safe.csv", seen.checks, strict=True).holds
    False
    """

    output: str
    checks: tuple[Check, ...]
    audit: Mapping[str, Any] = field(default_factory=dict, repr=False)  #: the audit according to the evidence
    promised: tuple[Promise, ...] = ()
    k: int | None = None  #: the k that is promised over all quasi-identifiers jointly
    strict: bool = False  #: whether everything about the output's protection must be verified

    @property
    def holds(self) -> bool:
        """Whether everything that can be checked holds; if strict, whether everything is verified."""
        return not self.failed and not (self.strict and self.unverified)

    @property
    def promise(self) -> str:
        """The promise, in a sentence."""
        none = () if self.k is not None else ("no k over all quasi-identifiers together",)
        return f"Promised: {'; '.join((*none, *map(str, self.promised)))}."

    def _card(self) -> Card:
        from shoal.types.cards import verification_card

        return verification_card(self)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The claims that are false."""
        return tuple(check for check in self.checks if check.verdict is Verdict.FAILS)

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """The claims that the output cannot confirm."""
        return tuple(check for check in self.checks if check.verdict is Verdict.UNSEEN)

    @property
    def unverified(self) -> tuple[Check, ...]:
        """Unverified aspects of the output's protection: not promised, or not checkable from the output."""
        return tuple(check for check in self.checks if check.verdict is not Verdict.FAILS and not check.verified)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in the JSON of ``shoal verify``."""
        return {
            "output": self.output,
            "promise": self.promise,
            "k": self.k,
            "promised": [one.to_dict() for one in self.promised],
            "strict": self.strict,
            "holds": self.holds,
            "failed": len(self.failed),
            "unchecked": len(self.unchecked),
            "unverified": len(self.unverified),
            "checks": [check.to_dict() for check in self.checks],
        }
