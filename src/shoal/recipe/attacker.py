"""Attackers that a recipe withstands, from declarations alone: verifiers read recipes, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal import registry
from shoal.recipe.requirements import by_replay, resolve

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe


def withstands_algorithm(recipe: Recipe) -> bool:
    """Tell whether k holds even against someone who knows the algorithm, its parameters and its seed.

    It does if classes are unions of atoms, which were formed from quasi-identifiers alone: by a method that promises it
    (`exchangeable`), or by `auto`, repair or refinement where the recipe asks for it. It does not where classes of
    several blocks overlap, where artificial attributes steer, and where values were swapped with a public seed.
    """
    blocks = len(recipe.all_blocks) > 1 or (_says(recipe, "forms_blocks") and recipe.set.get("group", "none") != "none")
    if blocks or recipe.steer or recipe.set.get("not_private_seed") is not None:
        return False
    promised, asked = _says(recipe, "exchangeable"), recipe.attacker == "algorithm"
    if recipe.method == "auto" or not improves(recipe):
        return promised and (asked or recipe.method != "auto")
    if _says(recipe, "promises_t") or _says(recipe, "promises"):  # people are served before confidential values are
        return promised and asked and recipe.counted is None
    return asked and _says(recipe, "promises_k") and not _says(recipe, "forms_blocks")


def withstood(recipe: Recipe, *, promised: bool = True) -> str:
    """Return whom a recipe's k withstands: ``algorithm`` or ``table``; empty if it promises no k of records."""
    if not promised or recipe.claim == "original":
        return ""
    return "algorithm" if withstands_algorithm(recipe) else "table"


def improves(recipe: Recipe) -> bool:
    """Tell whether classes are repaired or refined after the method."""
    repairs = recipe.require or recipe.subject is not None or (recipe.t is not None and not _says(recipe, "promises_t"))
    return bool(repairs) or recipe.refine is not None


def replays_required(recipe: Recipe) -> int:
    """Return how often the run must be repeated on exchanged inputs."""
    levels = [dict(one.levels) for one in resolve("Recipe", recipe.require) if by_replay(one.key)]
    return max((int(level["replays"]) for level in levels), default=0)


def _says(recipe: Recipe, name: str) -> bool:
    known = recipe.method in registry.keys("partition")
    return known and bool(registry.says("partition", recipe.method, name))
