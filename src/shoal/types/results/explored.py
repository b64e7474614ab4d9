"""What was found by trying many settings on a table: what each loses and risks, and which one to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.types.results.privacy_ledger import CLAIMS
from shoal.types.results.setting import Setting


def demands_in_words(demands: Mapping[str, float]) -> str:
    """Return the k and the t that a recipe demands as text.

    >>> demands_in_words({"k": 5000, "t": 0.2})
    'k ≥ 5,000 and t ≤ 0.2'
    """
    return " and ".join(f"{name} {'≥' if name == 'k' else '≤'} {level:,}" for name, level in demands.items())


@dataclass(frozen=True)
class Explored:
    """What was found by trying many settings.

    Attributes
    ----------
    settings
        Every setting there was to try, those that failed or did not fit into the time among them.
    recommended
        The one to take; None if none keeps the limits that were given.
    reason
        Why, in a sentence.
    rule
        By which rule it was chosen, in a sentence.
    loss, risk
        Names of the two measures that settings are compared by; where noise is weighed there is no risk, "".
    records, whole
        How many records were looked at, and how many the table has.
    seconds, jobs
        The time at hand, and how many settings ran at once.
    toml
        The recipe of the recommended setting, for the whole table.
    source
        What the table is called: the last part of its path, no password.
    notes
        What the reader must know.
    epsilon, claim
        Where noise is weighed: the privacy budget, and what it is claimed for. Else None and "".
    demands
        The k and the t that the recipe demands: weaker settings are shown, and never recommended.
    stand_ins
        Whether made-up records took the place of the table's, of which no cell was looked at.
    """

    settings: tuple[Setting, ...]
    recommended: Setting | None
    reason: str
    rule: str
    loss: str
    risk: str
    records: int
    whole: int
    seconds: float
    jobs: int
    toml: str = field(default="", repr=False)
    source: str = ""
    notes: tuple[str, ...] = ()
    epsilon: float | None = None
    claim: str = ""
    stand_ins: bool = False
    demands: Mapping[str, float] = field(default_factory=dict)

    @property
    def frontier(self) -> tuple[Setting, ...]:
        """The settings that no other one beats, from the least loss to the least risk."""
        return tuple(sorted((s for s in self.settings if s.frontier), key=lambda s: (s.loss, -s.risk)))

    @property
    def ways(self) -> dict[str, tuple[Setting, ...]]:
        """The settings that ran, by method and how ε is shared, each by k."""
        ran = [setting for setting in self.settings if setting.state == "ran"]
        return {
            way: tuple(sorted((s for s in ran if s.method == way), key=lambda s: s.asked[0]))
            for way in dict.fromkeys(setting.method for setting in ran)
        }

    @property
    def meaning(self) -> str:
        """What ε means, in the words that are used everywhere; nothing where no noise is weighed."""
        return CLAIMS.get(self.claim, "")

    @property
    def demanded(self) -> str:
        """What the recipe demands, in words; nothing if it demands nothing."""
        return demands_in_words(self.demands)

    @property
    def recipe(self) -> dict[str, Any] | None:
        """The recipe of the recommended setting, as plain values that :func:`shoal.protect` takes."""
        return None if self.recommended is None else dict(self.recommended.recipe)

    @property
    def ran(self) -> str:
        """How many settings there were, in words."""
        count = {state: sum(s.state == state for s in self.settings) for state in ("ran", "failed", "left out")}
        tried = count["ran"] + count["failed"]
        said = f"{tried:,} of {len(self.settings):,} settings fit into {self.seconds:g} s"
        if self.jobs > 1:
            said += f" on {self.jobs} cores"
        return said + (f"; {count['failed']:,} of them could not be run" if count["failed"] else "")

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, as in the JSON of ``shoal explore``."""
        noise = {"epsilon": self.epsilon, "claim": self.claim, "meaning": self.meaning, "stand_ins": self.stand_ins}
        return {
            "records": self.records,
            "of": self.whole,
            "loss": self.loss,
            "risk": self.risk or None,
            **({} if self.epsilon is None else noise),
            "demands": dict(self.demands),
            "seconds": self.seconds,
            "settings": [setting.to_dict() for setting in self.settings],
            "frontier": [setting.to_dict() for setting in self.frontier],
            "recommended": None if self.recommended is None else self.recommended.to_dict(),
            "reason": self.reason,
            "rule": self.rule,
            "recipe": self.recipe,
            "notes": list(self.notes),
        }
