"""Attackers section: the chances of three attackers before and after, and the people at risk before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from shoal.report.charts.numbers import number
from shoal.types import Reading, Run
from shoal.types.disclosure import in_population, share

#: Measure, name, and what this attacker knows.
_ATTACKERS = (
    ("prosecutor_risk", "Prosecutor", "knows that a person is in the table, and looks for this person"),
    ("journalist_risk", "Journalist", "looks for anyone, and does not know who is in the table"),
    ("marketer_risk", "Marketer", "links everyone, and does not mind wrong links"),
)


_NO_POPULATION = "; without a table of the population, the figures are those of the prosecutor"
_POPULATION = "; counted in the population, whose records belong to the nearest released combination"


class Chances(NamedTuple):
    """The chances of an attacker as a row: worst case, ceiling and average, then those of the original."""

    name: str
    knows: str
    worst: str
    ceiling: str
    average: str
    original: str


def attackers(account: Run) -> list[Chances]:
    """Return a row for each attacker whose risk was measured, for readers who may see the original."""
    if (account.recipe.get("subject") or account.recipe.get("together")) and account.comparison.people is None:
        return []  # k counts people, and whose records they are is not known here
    read = {one.measure: one for one in account.readings.readings if not math.isnan(one.value)}
    k = account.recipe.get("k")
    ceiling = share(1, int(k)) if k and account.audit.overall.required is not None else "–"
    people = in_population(account.audit)
    in_all = share(1, people[0].required) if people is not None and people[0].required else "–"
    return [
        _row(name, knows, read[measure], ceiling, in_all)
        for measure, name, knows in _ATTACKERS
        if measure in read and account.audit.overall.promised
    ]


def _row(name: str, knows: str, reading: Reading, ceiling: str, in_all: str) -> Chances:
    """Return the row of an attacker; `in_all` is the ceiling where people of the population are counted."""
    parts = dict(reading.parts)
    if not any(part.startswith("original") for part in parts):
        knows, ceiling = f"{knows}{_POPULATION}", in_all
    elif reading.measure == "journalist_risk":
        knows += _NO_POPULATION
    if reading.measure == "marketer_risk":  # an expectation over everyone: it has no worst case
        return Chances(name, knows, "–", ceiling, _percent(reading.value), _before(parts, "original"))
    worst, average = (_before(parts, f"original, {name}") for name in ("highest", "average"))
    before = "–" if worst == "–" else f"{worst} at worst, {average} on average".replace(" %", "\N{NO-BREAK SPACE}%")
    return Chances(name, knows, _percent(reading.value), ceiling, _percent(parts["average"]), before)


def _before(parts: Mapping[str, float], name: str) -> str:
    """Return a chance before the release; with a population it is not measured."""
    return _percent(parts[name]) if name in parts else "–"


def before_release(account: Run) -> list[str]:
    """Say how many people of the original a few attributes identify, and how likely, for readers who may see it."""
    read = {one.measure: one for one in account.readings.readings if not math.isnan(one.value)}
    said = _uniques(read["suda"]) if "suda" in read else []
    if risk := read.get("individual_risk"):
        parts = dict(risk.parts)
        whose = (
            "of a household, at least one member"
            if account.recipe.get("together")
            else "at least one of a person's records"
        )
        group = parts.get("highest of a group")
        said.append(
            f"By the sampling weights, someone who finds a match in the original values has the right person of the "
            f"population with a chance of {_percent(risk.value)} at worst and {_percent(parts['mean'])} on average"
            f"{'' if group is None else f'; {whose} with {_percent(group)} at worst'}."
        )
    return said


def _uniques(suda: Reading) -> list[str]:
    """Say how many records were unique, and how often a single match is right, if any were unique."""
    parts = dict(suda.parts)
    if not parts["sample uniques"]:
        return ["Before protection, none of these records was unique among them on all quasi-identifiers."]
    most = sum(name.startswith("unique by ") for name in parts)
    few = "one quasi-identifier" if most == 1 else f"{most} quasi-identifiers or fewer"
    return [
        f"Before protection, {_percent(parts['sample uniques'])} of these records were unique among them on all "
        f"quasi-identifiers, and {_percent(suda.value)} already on {few}: these special uniques are the easiest to "
        "find.",
        f"If {_percent(parts['sampling fraction'])} of the population is in the table, someone who finds exactly one "
        "match in these original values is estimated to have the right person with a chance of "
        f"{_percent(parts['highest DIS-SUDA'])} at worst and {_percent(parts['mean DIS-SUDA of uniques'])} on average "
        "(DIS-SUDA).",
    ]


def _percent(value: float) -> str:
    return f"{number(value, 3)} %"
