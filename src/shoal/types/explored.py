"""Explored settings, their losses and risks, and the recommended one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.display.card import Card, Shown
from shoal.types.privacy_ledger import CLAIMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAN = math.nan
_LONG = 1e7  # percent: more digits would not help the reader


@dataclass(frozen=True)
class Setting:
    """One way to protect a table, and its results.

    Attributes
    ----------
    recipe
        The recipe's fields as plain values, which :func:`shoal.protect` takes.
    seconds
        Estimated time, by which the settings to run are chosen; computed from counts, never from a clock.
    state
        ``ran``; ``failed``, with the reason in `note`; ``left out``, because by its estimate it did not fit into the
        time; or ``not finished`` when the search stopped.
    loss, risk
        Readings of the two measures by which settings are compared; NaN if undefined. Where noise is weighed, the
        loss is the expected one, and there is no risk.
    readings
        All readings, by name.
    k, classes
        The audited figures over all quasi-identifiers. Where noise is weighed and nothing is released: the size of
        the smallest class of any block, and the number of classes in all blocks.
    keeps
        Whether k is promised over all quasi-identifiers, not only within blocks or for values.
    meets
        Whether it is as strong as the recipe demands. A weaker one is drawn in grey and never recommended.
    note
        Why it failed, or what the reader must know.
    frontier
        Whether no other setting that keeps its promise and meets the demands has less loss and no more risk, or
        less risk and no more loss.
    noise
        Where noise is weighed: its part of the loss; the rest is lost through microaggregation.
    sized
        Whether k sets the class size; if not, the method chooses the sizes itself.
    attacker
        The attacker that its k withstands: one who knows the ``algorithm``, or only the ``table``; empty without a
        promised k.
    frontiers
        If requirements look at confidential values: the attackers on whose frontier it lies. That of ``algorithm``
        compares settings that withstand someone who knows the algorithm, that of ``table`` all.
    variant
        What tells it apart from a setting with the same method and refinement.
    guarantee
        With a target: its guarantee, in words. Only settings with the same one are compared.
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
    attacker: str = ""
    frontiers: tuple[str, ...] = ()
    variant: str = ""
    guarantee: str = ""

    @property
    def kept(self) -> tuple[str, ...]:
        """With a target: two scores with their change in thousandths, and three risks, as text."""
        r = self.readings
        return (
            f"{r['boosting']:.3f} ({r['boosting_change']:+.0f})",
            f"{r['linear']:.3f} ({r['linear_change']:+.0f})",
            f"{r['singled_out']:.0f} % ({r['singled_out_control']:.0f} %)",
            f"{r['membership']:.0f} %",
            f"{r['copied']:.0f} %",
        )

    @property
    def method(self) -> str:
        """The method with its refinement effort, in short: ``mdav + fast``; and with the division of ε, or variant."""
        method = f"{self.recipe['method']} + {self.refine}" if self.refine else str(self.recipe["method"])
        more = self.split or self.variant
        return f"{method} ({more})" if more else method

    @property
    def split(self) -> str | None:
        """The division of ε, where noise is weighed and the setting names it."""
        return self.recipe.get("set", {}).get("split") if "epsilon" in self.recipe else None

    @property
    def refine(self) -> str | None:
        """The effort of the search or of the refinement; None if the setting has no effort."""
        return self.recipe.get("effort")

    @property
    def asked(self) -> tuple[int, float | None]:
        """The requested k and t."""
        return int(self.recipe["k"]), self.recipe.get("t")

    @property
    def name(self) -> str:
        """The setting in words.

        >>> Setting({"method": "t_first", "k": 5, "t": 0.2, "effort": "fast"}, 0.1).name
        't_first + fast, k = 5, t = 0.2'
        """
        k, t = self.asked
        if not self.sized:
            return f"{self.method}, sizes vary"
        return f"{self.method}, k = {k}" + ("" if t is None else f", t = {t:g}")

    @property
    def figures(self) -> tuple[str, str, str]:
        """The loss and its parts from microaggregation and from noise, in words; percent. For weighed noise.

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
        """Return plain values, as in the JSON of ``shoal explore``."""
        if "epsilon" in self.recipe:
            return self._weighed()
        k, t = self.asked
        found: dict[str, Any] = {"method": self.recipe["method"], "refine": self.refine, "k": k, "t": t}
        found |= {"attacker": self.attacker or None}
        if self.guarantee:
            found |= {"release": self.recipe.get("release", "centroid"), "guarantee": self.guarantee}
        found |= {"meets": self.meets, "state": self.state, "seconds": round(self.seconds, 3)}
        if self.state == "ran":
            found |= {"loss": _plain(self.loss), "risk": _plain(self.risk), "achieved_k": self.k}
            found |= {"classes": self.classes, "keeps": self.keeps, "frontier": self.frontier}
            found |= {"frontiers": list(self.frontiers)} if self.frontiers else {}
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


def demands_in_words(demands: Mapping[str, float]) -> str:
    """Return the k and t that a recipe demands as text.

    >>> demands_in_words({"k": 5000, "t": 0.2})
    'k ≥ 5,000 and t ≤ 0.2'
    """
    return " and ".join(f"{name} {'≥' if name == 'k' else '≤'} {level:,}" for name, level in demands.items())


class Price(NamedTuple):
    """The least loss at one k and t against each attacker."""

    k: int
    t: float | None
    algorithm: float  #: of the settings that withstand someone who knows the algorithm
    table: float  #: of all settings

    @property
    def more(self) -> str:
        """How much more is lost for the stronger promise, in words.

        >>> Price(5, 0.15, 41.9, 37.0).more, Price(5, None, 3.0, 3.0).more
        ('13 % more loss at t = 0.15 (41.90 % instead of 37.00 %)', 'no loss at k = 5')
        """
        at = f"k = {self.k}" if self.t is None else f"t = {self.t:g}"
        if f"{self.algorithm:.2f}" == f"{self.table:.2f}":
            return f"no loss at {at}"
        figures = f"({self.algorithm:.2f} % instead of {self.table:.2f} %)"
        if self.table <= 0:
            return f"more loss at {at} {figures}"
        share = 100 * (self.algorithm / self.table - 1)
        said = f"{share:,.0f}" if share >= 10 else f"{share:.2g}"
        return f"{said} % more loss at {at} {figures}"


@dataclass(frozen=True, repr=False)
class Explored(Shown):
    """The result of trying many settings.

    Attributes
    ----------
    settings
        Every setting to try, including those that failed, did not fit into the time, or did not finish.
    recommended
        The recommended one; None if none keeps the given limits.
    reason
        The reason, in a sentence.
    rule
        The rule by which it was chosen, in a sentence.
    loss, risk
        Names of the two measures by which settings are compared; where noise is weighed there is no risk, "".
    records, whole
        Number of records used, and of records in the table.
    seconds, jobs
        The time limit of the whole search, and how many settings ran at once.
    toml
        The recipe of the recommended setting, for the whole table.
    source
        Name of the table: the last part of its path, without a password.
    notes
        Notes for the reader.
    epsilon, claim
        Where noise is weighed: the privacy budget, and what it is claimed for. Else None and "".
    demands
        The k and t that the recipe demands: weaker settings are shown but never recommended.
    stand_ins
        Whether synthetic records replaced those of the table, whose cells were not read.
    attacker
        If requirements look at confidential values: the attacker that the recipe must withstand. There are two
        frontiers then, and the recommended setting is on that of this attacker. Else "".
    stopped
        Why the search ended before all settings had finished: ``the time was up`` or ``the search was stopped``. Else
        "".
    target, score, originals
        With a target: the column that models predict, the name of their score, and the scores of models that are
        trained on the original records.
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
    attacker: str = ""
    stopped: str = ""
    target: str = ""
    score: str = ""
    originals: Mapping[str, float] = field(default_factory=dict)

    def _card(self) -> Card:
        from shoal.types.cards import explored_card

        return explored_card(self)

    def plot(self) -> Figure:
        """Draw the settings and the frontier, as in the page; needs matplotlib (``shoal[plot]``)."""
        from shoal.types.figures import explored_figure

        return explored_figure(self)

    @property
    def frontiers(self) -> dict[str, tuple[Setting, ...]]:
        """The frontier of each attacker, from the least loss to the least risk; empty if there is one frontier."""
        if not self.attacker:
            return {}
        ordered = sorted(self.settings, key=lambda s: (s.loss, -s.risk))
        return {name: tuple(s for s in ordered if name in s.frontiers) for name in ("algorithm", "table")}

    @property
    def prices(self) -> tuple[Price, ...]:
        """The least loss against each attacker, at every k and t for which settings of both kinds ran."""
        compared = [one for one in self.settings if one.comparable] if self.attacker else []
        found = []
        for k, t in dict.fromkeys(one.asked for one in compared):
            at = [one for one in compared if one.asked == (k, t)]
            strong = [one.loss for one in at if one.attacker == "algorithm"]
            if strong and len(strong) < len(at):
                found.append(Price(k, t, min(strong), min(one.loss for one in at)))
        return tuple(sorted(found, key=lambda one: (one.k, one.t or 0.0)))

    @property
    def price_in_words(self) -> str:
        """The price of the stronger promise, at the recommended k or else the smallest, in a sentence; may be empty."""
        best = None if self.recommended is None else self.recommended.asked[0]
        sizes = [one.k for one in self.prices]
        if not sizes:
            return ""
        k = best if best in sizes else min(sizes)
        each = [one.more for one in self.prices if one.k == k]
        costs = f"{', '.join(each[:-1])} and {each[-1]}" if len(each) > 1 else each[0]
        size = "" if all(one.t is None for one in self.prices) else f", with k = {k}"
        return f"The stronger promise, against someone who knows the algorithm, costs {costs}{size}."

    @property
    def frontier(self) -> tuple[Setting, ...]:
        """The settings that no other one dominates, from the least loss to the least risk."""
        return tuple(sorted((s for s in self.settings if s.frontier), key=lambda s: (s.loss, -s.risk)))

    @property
    def guarantees(self) -> dict[str, tuple[Setting, ...]]:
        """With a target: the settings that ran by their guarantee, each from the best gradient boosting."""
        ran = sorted(
            (one for one in self.settings if one.state == "ran" and one.guarantee),
            key=lambda s: (not s.meets, s.guarantee.split(",")[0], s.asked[0], s.guarantee, -s.readings["boosting"]),
        )
        return {name: tuple(s for s in ran if s.guarantee == name) for name in dict.fromkeys(s.guarantee for s in ran)}

    @property
    def explanations(self) -> tuple[str, ...]:
        """With a target: what the risks in the tables mean."""
        return (
            "Singled out: guesses with random attributes of the release that describe exactly one original record, and "
            "in brackets exactly one record of the control, by chance.",
            "Membership: how often an outlier of the table is nearer to the release than one of the control; 50 % is "
            "guessing.",
            "Copied: unique original combinations of quasi-identifiers that the release reproduces.",
        )

    @property
    def ways(self) -> dict[str, tuple[Setting, ...]]:
        """The settings that ran, by method and division of ε, each by k."""
        ran = [setting for setting in self.settings if setting.state == "ran"]
        return {
            way: tuple(sorted((s for s in ran if s.method == way), key=lambda s: s.asked[0]))
            for way in dict.fromkeys(setting.method for setting in ran)
        }

    @property
    def meaning(self) -> str:
        """The meaning of ε, in its standard wording; empty where no noise is weighed."""
        return CLAIMS.get(self.claim, "")

    @property
    def demanded(self) -> str:
        """The recipe's demands, in words; empty without demands."""
        return demands_in_words(self.demands)

    @property
    def recipe(self) -> dict[str, Any] | None:
        """The recipe of the recommended setting, as plain values that :func:`shoal.protect` takes."""
        return None if self.recommended is None else dict(self.recommended.recipe)

    @property
    def ran(self) -> str:
        """The numbers of settings, in words."""
        count = {state: sum(s.state == state for s in self.settings) for state in ("ran", "failed")}
        tried = count["ran"] + count["failed"]
        within = f"fit into {self.seconds:g} s" + (f" on {self.jobs} cores" if self.jobs > 1 else "")
        said = f"{tried:,} of {len(self.settings):,} settings " + (
            f"ran before {self.stopped}" if self.stopped else within
        )
        return said + (f"; {count['failed']:,} of them could not be run" if count["failed"] else "")

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The names of the settings that were not finished when the search stopped."""
        return tuple(setting.name for setting in self.settings if setting.state == "not finished")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as in the JSON of ``shoal explore``."""
        noise = {"epsilon": self.epsilon, "claim": self.claim, "meaning": self.meaning, "stand_ins": self.stand_ins}
        return {
            "records": self.records,
            "of": self.whole,
            "loss": self.loss,
            "risk": self.risk or None,
            **({} if self.epsilon is None else noise),
            "demands": dict(self.demands),
            "seconds": self.seconds,
            **({"stopped": self.stopped} if self.stopped else {}),
            "settings": [setting.to_dict() for setting in self.settings],
            "frontier": [setting.to_dict() for setting in self.frontier],
            **(self._of_attackers() if self.attacker else {}),
            **(self._of_target() if self.target else {}),
            "recommended": None if self.recommended is None else self.recommended.to_dict(),
            "reason": self.reason,
            "rule": self.rule,
            "recipe": self.recipe,
            "notes": list(self.notes),
        }

    def _of_target(self) -> dict[str, Any]:
        ranked = {name: [one.name for one in some] for name, some in self.guarantees.items()}
        return {"target": self.target, "score": self.score, "originals": dict(self.originals), "guarantees": ranked}

    def _of_attackers(self) -> dict[str, Any]:
        frontiers = {name: [one.to_dict() for one in some] for name, some in self.frontiers.items()}
        return {"attacker": self.attacker, "frontiers": frontiers, "prices": [one._asdict() for one in self.prices]}
