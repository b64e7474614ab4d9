"""Attackers that a recipe withstands, from declarations alone: verifiers read recipes, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal import registry
from shoal.parameters import declarations
from shoal.recipe.requirements import by_replay, of_population, resolve

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe

#: In this method, if nothing improves its classes, ties go to the lowest row, as in the literature.
BY_ROW = "mdav"


def withstands_algorithm(recipe: Recipe) -> bool:
    """Tell whether k can hold even against someone who knows the algorithm, its parameters and its seed.

    It can if the recipe asks for it, and classes are unions of atoms, which a method that promises it (`exchangeable`)
    formed from quasi-identifiers alone. It cannot where classes of several blocks overlap, where artificial attributes
    steer, and where ties were broken by row, as MDAV alone does. Whether
    it does hold depends on the atoms that were formed, too: they must not split equal records.
    """
    if recipe.attacker != "algorithm" or several_blocks(recipe) or recipe.steer:
        return False
    first = str(recipe.set.get("first", recipe.method))
    promised = all(_says(method, "exchangeable") and _says(method, "promises_k") for method in (recipe.method, first))
    return promised and (recipe.method != BY_ROW or improves(recipe))


def several_blocks(recipe: Recipe) -> bool:
    """Tell whether classes are formed in several blocks of attributes, by the recipe or by its method."""
    if recipe.block_count > 1 or recipe.blocking is not None:
        return True
    if len(recipe.quasi) == 1 or not _says(recipe.method, "forms_blocks"):
        return False
    grouping = [d for d in declarations(registry.load("partition", recipe.method)) if d.name == "group"]
    return not grouping or recipe.set.get("group", grouping[0].default) != "none"


def withstood(recipe: Recipe, *, promised: bool = True) -> str:
    """Return the attacker that a recipe's k can withstand: ``algorithm`` or ``table``; empty without a promised k."""
    if not promised or recipe.claim == "original" or recipe.set.get("not_private_seed") is not None:
        return ""
    return "algorithm" if withstands_algorithm(recipe) else "table"


def improves(recipe: Recipe) -> bool:
    """Tell whether classes are repaired or refined after the method."""
    to_t = recipe.t is not None and not _says(recipe.method, "promises_t")
    repaired = any(not of_population(one.key) for one in resolve("Recipe", recipe.require))
    return repaired or recipe.subject is not None or to_t or recipe.refinement is not None


def replays_required(recipe: Recipe) -> int:
    """Return how often the run must be repeated on exchanged inputs."""
    levels = [dict(one.levels) for one in resolve("Recipe", recipe.require) if by_replay(one.key)]
    return max((int(level["replays"]) for level in levels), default=0)


def _says(method: str, name: str) -> bool:
    return method in registry.keys("partition") and bool(registry.says("partition", method, name))
