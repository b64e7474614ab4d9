"""Recipe demands as a floor for explored settings: weaker settings are shown, never recommended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal.errors import ParameterError, raise_all
from shoal.parameters import shown
from shoal.recipe.recipe import Recipe
from shoal.types import Setting
from shoal.types.results.explored import demands_in_words
from shoal.types.results.privacy_ledger import sequential


def demands(recipe: Recipe) -> dict[str, float]:
    """Return the k and t that a recipe demands; a default value is not a demand.

    >>> demands(Recipe(quasi=["age"])), demands(Recipe(quasi=["age"], k=5))
    ({}, {'k': 5})
    """
    asked = {"k": None if "k" in recipe.unset else recipe.k, "t": recipe.t}
    return {name: level for name, level in asked.items() if level is not None}


def shortfall(demanded: Mapping[str, float], k: int, t: float | None = None) -> str:
    """Return in words how a setting is weaker than demanded; "" if it is not.

    >>> shortfall({"k": 5, "t": 0.2}, 3, 0.1), shortfall({"k": 5}, 10)
    ('weaker than the recipe: k < 5', '')
    """
    faults = []
    if k < demanded.get("k", k):
        faults.append(f"k < {demanded['k']:,}")
    if t is not None and t > demanded.get("t", t):
        faults.append(f"t > {demanded['t']:,}")
    return f"weaker than the recipe: {', '.join(faults)}" if faults else ""


def unmet(demanded: Mapping[str, float]) -> str:
    """Return why nothing is recommended, if every setting that ran is weaker than the recipe."""
    said = demands_in_words(demanded)
    return f"No setting that ran meets the recipe's demand of {said}. Try settings that do, or change the recipe."


def of_demands(settings: Sequence[Setting], demanded: Mapping[str, float]) -> Iterator[str]:
    """Report how many of the settings that ran are weaker than the recipe."""
    if weaker := sum(setting.state == "ran" and not setting.meets for setting in settings):
        those = f"{weaker:,} weaker settings are" if weaker > 1 else "1 weaker setting is"
        yield (f"The recipe demands {demands_in_words(demanded)}: {those} shown for comparison, and never recommended.")


def refuse_weaker_noise(recipe: Recipe, noisy: Recipe) -> None:
    """Refuse to explore with a larger ε or weaker claim than the recipe's: the result may be released."""
    faults = [] if recipe.epsilon is None else _above(recipe.epsilon, noisy.epsilon)
    if recipe.claim == "original" and noisy.claim != "original":
        faults.append(
            f"Explore: claim must be 'original', as in the recipe, got {shown(noisy.claim)}, which promises less. "
            f"Leave it out, or change the recipe."
        )
    raise_all(ParameterError, faults)


def _above(most: Any, epsilon: Any) -> list[str]:
    """Return where ε exceeds the recipe's; either may be one number for all columns, or one per column."""
    if not isinstance(most, Mapping):
        levels = [("epsilon", most, sequential(epsilon.values()) if isinstance(epsilon, Mapping) else epsilon)]
    elif isinstance(epsilon, Mapping):
        levels = [(f"epsilon of {name!r}", most[name], own) for name, own in epsilon.items()]
    else:  # all columns share it, and one column may get nearly all of it
        levels = [("epsilon", min(most.values()), epsilon)]
    return [
        f"Explore: {name} must be at most {high:g}, as in the recipe, got {asked:g}. Lower it, or change the recipe."
        for name, high, asked in levels
        if asked > high
    ]
