"""What a recipe promises must be among the claims: what nobody looked at does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from shoal import registry
from shoal.errors import listing
from shoal.flow.plan.required_models import of_values, required_in
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, of_persons, resolve
from shoal.types import Check, Finding, Verdict

_K = "k_anonymity"
_RANDOM = "probabilistic_k_anonymity"
_CLOSE = ("t_closeness", "n_t_closeness")


def guarantee_of(recipe: Recipe) -> str:
    """Return the model that the release of a recipe promises, read from its file without running it."""
    return str(registry.says("release", recipe.release, "guarantee") or _K)


def in_two_tables(recipe: Recipe) -> bool:
    """Tell whether confidential columns leave in a second table."""
    return bool(registry.says("release", recipe.release, "two_tables"))


def seeded(recipe: Recipe) -> bool:
    """Tell whether what is promised at random came from a seed, for a test, so that nothing is promised."""
    return guarantee_of(recipe) == _RANDOM and recipe.set.get("not_private_seed") is not None


def all_claimed(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> Check:
    """Compare what a recipe promises with what is claimed to have been audited."""
    faults = [*_of_records(recipe, claims, link), *_of_values(recipe, claims, link), *_of_persons(recipe, claims, link)]
    said = "What the recipe promises was audited"
    if faults:
        return Check(said, Verdict.FAILS, f"no finding says {listing(faults)}")
    if seeded(recipe):
        return Check(said, Verdict.HOLDS, "values were dealt by a seed, for a test: nothing is promised or claimed")
    if registry.says("partition", recipe.method, "promises_k") is False:
        return Check(said, Verdict.HOLDS, f"the method {recipe.method} promises no k of records, and none is claimed")
    if silent := sorted({str(f.confidential) for f in claims if f.confidential is not None and not f.promised}):
        why = f"t of {listing(silent)} is in the recipe and is NOT promised, as a weight was given; the rest is audited"
        return Check(said, Verdict.HOLDS, why)
    return Check(said, Verdict.HOLDS, "every promise has a finding, at the level of the recipe")


def _of_records(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> list[str]:
    """Return the blocks in which k is promised and not claimed."""
    if in_two_tables(recipe):
        key, names = guarantee_of(recipe), () if link is None else (link,)
        return [f"{key} = {recipe.k} over the class"] if names not in _claimed(claims, key, recipe.k) else []
    if registry.says("partition", recipe.method, "promises_k") is False:
        silent = {f.attributes for f in claims if f.model == _K and not f.promised}
        return [f"what holds over {listing(names)}" for names in recipe.all_blocks if names not in silent]
    if seeded(recipe):
        return []
    key = guarantee_of(recipe)
    claimed = _claimed(claims, key, recipe.k)
    wanted = list(recipe.all_blocks)
    if registry.says("partition", recipe.method, "forms_blocks"):  # smaller ones: k is claimed in each
        wanted = [names for names in claimed if set(names) <= set(recipe.quasi)]
        lacking = set(recipe.quasi).difference(*wanted)
        if lacking:
            return [f"{key} = {recipe.k} over {listing(sorted(lacking))}"]
    if recipe.nested:
        wanted.append(recipe.quasi)
    if recipe.strata:
        wanted += [(*names, *recipe.strata) for names in wanted]
    if recipe.weight and recipe.release_weight == "class" and key == _K:
        wanted += [(*recipe.quasi, recipe.weight)]
        wanted += [(*recipe.quasi, *recipe.strata, recipe.weight)] if recipe.strata else []
    return [f"{key} = {recipe.k} over {listing(names)}" for names in wanted if names not in claimed]


def _claimed(claims: Sequence[Finding], key: str, k: int) -> list[tuple[str, ...]]:
    return [f.attributes for f in claims if f.model == key and f.required == k and f.promised]


def _of_values(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> list[str]:
    """Return what is required of confidential columns and not claimed."""
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
    """Return what is required of persons and not claimed; blocks that a method forms itself are claimed one by one."""
    faults = []
    for one in resolve("Recipe", recipe.require):
        if not of_persons(one.key):
            continue
        claimed = [f.attributes for f in claims if f.model == one.key and f.required == dict(one.levels)[f.level]]
        wanted: list[tuple[str, ...]] = list(recipe.all_blocks) if link is None else [(link,)]
        if link is None and registry.says("partition", recipe.method, "forms_blocks"):
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
    """Tell whether a claim is about what is required, at its level; or says that it is not promised, and may."""
    if claim.confidential != name or claim.attributes != names:
        return False
    if not claim.promised:
        may = registry.says("partition", recipe.method, "may_miss_t") and "weight" in recipe.set
        return bool(may and one.key in _CLOSE and claim.model == "t_closeness")
    levels = {**dict(claim.given), claim.level: claim.required}
    return claim.model == one.key and all(
        levels.get(level) == value for level, value in one.levels if value is not None
    )
