"""Rules between several fields of a recipe: each function yields a sentence for every conflict.

Each field is valid on its own. A rule that reads a refused field ends there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import listing
from shoal.recipe.attacker import several_blocks
from shoal.recipe.fields import NOISE
from shoal.recipe.requirements import by_replay, misplaced, of_confidential, of_persons, of_population, resolve
from shoal.recipe.settings import Rule
from shoal.types import Role

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe


def some_quasi(recipe: Any) -> Iterator[str]:
    """Require a quasi-identifier, in recipes of tables and streams."""
    if not recipe.quasi:
        yield (f"quasi must name at least one {recipe.noun}, got none. Name the columns that an attacker may know.")


def weighted_quasi(recipe: Any) -> Iterator[str]:
    """Require that weights belong to quasi-identifiers, in recipes of tables and streams."""
    for name in recipe.attribute_weights:
        if name not in recipe.quasi:
            yield (f"attribute_weights names {name!r}, which is not a quasi-identifier. Remove it.")


def rounded(recipe: Any) -> Iterator[str]:
    """Refuse a step together with all digits, in recipes of tables and streams."""
    if recipe.resolution and recipe.exact_means:
        yield "resolution and exact_means exclude each other. Leave out one of them."


def one_role(recipe: Any, given: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Require that every name has one role, once; `given` are names with their roles."""
    seen: dict[str, str] = {}
    for name, role in given:
        what = f"{recipe.noun} {name!r} is"
        if seen.get(name) == role:
            yield f"{what} named twice as {role}. Name it once."
        elif name in seen:
            yield f"{what} both {seen[name]} and {role}. Give it one role."
        seen[name] = role


def _roles(recipe: Recipe) -> Iterator[str]:
    return one_role(recipe, [(name, role) for role in Role for name in recipe.columns(role)])


def _closeness(recipe: Recipe) -> Iterator[str]:
    if recipe.n is not None and recipe.t is None:
        yield "n needs t, got none. Set t, for example t = 0.2, or leave out n."
    if recipe.t is not None and not recipe.confidential:
        yield (
            "t needs at least one confidential column, got none. Name the columns to keep confidential, or leave out t."
        )


def _counted(recipe: Recipe) -> Iterator[str]:
    if recipe.together is not None and recipe.subject is not None:
        yield "subject and together cannot both be given: k counts one of them. Leave out one."
    if recipe.subject_exact and recipe.counted is None:
        yield ("subject_exact needs subject or together, got neither. Name one of them, or leave it out.")


def _pseudonyms(recipe: Recipe) -> Iterator[str]:
    """Refuse what classes of whole people cannot do, or what has not been proved for them."""
    if recipe.subject_out != "pseudonym":
        return
    said = "subject_out = pseudonym"
    if recipe.subject is None:
        yield f"{said} needs subject, got none. Name the column that identifies the person, or leave out subject_out."
    if recipe.t is not None or recipe.require:
        yield (
            f"t and require are not possible with {said}, because classes hold whole people. Leave them out, or leave "
            "out subject_out."
        )
    if recipe.release != "centroid":
        yield f"release must be centroid with {said}, got {recipe.release!r}. Leave it out, or leave out subject_out."
    if recipe.block_count > 1:
        yield (
            f"quasi-identifiers must form one block with {said}, got several. Leave out attribute_blocks, or leave out "
            "subject_out."
        )
    if recipe.steer:
        yield f"steer is not possible with {said}. Leave out one of them."
    if recipe.small_strata == "merge":
        yield f"small_strata must be refuse with {said}, got 'merge'. Merge small strata beforehand."


def _together(recipe: Recipe) -> Iterator[str]:
    required = resolve("Recipe", recipe.require)
    values = [one for one in required if of_confidential(one.key)]
    if recipe.together is not None and (recipe.t is not None or values):
        yield (
            "t and require are not possible with together, because repairing classes would split groups; only "
            "dominance may be required. Leave them out, or leave out together."
        )


def _missing(names: Sequence[str]) -> str:
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return f"{listing(names)} {verb} missing. Add {them}."


def _odd(names: Sequence[str]) -> str:
    verb, them = ("is not one", "it") if len(names) == 1 else ("are not", "them")
    return f"{listing(names)} {verb}. Remove {them}."


def _households(recipe: Recipe) -> Iterator[str]:
    level = recipe.household_level
    if level and recipe.together is None:
        yield "household_level needs together, got none. Name the column of households there."
    if extra := [name for name in level if name not in recipe.quasi]:
        yield f"household_level must hold quasi-identifiers only; {_odd(extra)}"
    if any(0 < len(set(block) & set(level)) < len(block) for block in recipe.listed_blocks):
        yield "a block must hold attributes of households or of records; one holds both. Separate them."


def _strata(recipe: Recipe) -> Iterator[str]:
    if recipe.small_strata == "merge" and not recipe.strata:
        yield "small_strata needs strata, got none. Name their columns, or leave it out."


def _blocks(recipe: Recipe) -> Iterator[str]:
    if recipe.block_size is not None and recipe.blocking is None:
        yield "block_size needs attribute_blocks = correlated or uncorrelated. Leave it out, or set attribute_blocks."
    if recipe.blocking is not None and recipe.household_level:
        yield "attribute_blocks must be a list where household_level is given. List the blocks."
    if not recipe.listed_blocks:
        return
    inside = [name for block in recipe.listed_blocks for name in block]
    if twice := sorted({name for name in inside if inside.count(name) > 1}):
        yield f"attribute_blocks must be disjoint; {listing(twice)} is in two. Name it once."
    if not all(recipe.listed_blocks):
        yield "a block must hold at least one quasi-identifier; one is empty. Remove it."
    if lacking := [name for name in recipe.quasi if name not in inside]:
        yield f"attribute_blocks must hold every quasi-identifier; {_missing(lacking)}"
    if extra := [name for name in inside if name not in recipe.quasi]:
        words = "" if len(inside) > 1 else " To form blocks by correlation, write correlated or uncorrelated."
        yield f"attribute_blocks must hold quasi-identifiers only; {_odd(extra)}{words}"


def _coordinates(recipe: Recipe) -> Iterator[str]:
    """Check pairs of latitude and longitude: quasi-identifiers that classes, weights and steps treat as one."""
    if not recipe.coordinates:
        return
    inside = [name for pair in recipe.coordinates for name in pair]
    if any(len(pair) != 2 for pair in recipe.coordinates) or len(set(inside)) < len(inside):
        yield "coordinates must hold pairs of a latitude and a longitude, each column once. Correct the pairs."
    if extra := [name for name in inside if name not in recipe.quasi]:
        yield f"coordinates must hold quasi-identifiers only; {_odd(extra)}"
    apart = [*recipe.listed_blocks, recipe.household_level]
    if any(0 < len(set(pair) & set(block)) < len(pair) for pair in recipe.coordinates for block in apart):
        yield "the coordinates of a place must be in the same block; one block holds only one of them. Add the other."
    for what in ("attribute_weights", "resolution"):
        given = [[getattr(recipe, what).get(name) for name in pair] for pair in recipe.coordinates]
        if any(len(set(map(str, pair))) > 1 for pair in given):
            yield f"{what} must be the same for both coordinates of a place. Give both, or leave out both."
    if recipe.blocking is not None or registry.says("partition", recipe.method, "forms_blocks") is True:
        yield "coordinates need one block of both columns, but the blocks are formed by the method. List the blocks."
    if recipe.epsilon is not None:
        yield "coordinates cannot be used with epsilon, because noise is added to each column. Leave out one of them."


def _suppressed(recipe: Recipe) -> Iterator[str]:
    """Refuse to choose people by all their quasi-identifiers where classes hide which blocks of these are theirs."""
    if recipe.suppress and several_blocks(recipe):
        yield (
            "suppress needs one block of quasi-identifiers, got several: the choice of people would show how values of "
            "different blocks belong together. Leave out one of them."
        )


def _required(recipe: Recipe) -> Iterator[str]:
    required = resolve("Recipe", recipe.require)
    for one in required:
        if not any(may(one.key) for may in (of_confidential, of_persons, of_population, by_replay)):
            yield f"{one.key} cannot be required of a table that is to be protected. Leave it out."
        if (p := dict(one.levels).get("p", 0)) > recipe.k:
            yield f"p must be at most k, got p = {p} and k = {recipe.k}. Raise k, or lower p."
    yield from misplaced("", required, recipe.confidential)


def _repeated(recipe: Recipe) -> Iterator[str]:
    if recipe.deadline is not None and any(by_replay(one.key) for one in resolve("Recipe", recipe.require)):
        yield (
            "deadline is not possible with a requirement that repeats the run, because classes would depend on the "
            "clock. Leave out one of them."
        )


def _noise(recipe: Recipe) -> Iterator[str]:
    takes = _takes(recipe)
    given = {"epsilon": recipe.epsilon is not None, "bounds": bool(recipe.bounds), "claim": recipe.claim == "original"}
    for name in NOISE:
        if given[name] and name not in takes:
            yield (
                f"{name} is for a release that adds noise; {recipe.release} does not. Leave it out, or use release = "
                "laplace."
            )
    if "epsilon" in takes and not given["epsilon"]:
        yield (
            f"the release {recipe.release} needs epsilon, a number > 0, got none. Set the privacy budget, for "
            "example epsilon = 1."
        )


def _noisy_columns(recipe: Recipe) -> Iterator[str]:
    if isinstance(epsilon := recipe.epsilon, dict) and (lacking := [q for q in recipe.quasi if q not in epsilon]):
        yield f"epsilon must name every quasi-identifier; {_missing(lacking)}"
    for field in ("epsilon", "bounds"):
        named = getattr(recipe, field)
        if isinstance(named, dict) and (extra := [name for name in named if name not in recipe.quasi]):
            yield f"{field} must name quasi-identifiers only; {_odd(extra)}"


def _digits(recipe: Recipe) -> Iterator[str]:
    """Check the columns and the release that a resolution applies to."""
    for name in recipe.resolution:
        if name not in recipe.quasi:
            yield (
                f"resolution names {name!r}, which is not a quasi-identifier. Remove it, or change the "
                f"role of the column."
            )
    if recipe.resolution and "resolution" not in _takes(recipe):
        yield (
            f"resolution is for releases that average; {recipe.release} releases cells unchanged. Leave "
            f"out resolution, or choose the release centroid."
        )


def _recoded(recipe: Recipe) -> Iterator[str]:
    """Check the columns that are recoded: only those that are released, and not under a claim about originals."""
    refused = {
        Role.IDENTIFIER: "it is removed",
        Role.SUBJECT: "it is removed" if recipe.pseudonym is None else "pseudonyms replace it",
        Role.WEIGHT: "it is a weight",
    }
    for name in recipe.recode:
        if (role := recipe.roles.get(name)) in refused:
            yield f"recode names {name!r}, which cannot be recoded: {refused[role]}. Remove it from recode."
    if recipe.recode and recipe.epsilon is not None and recipe.claim == "original":
        yield (
            "recode is not possible where claim = original: bounds limit values there. Leave out recode, or recode the "
            "table first."
        )


def _takes(recipe: Recipe) -> tuple[str, ...]:
    """Return the fields that the release takes, without loading it: verifiers read recipes, too."""
    return registry.says("release", recipe.release, "takes") or ()


def _reviewed(recipe: Recipe) -> Iterator[str]:
    """Check the reviewed columns: all of them must be released unchanged."""
    for name in sorted({name for name in recipe.reviewed if recipe.reviewed.count(name) > 1}):
        yield f"reviewed names column {name!r} twice. Name it once."
    why = {name: _changed(recipe, role) for name, role in recipe.roles.items()} if recipe.reviewed else {}
    if recipe.epsilon is not None and recipe.claim == "original":
        why |= dict.fromkeys(recipe.reviewed, "only quasi-identifiers are released where claim = original")
    for name in dict.fromkeys(recipe.reviewed):
        if why.get(name):
            yield (
                f"reviewed must hold columns that are released unchanged; {name!r} is not: {why[name]}. Remove "
                f"it from reviewed."
            )


def _changed(recipe: Recipe, role: Role) -> str:
    """Return what happens to the columns of a role; empty: they are released unchanged."""
    if role is Role.WEIGHT and recipe.release_weight == "class":
        whole = registry.says("release", recipe.release, "two_tables") is True
        return "" if whole else "the mean weight of a class is released"
    if role is Role.WEIGHT and recipe.release_weight == "none":
        return "the weight is removed"
    if role is Role.SUBJECT and recipe.pseudonym is not None:
        return "pseudonyms replace it"
    return {Role.QUASI: "it is a quasi-identifier"}.get(role, "" if role.leaves else "it is removed")


RULES: tuple[Rule, ...] = (
    some_quasi, weighted_quasi, rounded, _roles, _closeness, _counted, _pseudonyms, _together, _households, _strata,
    _blocks, _coordinates, _required, _repeated, _noise, _noisy_columns, _digits, _reviewed, _recoded,
    _suppressed,
)  # fmt: skip
