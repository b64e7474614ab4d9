"""What the disk engine can do: refusals that follow from the recipe, with all reasons at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shoal.errors import ParameterError, raise_all
from shoal.flow.plan.plan import Plan
from shoal.parameters import build
from shoal.partition.auto import in_blocks
from shoal.partition.blocks import Blocks
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import resolve

METHODS = ("auto", "blocks")  #: methods that work in blocks


def refuse_on_disk(recipe: Recipe, *, certify: bool = False, repeat: Path | None = None) -> None:
    """Refuse a recipe that asks for something that cannot be done, or not yet, with a table larger than memory."""
    raise_all(ParameterError, [*_of_classes(recipe), *_of_people(recipe), *_of_release(recipe, certify, repeat)])


def blocks_of(plan: Plan, records: int) -> int:
    """Return in about how many blocks the classes of so many records are formed."""
    method = plan.method
    if not isinstance(method, Blocks):
        if not in_blocks(np.zeros((1, len(plan.recipe.quasi))), records):
            return 1
        method = build(Blocks, {"k": method.k})
    return method.blockwise(records, 0).blocks


def _of_classes(recipe: Recipe) -> list[str]:
    """Return what is wrong with the way classes are formed."""
    faults = []
    if recipe.method not in METHODS:
        faults.append(
            f"Disk engine: method must be {' or '.join(METHODS)}, got {recipe.method!r}, which needs all records in "
            "memory. Use auto, or raise --memory."
        )
    demanding = recipe.t is not None or bool(recipe.require)
    if demanding and recipe.method == "blocks":
        faults.append("Disk engine: method must be auto where t or require is given, got 'blocks'. Leave out method.")
    if demanding and recipe.attacker != "algorithm":
        faults.append(
            "Disk engine: attacker must be 'algorithm' where t or require is given, got 'table'. Leave out attacker."
        )
    if recipe.set.get("choices", 1) != 1:
        faults.append("Disk engine: choices must be 1. Leave it out.")
    if len(recipe.all_blocks) > 1 or recipe.household_level:
        faults.append("Disk engine: quasi-identifiers must form one block, got several. Leave out blocks.")
    if recipe.steer:
        faults.append("Disk engine: steer is not supported, because it needs all records in memory. Leave it out.")
    if recipe.small_strata == "merge":
        faults.append("Disk engine: small_strata must be 'refuse', got 'merge'. Merge small strata beforehand.")
    if recipe.deadline is not None:
        faults.append("Disk engine: a deadline is not supported. Leave it out, or choose effort = fast.")
    return faults


def _of_people(recipe: Recipe) -> list[str]:
    """Return what is wrong with the way people are counted."""
    faults = []
    if recipe.together is not None:
        faults.append(
            "Disk engine: together is not supported for tables larger than memory, because whole groups must be in one "
            "block. Raise --memory, or use subject."
        )
    if any(one.key in ("dominance", "exchangeability") for one in resolve("Recipe", recipe.require)):
        faults.append("Disk engine: dominance and exchangeability are not supported. Leave them out of require.")
    if recipe.subject is not None and recipe.method == "blocks":
        faults.append("Disk engine: method must be auto where subject is given, got 'blocks'. Leave out method.")
    return faults


def _of_release(recipe: Recipe, certify: bool, repeat: Path | None) -> list[str]:
    """Return what is wrong with the way classes are released."""
    faults = []
    if recipe.release != "centroid":
        faults.append(
            f"Disk engine: release must be centroid, got {recipe.release!r}. Use centroid, or raise --memory."
        )
    if recipe.when_missing == "fill":
        faults.append("Disk engine: when_missing must be category or exclude, got 'fill'. Choose one of these.")
    if certify:
        faults.append("Disk engine: a bound on the loss needs all records in memory. Leave out --certify.")
    if repeat is not None:
        faults.append("Disk engine: an earlier run cannot be repeated by its receipt. Leave out --repeat.")
    return faults
