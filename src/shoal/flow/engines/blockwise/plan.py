"""What engines that work in blocks can do: refusals that follow from the recipe, with all reasons at once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from shoal.errors import ParameterError, raise_all
from shoal.flow.plan.plan import Plan
from shoal.parameters import build
from shoal.partition import auto
from shoal.partition.blocks import Blocks
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import of_population, resolve

METHODS = ("auto", "blocks")  #: methods that work in blocks


class Engine(NamedTuple):
    """An engine in the sentences that refuse a recipe."""

    owner: str
    instead: str  #: how to have the table protected in memory
    recodes: bool = False  #: whether it recodes columns


DISK = Engine("Disk engine", "protect it in memory, as one file (--engine memory)", recodes=True)


def refuse_in_blocks(
    recipe: Recipe, engine: Engine = DISK, *, certify: bool = False, repeat: Path | None = None
) -> None:
    """Refuse a recipe that asks for something that cannot be done, or not yet, with a table larger than memory."""
    raise_all(
        ParameterError,
        [
            f"{engine.owner}: {fault}"
            for fault in (
                *_of_classes(recipe, engine),
                *_of_people(recipe, engine),
                *_of_release(recipe, engine, certify, repeat),
            )
        ],
    )


def refuse_one_block(plan: Plan, records: int, engine: Engine) -> None:
    """Refuse demands on confidential values of a table or a stratum that is partitioned in one block."""
    if not plan.requirements and plan.recipe.t is None:
        return
    must = (
        f"tables and strata must have {auto.LARGE:,} records or more, got {records:,}"
        if records < auto.LARGE
        else "there must be two quasi-identifiers or more, got one"
    )
    raise ParameterError(f"{engine.owner}: with t or require, {must}. Leave them out, or {engine.instead}.")


def blocks_of(plan: Plan, records: int) -> int:
    """Return the approximate number of blocks in which the classes of `records` records are formed."""
    method = plan.method
    if not isinstance(method, Blocks):
        if not auto.in_blocks(np.zeros((1, len(plan.recipe.quasi))), records):
            return 1
        method = build(Blocks, {"k": method.k})
    return method.blockwise(records, 0).blocks


def _of_classes(recipe: Recipe, engine: Engine) -> list[str]:
    """Return what is wrong with the way classes are formed."""
    faults = []
    if recipe.method not in METHODS:
        faults.append(
            f"method must be {' or '.join(METHODS)}, got {recipe.method!r}, which needs all records in "
            f"memory. Use auto, or {engine.instead}."
        )
    demanding = recipe.t is not None or bool(recipe.require)
    if demanding and recipe.method == "blocks":
        faults.append("method must be auto where t or require is given, got 'blocks'. Leave out method.")
    if demanding and recipe.attacker != "algorithm":
        faults.append("attacker must be 'algorithm' where t or require is given, got 'table'. Leave out attacker.")
    if recipe.set.get("choices", 1) != 1:
        faults.append("choices must be 1. Leave it out.")
    if recipe.block_count > 1 or recipe.household_level:
        faults.append("quasi-identifiers must form one block, got several. Leave out attribute_blocks.")
    if recipe.steer:
        faults.append("steer is not supported, because it needs all records in memory. Leave it out.")
    if recipe.small_strata == "merge":
        faults.append("small_strata must be 'refuse', got 'merge'. Merge small strata beforehand.")
    if recipe.suppress:
        faults.append(f"suppress is not supported, because it needs all records. Leave it out, or {engine.instead}.")
    if recipe.deadline is not None:
        faults.append("a deadline is not supported. Leave it out, or choose effort = fast.")
    return faults


def _of_people(recipe: Recipe, engine: Engine) -> list[str]:
    """Return what is wrong with the way people are counted."""
    faults = []
    if recipe.together is not None:
        faults.append(
            "together is not supported for tables larger than memory, because whole groups must be in one "
            f"block. Use subject, or {engine.instead}."
        )
    if recipe.pseudonym is not None:
        faults.append(
            "subject_out = pseudonym is not supported for tables larger than memory, because whole people must be in "
            f"one block. Leave it out, or {engine.instead}."
        )
    if any(of_population(one.key) for one in resolve("Recipe", recipe.require)):
        faults.append(_population(engine))
    if any(one.key in ("dominance", "exchangeability") for one in resolve("Recipe", recipe.require)):
        faults.append("dominance and exchangeability are not supported. Leave them out of require.")
    if recipe.subject is not None and recipe.method == "blocks":
        faults.append("method must be auto where subject is given, got 'blocks'. Leave out method.")
    return faults


def refuse_population(engine: Engine, *, given: bool) -> None:
    """Refuse a population, which is counted with the whole release in memory."""
    if given:
        raise ParameterError(f"{engine.owner}: {_population(engine)}")


def _population(engine: Engine) -> str:
    return f"a population is counted with all records in memory. Leave it out, or {engine.instead}."


def _of_release(recipe: Recipe, engine: Engine, certify: bool, repeat: Path | None) -> list[str]:
    """Return what is wrong with the way classes are released."""
    faults = []
    if recipe.release != "centroid":
        faults.append(f"release must be centroid, got {recipe.release!r}. Use centroid, or {engine.instead}.")
    if recipe.when_missing == "fill":
        faults.append("when_missing must be category or exclude, got 'fill'. Choose one of these.")
    if recipe.recode and not engine.recodes:
        faults.append(f"recode is not supported. Leave it out, recode the table first, or {engine.instead}.")
    if certify:
        faults.append("a bound on the loss needs all records in memory. Leave out --certify.")
    if repeat is not None:
        faults.append("an earlier run cannot be repeated by its receipt. Leave out --repeat.")
    return faults
