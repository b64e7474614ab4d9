"""Demands of a stream recipe on confidential fields, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal import registry
from shoal.errors import ParameterError
from shoal.parameters import shown
from shoal.recipe import requirements
from shoal.stream.recipe import bin_checks
from shoal.stream.recipe.bins import Bins
from shoal.types.stream import Demand

if TYPE_CHECKING:
    from shoal.stream.recipe.recipe import StreamRecipe


MODELS = (
    "p_sensitivity", "distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity", "t_closeness",
)  # fmt: skip


CLOSE = "t_closeness"


_OWNER = "StreamRecipe"


_MOST = 100  # counts that a cursor remembers, each of up to ten digits: about a kilobyte


def asked(recipe: StreamRecipe) -> tuple[Demand, ...]:
    """Return what a recipe demands of confidential fields, field by field and model by model."""
    required = requirements.resolve(_OWNER, recipe.require)
    if recipe.t is not None:
        required += requirements.resolve(_OWNER, {CLOSE: recipe.t})
    found = []
    for one in required:
        for name in one.columns or recipe.confidential:
            levels = tuple((level, value) for level, value in one.levels if value is not None)
            found.append(Demand(one.key, name, levels))
    return tuple(found)


def faults(recipe: StreamRecipe) -> list[str]:
    """Return what is wrong with what a recipe demands."""
    if not recipe.require and recipe.t is None:
        return [_unused(name) for name in recipe.reference]
    try:
        required = requirements.resolve(_OWNER, recipe.require)
    except ParameterError as error:
        return [str(error)]
    if found := [*_impossible(recipe, required), *requirements.misplaced(_OWNER, required, recipe.confidential)]:
        return found
    close = [one.attribute for one in asked(recipe) if one.model == CLOSE]
    found = [_unused(name) for name in recipe.reference if name not in close]
    found += [fault for name in close for fault in bin_checks.faults(recipe, name)]
    return found or _too_many(recipe, close)


def _unused(name: str) -> str:
    return f"{_OWNER}: reference names {name!r}, in which nothing must be close. Demand t of it, or take it out."


def _impossible(recipe: StreamRecipe, required: Sequence[requirements.Required]) -> list[str]:
    found = []
    if registry.says("stream.partition", recipe.method, "only_k"):
        what = "require" if recipe.require else "t"
        found.append(
            f"{_OWNER}: {what} cannot be held by the method {recipe.method}, which promises only k. Take nearest or "
            f"look_ahead, or leave out {what}."
        )
    found += [
        f"{_OWNER}: classes of a stream can hold {', '.join(MODELS)}, got {one.key}. Leave it out."
        for one in required
        if one.key not in MODELS
    ]
    if recipe.t is not None and any(one.key == CLOSE for one in required):
        found.append(f"{_OWNER}: t is given, and required too. Say it once.")
    most = recipe.delay + 1  # so many wait at once
    found += [
        f"{_OWNER}: {name} must be at most delay + 1 = {most:,}, for no class holds more tuples of different values, "
        f"got {shown(level)}. Lower {name}, or raise delay."
        for one in required
        for name, level in one.levels
        if name in ("p", "l") and level > most
    ]
    return found


def _too_many(recipe: StreamRecipe, close: Sequence[str]) -> list[str]:
    counted = [one for one in (Bins.of(recipe, name) for name in close) if not one.given]
    many = sum(one.count for one in counted)
    if many <= _MOST:
        return []
    return [
        f"{_OWNER}: t counts {many} categories and bins of what came so far, at most {_MOST} can be remembered. "
        "Give some fields a reference with shares, or fewer cuts."
    ]
