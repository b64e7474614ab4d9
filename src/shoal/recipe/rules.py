"""Rules between several fields of a recipe: each function returns sentences about what does not fit together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING

from shoal import registry
from shoal.errors import listing
from shoal.parameters import shown, unknown
from shoal.recipe import noise
from shoal.recipe.requirements import misplaced, of_confidential, of_persons, resolve
from shoal.types import UNITS, Kind, Role

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe


def broken(recipe: Recipe) -> list[str]:
    """Return all rules that a recipe breaks; its fields must be valid one by one."""
    first = [rule(recipe) for rule in (_names, _roles, _orders, _groups, _blocks, _required, _noise)]
    return [fault for found in first for fault in found] or [*_digits(recipe), *_reviewed(recipe)]


def _names(recipe: Recipe) -> list[str]:
    """Check names inside tables: steerings and kinds."""
    keys, kinds = registry.keys("steer"), [kind.value for kind in Kind]
    found = [unknown("Recipe", "steering (by)", b.get("by"), keys) for b in recipe.steer if b.get("by") not in keys]
    return found + [
        unknown(f"Recipe: column {name!r}", "kind", kind, kinds)
        for name, kind in recipe.kinds.items()
        if kind not in kinds
    ]


def _roles(recipe: Recipe) -> list[str]:
    faults = []
    if not recipe.quasi:
        faults.append("Recipe: quasi must name at least one column, got none. Name what an intruder may know.")
    if recipe.t is not None and not recipe.confidential:
        faults.append(
            "Recipe: t needs at least one confidential column, got none. Name what must not be learnt, or leave out t."
        )
    for name, weight in recipe.attribute_weights.items():
        if name not in recipe.quasi:
            faults.append(f"Recipe: attribute_weights names {name!r}, which is no quasi-identifier. Take it out.")
        if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 <= float(weight) <= 1e6:
            faults.append(
                f"Recipe: the weight of attribute {name!r} must be a number ≥ 0 and ≤ 1e6, got {shown(weight)}."
            )
    if recipe.n is not None and recipe.t is None:
        faults.append("Recipe: n needs t, got none. Say how close classes must be: t = 0.2, or leave out n.")
    seen: dict[str, Role] = {}
    for role in Role:
        for name in recipe.columns(role):
            if name in seen and seen[name] is role:
                faults.append(f"Recipe: column {name!r} is named twice as {role}. Name it once.")
            elif name in seen:
                faults.append(f"Recipe: column {name!r} is both {seen[name]} and {role}. Give it one role.")
            seen[name] = role
    return faults


def _orders(recipe: Recipe) -> list[str]:
    """Check that orders are lists of categories."""
    faults = []
    for name, order in recipe.orders.items():
        if not isinstance(order, (list, tuple)) or not order:
            faults.append(f"Recipe: the order of {name!r} must be a list of its categories, got {shown(order)}.")
        elif any(category is None or isinstance(category, (Mapping, list, tuple)) for category in order):
            faults.append(
                f"Recipe: the order of {name!r} must hold categories only, got a list, a table or nothing among them."
            )
    return faults


def _groups(recipe: Recipe) -> list[str]:
    faults = []
    if recipe.together is not None and recipe.subject is not None:
        faults.append("Recipe: subject and together cannot both be given: k counts one of them. Leave out one.")
    if recipe.subject_exact and recipe.counted is None:
        faults.append(
            "Recipe: subject_exact says how subjects are compared, and none are named. Name subject or together, "
            "or leave it out."
        )
    values = [one for one in resolve("Recipe", recipe.require) if not of_persons(one.key)]
    if recipe.together is not None and (recipe.t is not None or values):
        faults.append(
            "Recipe: t and require must be left out where records stay together, for what mends classes would "
            "separate them; only dominance may be required. Leave them out, or leave out together."
        )
    if recipe.household_level and recipe.together is None:
        faults.append("Recipe: household_level needs together, got none. Name the column of households there.")
    if extra := [name for name in recipe.household_level if name not in recipe.quasi]:
        faults.append(
            f"Recipe: household_level must hold quasi-identifiers only, {listing(extra)} is none. Take it out."
        )
    if any(0 < len(set(block) & set(recipe.household_level)) < len(block) for block in recipe.blocks):
        faults.append("Recipe: a block must hold attributes of households or of records, one holds both. Part them.")
    if recipe.small_strata == "merge" and not recipe.strata:
        faults.append("Recipe: small_strata needs strata, got none. Name their columns, or leave it out.")
    return faults


def _digits(recipe: Recipe) -> list[str]:
    """Return what is wrong with the resolution of released values."""
    if recipe.resolution and recipe.exact_means:
        return ["Recipe: resolution and exact_means exclude each other. Leave out one of them."]
    faults = []
    for name, step in recipe.resolution.items():
        if name not in recipe.quasi:
            faults.append(
                f"Recipe: resolution names {name!r}, which is not a quasi-identifier. Remove it, or change the "
                f"role of the column."
            )
        number = isinstance(step, Real) and not isinstance(step, bool)
        if not (number and 0 < float(step) < math.inf) and step not in UNITS:
            faults.append(
                f"Recipe: the resolution of {name!r} must be a number > 0, or for dates one of "
                f"{', '.join(UNITS)}; got {shown(step)}."
            )
    if recipe.resolution and "resolution" not in (registry.says("release", recipe.release, "takes") or ()):
        faults.append(
            f"Recipe: resolution is for releases that average, {recipe.release} releases cells as they are. Leave "
            f"out resolution, or choose the release centroid."
        )
    return faults


def _reviewed(recipe: Recipe) -> list[str]:
    """Return what is wrong with the columns that were reviewed: all of them must be released unchanged."""
    if not recipe.reviewed:
        return []
    why = {name: _changed(recipe, role) for name, role in recipe.roles.items()}
    if recipe.epsilon is not None and recipe.claim == "original":
        why |= dict.fromkeys(recipe.reviewed, "only quasi-identifiers are released where claim = original")
    faults = [
        f"Recipe: reviewed must hold columns that are released unchanged, {name!r} is not: {why[name]}. Remove it "
        f"from reviewed."
        for name in dict.fromkeys(recipe.reviewed)
        if why.get(name)
    ]
    twice = sorted({name for name in recipe.reviewed if recipe.reviewed.count(name) > 1})
    return faults + [f"Recipe: reviewed names column {name!r} twice. Name it once." for name in twice]


def _changed(recipe: Recipe, role: Role) -> str:
    """Say what becomes of the columns of a role; empty: they are released unchanged."""
    if role is Role.WEIGHT and recipe.release_weight == "class":
        whole = registry.says("release", recipe.release, "two_tables") is True
        return "" if whole else "the mean weight of a class is released"
    if role is Role.WEIGHT and recipe.release_weight == "none":
        return "the weight is removed"
    return {Role.QUASI: "it is a quasi-identifier"}.get(role, "" if role.leaves else "it is removed")


def _noise(recipe: Recipe) -> list[str]:
    takes = registry.says("release", recipe.release, "takes") or ()  # without loading it: a verifier reads recipes, too
    said = (recipe.epsilon, recipe.bounds, recipe.claim)
    return noise.faults(*said, recipe.quasi) or noise.misplaced(recipe.release, takes, *said)


def _required(recipe: Recipe) -> list[str]:
    required = resolve("Recipe", recipe.require)
    faults = misplaced("Recipe", required, recipe.confidential)
    for one in required:
        if not of_confidential(one.key) and not of_persons(one.key):
            faults.append(f"Recipe: {one.key} cannot be required of a table that is to be protected. Leave it out.")
        if (p := dict(one.levels).get("p", 0)) > recipe.k:
            faults.append(f"Recipe: p must be at most k, got p = {p} and k = {recipe.k}. Raise k, or lower p.")
    return faults


def _blocks(recipe: Recipe) -> list[str]:
    if not recipe.blocks:
        return []
    inside = [name for block in recipe.blocks for name in block]
    faults = []
    if twice := sorted({name for name in inside if inside.count(name) > 1}):
        faults.append(f"Recipe: blocks must be disjoint, {listing(twice)} is in two. Name it once.")
    if lacking := [name for name in recipe.quasi if name not in inside]:
        faults.append(f"Recipe: blocks must hold every quasi-identifier, {listing(lacking)} is in none. Add it.")
    if extra := [name for name in inside if name not in recipe.quasi]:
        faults.append(f"Recipe: blocks must hold quasi-identifiers only, {listing(extra)} is none. Take it out.")
    if not all(recipe.blocks):
        faults.append("Recipe: a block must hold at least one quasi-identifier, one holds none.")
    return faults
