"""The audit of an output from scratch, by what a recipe promises, beside what an evidence claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shoal.errors import ShoalError, listing
from shoal.flow.claims import claims_of, look_again, look_at_persons, same
from shoal.flow.evidence import histogram
from shoal.flow.meaning import Left, as_left, taken_on_trust
from shoal.flow.promised import met, without_promise
from shoal.flow.promises import all_claimed, guarantee_of, in_two_tables
from shoal.flow.seen import Seen
from shoal.recipe import Recipe
from shoal.report.evidence import Evidence, finite
from shoal.requirements import Required
from shoal.types import Audit, Check, Finding, Role, Verdict

_K, _RANDOM = "k_anonymity", "probabilistic_k_anonymity"


def audited(
    said: Evidence, recipe: Recipe, tables: Sequence[Seen], required: Sequence[Required] = ()
) -> Iterator[Check]:
    """Audit the tables from scratch by what the recipe promises, and compare with what is claimed and required."""
    claims, link = claims_of(said), said["link"]
    lefts = [as_left(said, table.data, table.dialect) for table in tables]
    if (link is not None, len(tables) == 2) != (in_two_tables(recipe),) * 2:
        yield Check("The tables are those of the release", Verdict.FAILS, "the recipe says another number of tables")
        return
    yield _columns(said, recipe, tables)
    yield from _meanings(said, lefts)
    yield all_claimed(recipe, claims, link)
    yield from without_promise(recipe, claims, link)
    seen = [(claim, _look(claim, lefts, recipe, link)) for claim in claims]
    yield from (check for claim, check in seen if claim.required is not None or not claim.promised)
    yield from _besides([check for claim, check in seen if claim.required is None and claim.promised])
    yield _summary(said, recipe, claims)
    yield _sizes(said, recipe, lefts[0], link)
    yield from met(required, recipe, seen, link)


def _look(claim: Finding, lefts: Sequence[Left], recipe: Recipe, link: str | None) -> Check:
    """Look at one claim in the table that it is about."""
    if claim.model == "differential_privacy":
        verdict = Verdict.UNSEEN if claim.holds else Verdict.FAILS
        return Check(claim.subject, verdict, "noise cannot be seen in what left; the ledger is what the maker says")
    if claim.model == _RANDOM:
        verdict = Verdict.UNSEEN if claim.holds else Verdict.FAILS
        return Check(claim.subject, verdict, "which records were one class cannot be seen in what left")
    if claim.model == "anatomy_k":
        return _two_tables(claim, lefts, recipe)
    in_subjects = recipe.counted is not None and claim.model == _K
    about = lefts[1] if link is not None and claim.attributes == (link,) else lefts[0]
    if claim.model == "dominance" and guarantee_of(recipe) == _RANDOM:
        verdict = Verdict.UNSEEN if claim.holds else Verdict.FAILS
        return Check(claim.subject, verdict, "cannot be checked from the output, which does not show the classes")
    if claim.model == "dominance" and (hidden := _hidden(recipe)):
        return look_at_persons(claim, about, hidden)
    return look_again(claim, about, in_subjects=in_subjects)


def _hidden(recipe: Recipe) -> str:
    """Say what shares of persons depend on that is not in the output; nothing: they can be counted."""
    weights = recipe.weight is not None and recipe.release_weight != "record"
    found = {"subjects": recipe.counted is not None, "original weights": weights}
    return listing([name for name, hidden in found.items() if hidden])


def _two_tables(claim: Finding, lefts: Sequence[Left], recipe: Recipe) -> Check:
    """Look at what two tables show: as many confidential rows as records in each class. Whose they are is not seen."""
    if len(claim.attributes) != 1:
        return Check(claim.subject, Verdict.FAILS, "two tables are joined by one column, the evidence says otherwise")
    if any(claim.attributes[0] not in left.release.data.column_names for left in lefts):
        return Check(claim.subject, Verdict.FAILS, f"the output lacks {listing(claim.attributes)}")
    numbers = [_counted(left, claim.attributes[0]) for left in lefts]
    least = min((count for one in numbers for count in one.values()), default=0)
    if numbers[0] != numbers[1] or None in numbers[0]:
        why = "a class has not as many confidential rows as records"
        return Check(claim.subject, Verdict.FAILS, why)
    exact = recipe.counted is None
    if least < claim.achieved or least < recipe.k or not claim.holds or (exact and claim.classes != len(numbers[0])):
        why = f"the smallest class has {least:,} records, of {len(numbers[0]):,} classes: the evidence says otherwise"
        return Check(claim.subject, Verdict.FAILS, why)
    why = f"every class has {least:,} confidential rows or more; that they are those of its records cannot be seen"
    return Check(claim.subject, Verdict.UNSEEN, why)


def _counted(left: Left, name: str) -> dict[Any, int]:
    counts = left.release.data.column(name).value_counts()
    return {str(one["values"]) if one["values"].is_valid else None: one["counts"].as_py() for one in counts}


def _besides(checks: Sequence[Check]) -> Iterator[Check]:
    """Return one check for all levels that are only reported."""
    said, failed = "Levels that are only reported", [check for check in checks if check.verdict is Verdict.FAILS]
    yield from (check for check in checks if check.verdict is Verdict.UNSEEN)
    if failed:
        names = listing([check.claim for check in failed], most=2)
        why = f"{len(failed):,} of {len(checks):,} are not as the output shows them: {names}"
        yield Check(said, Verdict.FAILS, why)
    elif seen := [check for check in checks if check.verdict is Verdict.HOLDS]:
        yield Check(said, Verdict.HOLDS, f"all {len(seen):,} are as the output shows them")


def _columns(said: Evidence, recipe: Recipe, tables: Sequence[Seen]) -> Check:
    claim, names = "No column left that must not", [list(table.data.column_names) for table in tables]
    there = [name for one in names for name in one]
    if stray := [n for n in (*recipe.identifier, *recipe.columns(Role.SUBJECT)) if n in there]:
        return Check(claim, Verdict.FAILS, f"identifiers are in the output: {listing(stray)}")
    if list(dict.fromkeys(there)) != list(said["columns"]):
        return Check(claim, Verdict.FAILS, "the columns of the output are not those of the evidence")
    roles = {name: role.value for name, role in recipe.roles.items()}
    if any(roles.get(n, "other") != said["columns"][n]["role"] for n in there if n != said["link"]):
        return Check(claim, Verdict.FAILS, "columns have other roles in the evidence than in the recipe")
    if shared := [name for name in names[0] if name in recipe.confidential and len(names) == 2]:
        return Check(claim, Verdict.FAILS, f"confidential columns are in the first table: {listing(shared)}")
    if joined := [name for one in names[1:] for name in one if name in names[0] and name != said["link"]]:
        return Check(claim, Verdict.FAILS, f"columns are in both tables, which they join: {listing(joined)}")
    why = f"{len(set(there)):,} columns, none of which the recipe calls an identifier"
    return Check(claim, Verdict.HOLDS, why)


def _meanings(said: Evidence, lefts: Sequence[Left]) -> Iterator[Check]:
    """Say what the audit takes from the evidence: it decides how close values are, and cells do not show it."""
    taken = [one for left in lefts for one in taken_on_trust(said, left)]
    if taken:
        yield Check("What cells mean", Verdict.UNSEEN, f"as the maker says: {listing(taken)}")


def _summary(said: Evidence, recipe: Recipe, claims: Sequence[Finding]) -> Check:
    """Compare what is said in short of the audit with its findings."""
    claim = "The summary of the audit is that of its findings"
    overall = [f for f in claims if f.model == _K and f.attributes == recipe.quasi]
    if not overall:
        return Check(claim, Verdict.FAILS, "no finding is over all quasi-identifiers")
    audit = Audit(said["records"], recipe.quasi, recipe.confidential, overall[0], tuple(claims), said["link"])
    if not same(finite(audit.to_dict()), said["audit"]):
        return Check(claim, Verdict.FAILS, "they differ")
    return Check(claim, Verdict.HOLDS, f"k = {overall[0].achieved:g} in {overall[0].classes:,} classes")


def _sizes(said: Evidence, recipe: Recipe, left: Left, link: str | None) -> Check:
    over = recipe.quasi if link is None else (link,)
    claim, table = f"Class sizes over {listing(over)}", left.release
    if lacking := [name for name in over if name not in table.data.column_names]:
        return Check(claim, Verdict.FAILS, f"the output lacks {listing(lacking)}")
    try:
        found = histogram(table, over)
    except ShoalError as error:
        return Check(claim, Verdict.FAILS, str(error))
    if {"over": list(over), "sizes": found} != said["class_sizes"]:
        return Check(claim, Verdict.FAILS, "the evidence says otherwise than the output shows")
    return Check(claim, Verdict.HOLDS, f"from {found[0][0]:,} to {found[-1][0]:,} records")
