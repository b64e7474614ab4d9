"""What was found by trying many settings on a table: what each loses and risks, and which one to take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_NAN = math.nan


@dataclass(frozen=True)
class Setting:
    """One way to protect a table, and what came of it.

    Attributes
    ----------
    recipe
        The recipe's fields as plain values, which :func:`shoal.protect` takes.
    seconds
        How long it takes by the estimate that chose what runs; computed from counts, never from a clock.
    state
        ``ran``; ``failed``, and `note` says why; or ``left out``, for it did not fit into the time.
    loss, risk
        What was read by the two measures that settings are compared by; NaN where there is nothing.
    readings
        All that was read, by name.
    k, classes
        What the audit found over all quasi-identifiers.
    keeps
        Whether k is promised over all quasi-identifiers, and not only of blocks or of values.
    note
        Why it failed, or what the reader must know of it.
    frontier
        Whether no other setting that keeps its promise has less loss and no more risk, or less risk and no more loss.
    """

    recipe: Mapping[str, Any] = field(repr=False)
    seconds: float
    state: str = "left out"
    loss: float = _NAN
    risk: float = _NAN
    readings: Mapping[str, float] = field(default_factory=dict, repr=False)
    k: int = 0
    classes: int = 0
    keeps: bool = False
    note: str = ""
    frontier: bool = False

    @property
    def method(self) -> str:
        """The method with the effort of its refinement, in short: ``mdav + fast``."""
        return f"{self.recipe['method']} + {self.refine}" if self.refine else str(self.recipe["method"])

    @property
    def refine(self) -> str | None:
        """The effort of the refinement; None: it is not refined."""
        return self.recipe.get("refine")

    @property
    def asked(self) -> tuple[int, float | None]:
        """The k and the t that were asked for."""
        return int(self.recipe["k"]), self.recipe.get("t")

    @property
    def name(self) -> str:
        """The setting in words.

        >>> Setting({"method": "t_first", "k": 5, "t": 0.2, "refine": "fast"}, 0.1).name
        't_first + fast, k = 5, t = 0.2'
        """
        k, t = self.asked
        return f"{self.method}, k = {k}" + ("" if t is None else f", t = {t:g}")

    @property
    def comparable(self) -> bool:
        """Whether it ran, keeps its promise, and has a loss and a risk."""
        return self.state == "ran" and self.keeps and not math.isnan(self.loss) and not math.isnan(self.risk)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, as in the JSON of ``shoal explore``."""
        k, t = self.asked
        found: dict[str, Any] = {"method": self.recipe["method"], "refine": self.refine, "k": k, "t": t}
        found |= {"state": self.state, "seconds": round(self.seconds, 3)}
        if self.state == "ran":
            found |= {"loss": _plain(self.loss), "risk": _plain(self.risk), "achieved_k": self.k}
            found |= {"classes": self.classes, "keeps": self.keeps, "frontier": self.frontier}
            found["readings"] = {name: _plain(value) for name, value in self.readings.items()}
        return {**found, **({"note": self.note} if self.note else {})}


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
        Names of the two measures that settings are compared by.
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

    @property
    def frontier(self) -> tuple[Setting, ...]:
        """The settings that no other one beats, from the least loss to the least risk."""
        return tuple(sorted((s for s in self.settings if s.frontier), key=lambda s: (s.loss, -s.risk)))

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
        return {
            "records": self.records,
            "of": self.whole,
            "loss": self.loss,
            "risk": self.risk,
            "seconds": self.seconds,
            "settings": [setting.to_dict() for setting in self.settings],
            "frontier": [setting.to_dict() for setting in self.frontier],
            "recommended": None if self.recommended is None else self.recommended.to_dict(),
            "reason": self.reason,
            "rule": self.rule,
            "recipe": self.recipe,
            "notes": list(self.notes),
        }


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
