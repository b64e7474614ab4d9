"""One way to protect a table, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_NAN = math.nan
_LONG = 1e7  # percent: longer numbers are no better for their digits


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
        What was read by the two measures that settings are compared by; NaN where there is nothing. Where noise is
        weighed, the loss is what is expected, and there is no risk.
    readings
        All that was read, by name.
    k, classes
        What the audit found over all quasi-identifiers. Where noise is weighed, and nothing released: the size of the
        smallest class of any block, and how many classes all blocks have.
    keeps
        Whether k is promised over all quasi-identifiers, and not only of blocks or of values.
    meets
        Whether it is as strong as the recipe demands. A weaker one is drawn in grey, and never recommended.
    note
        Why it failed, or what the reader must know of it.
    frontier
        Whether no other setting that keeps its promise and meets the demands has less loss and no more risk, or less
        risk and no more loss.
    noise
        Where noise is weighed: how much of the loss it is; the rest is lost by microaggregation.
    sized
        Whether k says how large classes are; if not, the method takes the sizes that it likes.
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
    noise: float = _NAN
    sized: bool = True
    meets: bool = True

    @property
    def method(self) -> str:
        """The method with the effort of its refinement, in short: ``mdav + fast``; and with how ε is shared."""
        method = f"{self.recipe['method']} + {self.refine}" if self.refine else str(self.recipe["method"])
        return f"{method} ({self.split})" if self.split else method

    @property
    def split(self) -> str | None:
        """How ε is shared, where noise is weighed and the setting says it."""
        return self.recipe.get("set", {}).get("split") if "epsilon" in self.recipe else None

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
        if not self.sized:
            return f"{self.method}, sizes vary"
        return f"{self.method}, k = {k}" + ("" if t is None else f", t = {t:g}")

    @property
    def figures(self) -> tuple[str, str, str]:
        """Where noise is weighed, in words: the loss, what microaggregation has of it, and what noise has; percent.

        >>> Setting({"method": "mdav", "k": 5}, 0.1, loss=7e9, noise=2.5).figures
        ('7e+09', '7e+09', '2.50')
        """
        parts = (self.loss, self.loss - self.noise, self.noise)
        found = [f"{part:,.2f}" if part < _LONG else f"{part:.3g}" for part in parts]
        return found[0], found[1], found[2]

    @property
    def comparable(self) -> bool:
        """Whether it ran, keeps its promise, meets the recipe's demands, and has a loss and a risk."""
        known = not math.isnan(self.loss) and not math.isnan(self.risk)
        return self.state == "ran" and self.keeps and self.meets and known

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, as in the JSON of ``shoal explore``."""
        if "epsilon" in self.recipe:
            return self._weighed()
        k, t = self.asked
        found: dict[str, Any] = {"method": self.recipe["method"], "refine": self.refine, "k": k, "t": t}
        found |= {"meets": self.meets, "state": self.state, "seconds": round(self.seconds, 3)}
        if self.state == "ran":
            found |= {"loss": _plain(self.loss), "risk": _plain(self.risk), "achieved_k": self.k}
            found |= {"classes": self.classes, "keeps": self.keeps, "frontier": self.frontier}
            found["readings"] = {name: _plain(value) for name, value in self.readings.items()}
        return {**found, **({"note": self.note} if self.note else {})}

    def _weighed(self) -> dict[str, Any]:
        found: dict[str, Any] = {"method": self.recipe["method"], "refine": self.refine, "split": self.split}
        found |= {"k": self.asked[0] if self.sized else None, "meets": self.meets}
        found |= {"state": self.state, "seconds": round(self.seconds, 3)}
        if self.state == "ran":
            found |= {"loss": _plain(self.loss), "microaggregation": _plain(self.loss - self.noise)}
            found |= {"noise": _plain(self.noise), "smallest_class": self.k, "classes": self.classes}
            found["keeps"] = self.keeps
        return {**found, **({"note": self.note} if self.note else {})}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
