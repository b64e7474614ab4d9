"""Sentences of a report: the steps of the run, their reasons, and the findings of the audit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from shoal import registry
from shoal.display.words import counted, plain
from shoal.report.charts.numbers import folded, joined, number
from shoal.report.sections.recoded import recoding
from shoal.report.sections.tables import dominated
from shoal.types import Finding, Role, Run

_NOT = re.compile(r"\*\*What it does not promise\.\*\* (.*?)(?:\n\n|\Z)", re.DOTALL)

_ALWAYS = (
    ("Background knowledge", "An attacker who knows the other members of a class, or can rule them out, learns about "
     "the remaining one."),
    ("Several releases", "Each release of the same people keeps its promise by itself; two of them combined may not."),
    ("Utility", "Your analysis may give a different result. Check the loss below, and try it."),
)  # fmt: skip


class Promise(NamedTuple):
    """A privacy model that was audited because it is promised."""

    name: str
    words: str  #: its guarantee
    limits: str  #: its limits


def promises(account: Run) -> list[Promise]:
    """Return the promised models, each once, in the words of their files."""
    models = dict.fromkeys(f.model for f in account.audit.findings if f.required is not None and f.promised)
    return [_promise(model) for model in models if model in registry.keys("privacy")]


def _promise(model: str) -> Promise:
    head, _, words = registry.summary("privacy", model).partition(": ")
    found = _NOT.search(inspect.getdoc(registry.load("privacy", model)) or "")
    limits = " ".join(found[1].split()) if found else ""
    return Promise(head, f"{words[:1].upper()}{words[1:]}", limits.replace("``", "").replace("`", ""))


def limits(account: Run) -> list[tuple[str, str]]:
    """Return what is not promised: a title and a sentence each."""
    rows = []
    roles = (Role.OTHER, Role.CONFIDENTIAL, Role.STRATA, Role.WEIGHT)
    as_it_is = account.schema.names(*roles) if account.audit.unchanged is None else account.audit.unchanged.columns
    if as_it_is:
        rows.append(
            (
                "Other columns",
                f"{joined(as_it_is)}: released unchanged. If an attacker can know them, declare them as "
                "quasi-identifiers.",
            )
        )
    asked = {f.confidential for f in account.audit.findings if f.required is not None}
    bare = [name for name in account.audit.confidential if name not in asked]
    if bare:
        rows.append(
            (
                "Confidential values",
                f"Nothing is required of {joined(bare)}. If all members of a class share a value, "
                "it is known of all of them.",
            )
        )
    blocks = [f for f in account.audit.findings if f.model == "k_anonymity" and f.required is not None]
    if blocks and not any(set(account.audit.quasi) <= set(f.attributes) for f in blocks):
        rows.append(
            ("All blocks jointly", "k holds within each block only. Columns of several blocks may identify one record.")
        )
    if any(not f.promised for f in account.audit.findings):
        rows.append(("Reported findings", "Findings marked as not promised describe this output only."))
    if shares := [f.achieved for f in account.audit.findings if dominated(f)]:
        rows.append(
            (
                "One person in a class",
                f"In at least one class a single person holds {number(max(shares), 3)} of the weight. A mean that one "
                "person dominates is close to that person's own values, however many others are in the class. Require "
                "dominance = 0.5 to prevent it.",
            )
        )
    release = str(account.recipe.get("release", ""))
    if release == "swap" and account.recipe.get("set", {}).get("not_private_seed") is not None:
        rows.append(("NOT PRIVATE", "Values were swapped with a seed, for a test: anyone can reverse the swap."))
    if release in registry.keys("release") and (words := registry.load("release", release).limits):
        rows.append((f"By {release}", words))
    noise = (
        ("Differential privacy", "Classes depend on every record; no ε is promised.")
        if account.ledger is None
        else ("Scope of ε", f"{account.ledger.meaning}.")
    )
    return [*rows, noise, *_ALWAYS]


_MISSING = {
    "category": "A missing quasi-identifier is a separate category: records without a value may share a class.",
    "exclude": "Records with a missing quasi-identifier are excluded.",
    "fill": "A missing quasi-identifier is released with the value of its class.",
}


_OF_POPULATION = ("k_map", "delta_presence")
_NOISE = "differential_privacy"
_LINES = 8  # maximum number of requirements listed below the verdict


class Verdict(NamedTuple):
    """The verdict of the audit, at the top of the report."""

    holds: bool
    sentence: str
    requirements: tuple[str, ...]
    why: str  #: why it can be trusted
    warnings: tuple[str, ...] = ()  #: points to review before publication

    @property
    def tone(self) -> str:
        """The colour of the banner: good, warn or bad."""
        return "bad" if not self.holds else "warn" if self.warnings else "good"


def about_classes(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings about class sizes: not those of single people, replays or a population; else about noise."""
    found = [f for f in findings if f.model not in ("dominance", "exchangeability", *_OF_POPULATION)]
    return [f for f in found if f.model != _NOISE] or found


def verdict(account: Run) -> Verdict:
    """Return the finding of the independent audit in a sentence; requirements follow in others."""
    audit = account.audit
    if not audit.holds:
        failed = [f for f in audit.findings if not f.holds]
        told = "; ".join(f"{f.model} requires {f.levels[0]} and achieves {f.levels[1]}" for f in failed)
        return Verdict(False, f"The audit did not find what was required: {told}.", (), _CHECKED)
    asked = [f for f in audit.findings if f.required is not None and f.promised]
    of_all = [f for f in asked if f.confidential is None and not _with_strata(account, f)]
    of_records = about_classes(f for f in asked if f.confidential is None)
    of_columns = [f for f in finest(asked, audit.quasi) if f.confidential is not None]
    lines = [
        f"In {folded(str(f.confidential))}, {_model(f)} was required at {f.levels[0]} and found at {f.levels[1]}."
        for f in of_columns
    ]
    lines[:0] = [_of_persons(f) for f in of_all if f.model == "dominance"]
    lines += [
        f"{_model(f)}: {f.levels[0]} was required and {f.levels[1]} found; {f.note}."
        for f in of_all
        if f.model in _OF_POPULATION
    ]
    lines[:0] = [] if audit.attacker is None else [audit.attacker.sentence]
    if len(lines) > _LINES:
        lines[_LINES:] = [f"And {counted(len(lines) - _LINES, 'more requirement')}, all met: see the audit."]
    said = _of_records(account, of_records)
    warnings = tuple(map(plain, audit.warnings))
    promised = audit.attacker is not None and audit.attacker.knows == "algorithm" and not audit.attacker.replays
    checked = _CHECKED.replace("nothing was", "only the promise about the algorithm was") if promised else _CHECKED
    return Verdict(True, said, tuple(lines), f"{_groups(account)}{checked}", warnings)


_CHECKED = "An independent audit counted this in the released output; nothing was taken on trust."


def _of_persons(finding: Finding) -> str:
    required, achieved = finding.levels
    over = f" over {joined(finding.attributes)}"
    return f"No person holds more than {achieved} of the weight of a class{over}: at most {required} was allowed."


def _groups(account: Run) -> str:
    together = account.recipe.get("together")
    return "A group is a set of records that is never split, such as a household. " if together else ""


def _with_strata(account: Run, finding: Finding) -> bool:
    """Tell whether a finding repeats another one with the strata added; people of a population are counted only so."""
    return finding.model not in _OF_POPULATION and bool(set(finding.attributes) & set(account.recipe.get("strata", ())))


def finest(findings: Iterable[Finding], quasi: Sequence[str]) -> list[Finding]:
    """Return one finding for each model, column and set of quasi-identifiers: the last, which has strata as well.

    Strata and weights tell more classes apart, so that no level is better than in the last finding.
    """
    found = {(f.model, f.confidential, tuple(n for n in f.attributes if n in quasi)): f for f in findings}
    return list(found.values())


def _model(finding: Finding) -> str:
    return registry.summary("privacy", finding.model).partition(":")[0]


def _of_records(account: Run, found: list[Finding]) -> str:
    overall = account.audit.overall
    if not found:
        return f"No class size was promised: the audit found k = {number(overall.achieved)} over all quasi-identifiers."
    quasi = account.audit.quasi
    whole = [f for f in found if set(quasi) <= set(f.attributes)]
    chosen = whole or found
    worst = min(chosen, key=lambda f: f.achieved)
    k = int(worst.achieved)
    if chosen[0].model == "k_anonymity":
        others = _others(account, k - 1)
        blocks = [f for f in chosen if not _with_strata(account, f)]
        if whole or len(blocks) == 1:
            known = joined(["quasi-identifiers", *(name for name in worst.attributes if name not in quasi)])
            return f"Every record shares its {known} with {others}: the audit found k = {k}."
        return (
            f"In each of {len(blocks)} blocks, every record shares its quasi-identifiers with {others}: the audit "
            f"found k = {k}. Over all blocks jointly k is {number(overall.achieved)}, which is not promised."
        )
    if chosen[0].model == "probabilistic_k_anonymity":
        return (
            f"Values were swapped within classes of at least {k}: an attacker who knows someone's quasi-identifiers "
            f"picks the record with a probability of at most 1 in {k}."
        )
    if chosen[0].model == "anatomy_k":
        return f"Every record is joined with at least {k} confidential rows: the audit found k = {k}."
    return f"{registry.summary('privacy', chosen[0].model).rstrip('.')}: the audit found {k}."


def _others(account: Run, others: int) -> str:
    if account.recipe.get("subject"):
        return f"records of at least {counted(others, 'other subject')}"
    if account.recipe.get("together"):
        return f"records of at least {counted(others, 'other group')}"
    return f"at least {counted(others, 'other')}"


def done(account: Run, *, external: bool) -> list[tuple[str, str]]:
    """Return what was done, a title and a sentence each; the external edition omits what would help to undo it."""
    recipe = account.recipe
    method, release = str(recipe.get("method", "")), str(recipe.get("release", "centroid"))
    rows = [
        ("Classes", _classes(account)),
        ("Method", _named("partition", method)),
        ("Release", _named("release", release)),
        *_roles(account, external=external),
        *_counting(recipe, external=external),
        *_closeness(recipe),
    ]
    if recipe.get("recode"):
        rows.append(("Recoded", _recoded(recipe["recode"])))
    if recipe.get("strata"):
        merged = recipe.get("small_strata") == "merge"
        rows.append(("Strata", f"Classes never cross {joined(recipe['strata'])}." + (_MERGED if merged else "")))
    if recipe.get("weight"):
        rows.append(("Weights", weights_released(recipe)))
    rows.append(("Missing values", _MISSING[str(recipe.get("when_missing", "category"))]))
    if account.suppressed:
        rows.append(("Suppressed", _SUPPRESSED.format(count=counted(account.suppressed, "record"))))
    return rows if external else rows + _inside(account)


def weights_released(recipe: Mapping[str, Any]) -> str:
    """Say how the weights of a recipe count, and what is released of them."""
    return _WEIGHTS[str(recipe.get("release_weight", "class"))].format(weight=folded(recipe["weight"]))


def _recoded(columns: Mapping[str, Any]) -> str:
    said = "; ".join(f"{folded(name)}: {plain(recoding(how))}" for name, how in columns.items())
    return f"Before classes were formed, by rules that do not depend on the data. {said}."


_WEIGHTS = {
    "class": "Means of classes are weighted by {weight}, and each record has the mean weight of its class.",
    "record": "{weight} is released as it is; no mean and no class depends on it.",
    "none": "Means of classes are weighted by {weight}, which is removed.",
}
_SUPPRESSED = (
    "{count}, of the people who would have cost the most: not released. Quasi-identifiers alone decided. Every loss, "
    "risk and level of this report is over the records that are released."
)
_MERGED = " Strata that were too small were merged with the nearest, and released as one."


def _classes(account: Run) -> str:
    many = counted(len(account.sizes), "combination")
    return (
        f"{counted(account.audit.records, 'record')} released, with {many} of quasi-identifiers. Similar records "
        f"share a class, so that no record is unique on what an attacker may know from elsewhere."
    )


def _named(room: str, key: str) -> str:
    if key not in registry.keys(room):
        return key
    head, colon, rest = registry.summary(room, key).partition(": ")
    said = f"{rest[:1].upper()}{rest[1:]}" if colon else head
    return f"{key} ({head}). {said}" if colon and head.lower() != key else f"{key}. {said}"


def _roles(account: Run, *, external: bool) -> list[tuple[str, str]]:
    names = account.schema.names
    rows = [
        ("Quasi-identifiers", f"{joined(account.audit.quasi)}: attributes that an attacker may know from elsewhere.")
    ]
    if account.audit.confidential:
        rows.append(("Confidential", f"{joined(account.audit.confidential)}: values that must not be disclosed."))
    kept = account.recipe.get("subject") if account.recipe.get("subject_out") == "pseudonym" else None
    if kept is not None:
        rows.append(("Pseudonyms", f"{folded(str(kept))}: random names; values released unchanged are linked by them."))
    gone = [name for name in names(Role.IDENTIFIER, Role.SUBJECT) if name != kept]
    if gone and not external:
        rows.append(("Removed", f"{joined(gone)}: direct identifiers, or columns that identify people."))
    elif gone:
        rows.append(("Removed", "Direct identifiers, and columns that identify people."))
    if others := names(Role.OTHER):
        rows.append(("Unchanged", f"{joined(others)}: declared as neither known from elsewhere nor confidential."))
    return rows


def _counting(recipe: Mapping[str, Any], *, external: bool) -> list[tuple[str, str]]:
    column = recipe.get("subject") or recipe.get("together")
    if not column:
        return [("k", f"{recipe['k']}, counted in records.")]
    what = "subjects" if recipe.get("subject") else "groups that are never split, such as households"
    of = "" if external else f" ({folded(str(column))})"
    if recipe.get("subject_out") == "pseudonym":
        what = "subjects who share the whole set of their combinations"
    rows = [("k", f"{recipe['k']}, counted in {what}{of}.")]
    if recipe.get("household_level"):
        rows.append(("Group level", f"{joined(recipe['household_level'])}: one value for all members of a group."))
    return rows


def _closeness(recipe: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    if (t := recipe.get("t")) is not None:
        near = f"the {recipe['n']:,} records around it" if recipe.get("n") else "the whole table"
        rows.append(("t", f"{number(t)}: in every class each confidential column is distributed almost as in {near}."))
    if recipe.get("require"):
        persons = {name: level for name, level in recipe["require"].items() if name == "dominance"}
        again = {name: level for name, level in recipe["require"].items() if name == "exchangeability"}
        people = {name: level for name, level in recipe["require"].items() if name in (*_OF_POPULATION, "delta")}
        rest = {**persons, **again, **people}
        values = {n: level for n, level in recipe["require"].items() if n not in rest}
        said = [f"{_listed(values)}, of confidential columns"] if values else []
        said += [f"{_listed(persons)}, the largest share of a class that one person may hold"] if persons else []
        said += [f"{_listed(again)}, replays of the run on exchanged inputs"] if again else []
        said += [f"{_listed(people)}, counted in a file of the population"] if people else []
        rows.append(("Also required", f"{'; '.join(said)}."))
    return rows


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{folded(str(name))} = {folded(str(value))}" for name, value in values.items())


def _inside(account: Run) -> list[tuple[str, str]]:
    """Return details for people who have the original table: how classes were formed, and excluded records."""
    recipe, rows = account.recipe, []
    if account.left_out:
        rows.append(("Excluded", f"{counted(account.left_out, 'record')}: a quasi-identifier is missing."))
    if recipe.get("attribute_weights"):
        rows.append(("Attribute weights", f"Squared distances count {_listed(recipe['attribute_weights'])} times."))
    if recipe.get("coordinates"):
        pairs = [joined(pair) for pair in recipe["coordinates"]]
        each = ", each pair" if len(pairs) > 1 else ""
        rows.append(("Coordinates", f"{'; '.join(pairs)}: latitude and longitude{each} as one attribute."))
    if len(blocks := recipe.get("attribute_blocks", recipe.get("blocks", ()))) > 1:
        rows.append(("Blocks", "; ".join(joined(block) for block in blocks) + ": partitioned separately."))
    if recipe.get("steer"):
        made = ", ".join(folded(str(table.get("by", "an array"))) for table in recipe["steer"])
        rows.append(("Steering", f"By artificial attributes: {made}."))
    if recipe.get("effort"):
        rows.append(("Effort", f"{recipe['effort'].capitalize()}."))
    if recipe.get("deadline"):
        rows.append(("Deadline", f"{recipe['deadline']:g} s: the run cannot be repeated exactly."))
    if recipe.get("set"):
        rows.append(("Parameters", f"{_listed(recipe['set'])}."))
    if account.note:
        rows.append(("Method note", f"{account.note[:1].upper()}{account.note[1:].rstrip('.')}."))
    rows += [("Note", note) for note in account.notes]
    rows += [("Attack", f"{one.attack}: {one.verdict}. {one.sentence}") for one in account.attempts if one.records]
    return rows
