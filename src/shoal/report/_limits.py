"""What is promised, in the words of the privacy models, and what is not."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

from shoal import registry
from shoal.report._numerals import joined, number
from shoal.report._tables import dominated
from shoal.types import Account, Role

_NOT = re.compile(r"\*\*What it does not promise\.\*\* (.*?)(?:\n\n|\Z)", re.DOTALL)

#: What a release does besides the models, where its name does not say it.
_RELEASES = {
    "centroid": "Classes leave with a mean of their records, which may be a combination that nobody has.",
    "medoid": "Every class leaves with the quasi-identifiers that one of its records had: they are somebody's, true of "
    "that record and not of the others.",
    "swap": "Every column keeps its values, rare ones too, and anyone who finds the class of somebody sees its "
    "confidential values. The receipt of the run undoes it: keep it to yourself.",
    "anatomy": "Quasi-identifiers leave as they were: who is in the table is not hidden. If all confidential rows of a "
    "class share a value, it is known of everybody in it.",
}

_ALWAYS = (
    ("Somebody who knows more", "Who knows the other members of a class, or can rule them out, learns about the one "
     "that is left."),
    ("Several releases", "Each release of the same people keeps its promise on its own; two together may not."),
    ("Your analysis", "That it gives the same result as before. Look at the loss below, and try it."),
)  # fmt: skip


class Promise(NamedTuple):
    """A privacy model that was audited because it is promised."""

    name: str
    words: str  #: what it says
    limits: str  #: what it does not say


def promises(account: Account) -> list[Promise]:
    """Return the models that are promised, each once, in the words of their files."""
    models = dict.fromkeys(f.model for f in account.audit.findings if f.required is not None and f.promised)
    return [_promise(model) for model in models if model in registry.keys("privacy")]


def _promise(model: str) -> Promise:
    head, _, words = registry.summary("privacy", model).partition(": ")
    found = _NOT.search(inspect.getdoc(registry.load("privacy", model)) or "")
    limits = " ".join(found[1].split()) if found else ""
    return Promise(head, f"{words[:1].upper()}{words[1:]}", limits.replace("``", "").replace("`", ""))


def limits(account: Account) -> list[tuple[str, str]]:
    """Return what is not promised: a title and a sentence each."""
    rows = []
    roles = (Role.OTHER, Role.CONFIDENTIAL, Role.STRATA, Role.WEIGHT)
    as_it_is = account.schema.names(*roles) if account.audit.unchanged is None else account.audit.unchanged.columns
    if as_it_is:
        rows.append(
            (
                "Other columns",
                f"{joined(as_it_is)}: these are not hidden among others. If somebody can know them, they "
                "belong to the quasi-identifiers.",
            )
        )
    asked = {f.confidential for f in account.audit.findings if f.required is not None}
    bare = [name for name in account.audit.confidential if name not in asked]
    if bare:
        rows.append(
            (
                "Confidential values",
                f"Nothing was asked for of {joined(bare)}. If all members of a class share a value, "
                "it is known of all of them.",
            )
        )
    blocks = [f for f in account.audit.findings if f.model == "k_anonymity" and f.required is not None]
    if blocks and not any(set(account.audit.quasi) <= set(f.attributes) for f in blocks):
        rows.append(
            ("All blocks together", "k holds in each block only. Who knows columns of several may find one record.")
        )
    if any(not f.promised for f in account.audit.findings):
        rows.append(("What is only reported", "Findings marked as not promised are what was found, not what is kept."))
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
        rows.append(("NOT PRIVATE", "Values were dealt by a seed, for a test: anyone can put them back."))
    if release in _RELEASES:
        rows.append((f"By {release}", _RELEASES[release]))
    noise = (
        ("Differential privacy", "Classes depend on every record; no ε is promised.")
        if account.ledger is None
        else ("What ε is for, and what not", f"{account.ledger.meaning}.")
    )
    return [*rows, noise, *_ALWAYS]
