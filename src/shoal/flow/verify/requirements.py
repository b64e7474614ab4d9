"""Requirements on evidence: every promise of the recipe is claimed, and every requested level is met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal import registry
from shoal.errors import listing
from shoal.flow.plan.components import of_values, required_in
from shoal.parameters import shown
from shoal.recipe.attacker import replays_required, withstood
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, of_confidential, of_persons, of_population, resolve
from shoal.types import SECOND, Attacker, Check, Finding, Promise, Verdict

_K, _NOISE = "k_anonymity", "differential_privacy"
_PROTECTING = (_K, "probabilistic_k_anonymity", "anatomy_k", _NOISE)
_AT_LEAST = frozenset({"k", "k_map", "p", "l", "e", "replays"})
_AT_MOST = frozenset({"t", "alpha", "beta", "delta", "share", "epsilon"})


def promises_in(claims: Sequence[Finding]) -> tuple[Promise, ...]:
    """Return the promised levels; the others are reported for information."""
    return tuple(
        Promise(one.model, one.short, (*(level for _, level in one.given), required), one.attributes, one.confidential)
        for one in claims
        if one.promised and (required := one.required) is not None
    )


def promised_k(recipe: Recipe, claims: Sequence[Finding]) -> int | None:
    """Return the k that is promised over all quasi-identifiers jointly; more columns make smaller classes."""
    found = [one.required for one in claims if one.model == _K and one.promised and _over_all(one, recipe, None)]
    return max((int(k) for k in found if k is not None), default=None)


def without_promise(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> Iterator[Check]:
    """Report what a reader may expect but the release does not promise: joint k over all columns, a required t."""
    if not any(
        one.model in _PROTECTING and one.promised and one.required is not None and _over_all(one, recipe, link)
        for one in claims
    ):
        shown = [one.achieved for one in claims if one.model == _K and one.attributes == recipe.quasi]
        why = f"k = {shown[0]:g} by the evidence" if shown else "the evidence does not mention it"
        yield Check("k over all quasi-identifiers together", Verdict.NOT_PROMISED, why)
    for one in claims:
        if one.confidential is not None and not one.promised:
            why = f"{one.level} = {one.achieved:.3g} by the evidence"
            yield Check(f"{one.level} of {one.confidential}, which the recipe sets", Verdict.NOT_PROMISED, why)


def _worded(attacker: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return an attacker as evidence states it today, and in the words of earlier versions."""
    earlier = str(attacker["says"]).replace("By quasi-identifiers alone, the chance", "The chance")
    return attacker, {**attacker, "says": earlier}


def withstands(said: Any, recipe: Recipe, claims: Sequence[Finding]) -> Iterator[Check]:
    """Compare the attacker that the evidence names with the one that the recipe and the method's promise allow."""
    claim = "Attacker that the release withstands"
    if said is None:  # written before attackers were named
        return
    if not is_installed(recipe.method):
        yield Check(claim, Verdict.NOT_PROMISED, f"the method {shown(recipe.method)} is not installed")
        return
    allowed = withstood(recipe, promised=any(one.required is not None and one.promised for one in claims))
    share = said.get("at_most") if isinstance(said, dict) else None
    counted = recipe.counted is not None and isinstance(share, float) and 0 < share <= 1
    expected = Attacker(
        allowed,
        recipe.k,
        share if counted and allowed == "algorithm" and recipe.pseudonym is None else None,
        _linked_to(recipe),
        max((int(one.required or 0) for one in claims if one.model == "exchangeability"), default=0),
        SECOND if in_two_tables(recipe) else "record",
    )
    weaker = replace(expected, knows="table", share=None)  # as where atoms split equal records
    if not allowed or said not in [one for it in (expected, weaker) for one in _worded(it.to_dict())]:
        yield Check(claim, Verdict.FAILS, "the evidence names another one than the recipe and the method promise")
    elif said == weaker.to_dict():
        yield Check(claim, Verdict.HOLDS, "k is counted in the table; someone who knows the algorithm may learn more")
    else:
        why = "someone who knows the algorithm, as the method promises; the output does not show how it was made"
        yield Check(claim, Verdict.UNSEEN, why, essential=False)


def _linked_to(recipe: Recipe) -> str:
    """Return whose share of an atom, or whose pseudonym, the claim about an attacker names."""
    if recipe.pseudonym is not None:
        return "pseudonym"
    return "person" if recipe.together is None else "group"


def met(
    required: Sequence[Required], recipe: Recipe, looked_at: Sequence[tuple[Finding, Check]], link: str | None
) -> Iterator[Check]:
    """Check that each requirement of the reader is promised, at its level or a stricter one, and confirmed."""
    for one in required:
        columns: tuple[str | None, ...] = one.columns or recipe.confidential if of_confidential(one.key) else (None,)
        for column in columns:
            yield _met(one, column, recipe, looked_at, link)
        if not columns:
            yield Check(f"Required: {_asked(one, None)}", Verdict.FAILS, "no column is confidential")


def _met(
    one: Required, column: str | None, recipe: Recipe, looked_at: Sequence[tuple[Finding, Check]], link: str | None
) -> Check:
    claim = f"Required: {_asked(one, column)}"
    about = [
        (finding, check)
        for finding, check in looked_at
        if finding.model == one.key and finding.confidential == column and finding.promised
        if finding.required is not None and _over_all(finding, recipe, link)
    ]
    if not about:
        return Check(claim, Verdict.FAILS, "not promised over all quasi-identifiers together")
    strict = [(finding, check) for finding, check in about if _reaches(finding, one)]
    if not strict:
        levels = listing([f"{finding.level} = {finding.required:g}" for finding, _ in about])
        return Check(claim, Verdict.FAILS, f"promised at another level: {levels}")
    for finding, check in strict:
        if check.verdict is Verdict.HOLDS:
            return Check(claim, Verdict.HOLDS, f"promised over {listing(finding.attributes)}, and confirmed")
    return Check(claim, Verdict.FAILS, f"promised, but not confirmed: {strict[0][1].why}")


def _asked(one: Required, column: str | None) -> str:
    levels = ":".join(f"{level:g}" for _, level in one.levels if isinstance(level, (int, float)))
    return f"{one.model.short} = {levels}" + ("" if column is None else f" of {column}")


def _over_all(finding: Finding, recipe: Recipe, link: str | None) -> bool:
    """Tell whether a finding covers all quasi-identifiers jointly, or the classes that join two tables."""
    return finding.model == _NOISE or finding.attributes == (link,) or set(recipe.quasi) <= set(finding.attributes)


def _reaches(finding: Finding, one: Required) -> bool:
    """Tell whether a promised level is at least as strict as the required one."""
    promised = {**dict(finding.given), finding.level: finding.required}
    return all(
        _as_strict(name, promised.get(name), asked) if name == finding.level else promised.get(name) == asked
        for name, asked in one.levels
        if asked is not None
    )


def _as_strict(name: str, promised: float | None, asked: float) -> bool:
    if promised is None:
        return False
    if name in _AT_LEAST:
        return promised >= asked
    return promised <= asked if name in _AT_MOST else promised == asked


_PROMISES_K, _SETS = "k_anonymity", "k_sets"
_RANDOM = "probabilistic_k_anonymity"
_CLOSE = ("t_closeness", "n_t_closeness")


def is_installed(method: str) -> bool:
    """Tell whether a method is known here; one of another package need not be."""
    return method in registry.keys("partition")


def _method_says(recipe: Recipe, name: str) -> bool:
    """Tell whether a method declares a promise or trait, without running it; undeclared is not promised."""
    return is_installed(recipe.method) and bool(registry.says("partition", recipe.method, name))


def guarantee_of(recipe: Recipe) -> str:
    """Return the model that a recipe's release promises, as it declares without being run."""
    return str(registry.says("release", recipe.release, "guarantee") or _PROMISES_K)


def in_two_tables(recipe: Recipe) -> bool:
    """Tell whether confidential columns are released in a second table."""
    return bool(registry.says("release", recipe.release, "two_tables"))


def seeded(recipe: Recipe) -> bool:
    """Tell whether the randomness came from a test seed, so that nothing is promised."""
    return guarantee_of(recipe) == _RANDOM and recipe.set.get("not_private_seed") is not None


def all_claimed(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> Check:
    """Compare the promises of a recipe with the audited claims."""
    faults = [*_of_records(recipe, claims, link), *_of_values(recipe, claims, link), *_of_persons(recipe, claims, link)]
    faults += _of_sets(recipe, claims)
    if (tried := replays_required(recipe)) and not any(_replayed(one, tried) for one in claims):
        faults.append(f"exchangeability in {tried:,} replays")
    faults += [
        one.key for one in resolve("Recipe", recipe.require) if of_population(one.key) and not _said(one, claims)
    ]
    said = "All promises of the recipe were audited"
    if faults:
        return Check(said, Verdict.FAILS, f"no finding says {listing(faults)}")
    if seeded(recipe):
        return Check(said, Verdict.HOLDS, "values were swapped with a seed, for a test: nothing is promised or claimed")
    if not is_installed(recipe.method):
        why = f"the method {shown(recipe.method)} is not installed, so it counts as promising nothing of its own"
        return Check(said, Verdict.NOT_PROMISED, why)
    if not _method_says(recipe, "promises_k"):
        return Check(said, Verdict.HOLDS, f"the method {recipe.method} promises no k of records, and none is claimed")
    if silent := sorted({str(f.confidential) for f in claims if f.confidential is not None and not f.promised}):
        why = f"t of {listing(silent)} is in the recipe and is NOT promised, as a weight was given; the rest is audited"
        return Check(said, Verdict.HOLDS, why)
    return Check(said, Verdict.HOLDS, "every promise has a finding, at the level of the recipe")


def _said(one: Required, claims: Sequence[Finding]) -> bool:
    """Tell whether a requirement on all quasi-identifiers is claimed at its level."""
    return any(claim.model == one.key and claim.required == dict(one.levels)[claim.level] for claim in claims)


def _replayed(claim: Finding, tried: int) -> bool:
    return claim.model == "exchangeability" and claim.required == tried and claim.holds


def _of_records(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> list[str]:
    """Return the blocks in which k is promised but not claimed."""
    if in_two_tables(recipe):
        key, names = guarantee_of(recipe), () if link is None else (link,)
        return [f"{key} = {recipe.k} over the class"] if names not in _claimed(claims, key, recipe.k) else []
    if not is_installed(recipe.method):
        return []
    if not _method_says(recipe, "promises_k"):
        silent = {f.attributes for f in claims if f.model == _PROMISES_K and not f.promised}
        return [f"the level over {listing(names)}" for names in recipe.all_blocks if names not in silent]
    if seeded(recipe):
        return []
    key = guarantee_of(recipe)
    claimed = _claimed(claims, key, recipe.k)
    wanted = list(recipe.all_blocks)
    if _method_says(recipe, "forms_blocks"):  # smaller blocks: k is claimed in each
        wanted = [names for names in claimed if set(names) <= set(recipe.quasi)]
        lacking = set(recipe.quasi).difference(*wanted)
        if lacking:
            return [f"{key} = {recipe.k} over {listing(sorted(lacking))}"]
    if recipe.nested:
        wanted.append(recipe.quasi)
    if recipe.strata:
        wanted += [(*names, *recipe.strata) for names in wanted]
    if recipe.weight and recipe.release_weight == "class" and key == _PROMISES_K:
        wanted += [(*recipe.quasi, recipe.weight)]
        wanted += [(*recipe.quasi, *recipe.strata, recipe.weight)] if recipe.strata else []
    return [f"{key} = {recipe.k} over {listing(names)}" for names in wanted if names not in claimed]


def _of_sets(recipe: Recipe, claims: Sequence[Finding]) -> list[str]:
    """Return the columns over which k of sets is promised, because pseudonyms are released, but not claimed."""
    if recipe.pseudonym is None:
        return []
    wanted = [recipe.quasi, *([(*recipe.quasi, *recipe.strata)] if recipe.strata else [])]
    if recipe.weight and recipe.release_weight == "class":
        wanted += [(*names, recipe.weight) for names in wanted]
    claimed = _claimed(claims, _SETS, recipe.k)
    return [f"{_SETS} = {recipe.k} over {listing(names)}" for names in wanted if names not in claimed]


def _claimed(claims: Sequence[Finding], key: str, k: int) -> list[tuple[str, ...]]:
    return [f.attributes for f in claims if f.model == key and f.required == k and f.promised]


def _of_values(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> list[str]:
    """Return the requirements on confidential columns that are not claimed."""
    over = [recipe.quasi, *([(*recipe.quasi, *recipe.strata)] if recipe.strata else [])]
    if link is not None:
        over = [(link,)]
    return [
        f"{one.key} of {name} over {listing(names)}"
        for one in of_values(required_in(recipe))
        for name in one.columns or recipe.confidential
        for names in over
        if not any(_is(claim, one, name, names, recipe) for claim in claims)
    ]


def _of_persons(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> list[str]:
    """Return the requirements on people that are not claimed; blocks that a method forms are claimed one by one."""
    faults = []
    for one in resolve("Recipe", recipe.require):
        if not of_persons(one.key):
            continue
        claimed = [f.attributes for f in claims if f.model == one.key and f.required == dict(one.levels)[f.level]]
        wanted: list[tuple[str, ...]] = list(recipe.all_blocks) if link is None else [(link,)]
        if link is None and _method_says(recipe, "forms_blocks"):
            wanted = [names for names in claimed if set(names) <= set(recipe.quasi)]
            if lacking := set(recipe.quasi).difference(*wanted):
                faults.append(f"{one.key} over {listing(sorted(lacking))}")
        if recipe.nested:
            wanted.append(recipe.quasi)
        if recipe.strata and link is None:
            wanted += [(*names, *recipe.strata) for names in wanted]
        faults += [f"{one.key} over {listing(names)}" for names in wanted if names not in claimed]
    return faults


def _is(claim: Finding, one: Required, name: str, names: tuple[str, ...], recipe: Recipe) -> bool:
    """Tell whether a claim matches a requirement at its level, or declares it not promised where it may."""
    if claim.confidential != name or claim.attributes != names:
        return False
    if not claim.promised:
        may = _method_says(recipe, "may_miss_t") and "weight" in recipe.set
        return bool(may and one.key in _CLOSE and claim.model == "t_closeness")
    levels = {**dict(claim.given), claim.level: claim.required}
    return claim.model == one.key and all(
        levels.get(level) == value for level, value in one.levels if value is not None
    )
