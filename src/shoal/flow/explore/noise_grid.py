"""Grid of settings with noise: methods × divisions of ε × k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from shoal import registry
from shoal.errors import ParameterError, raise_all
from shoal.flow.explore.grid import Candidate, Explore, Way, candidates, efforts_of
from shoal.parameters import declarations
from shoal.recipe.recipe import Recipe

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)  # round numbers, about evenly spaced on a log scale
_EVEN, _BY_WIDTH, _LEAST = "even", "expression1", "least"


def refuse_options(recipe: Recipe, asked: Explore) -> None:
    """Refuse options that cannot be weighed against noise."""
    error = "settings are compared by their expected error"
    said = {
        "t": (asked.t is not None or recipe.t is not None, error),
        "require": (bool(recipe.require), error),
        "risk": (asked.risk is not None, "nothing is drawn, so no risk can be measured"),
        "max_risk": (asked.max_risk is not None, "nothing is drawn, so no risk can be measured"),
        "loss": (asked.loss != "il_sse", "only il_sse has a known expectation"),
    }
    raise_all(
        ParameterError,
        [
            f"Explore: {name} cannot be given with epsilon, because {why}. Leave out one of them."
            for name, (given, why) in said.items()
            if given
        ],
    )


def noise_candidates(recipe: Recipe, asked: Explore, n: int, d: int) -> list[Candidate]:
    """Return every setting to try on n records of d coordinates, by method and k.

    A method that chooses its own class sizes is tried once, whatever the list of k.
    """
    ks = sorted({int(k) for k in asked.k}) if asked.k else usual_sizes(n, recipe.k)
    return candidates(recipe, list(_ways(recipe, asked, d)), ks, sized=sized)


def usual_sizes(n: int, k: int) -> list[int]:
    """Return class sizes from 2 to half the records, about evenly spaced on a log scale, then all records; and k
    itself.

    >>> usual_sizes(100, 5)
    [2, 3, 5, 7, 10, 15, 20, 30, 50, 100]
    """
    powers = range(len(str(n)))
    rounds = {int(step * 10**power) for power, step in product(powers, _STEPS)}
    return sorted({size for size in (*rounds, k) if 2 <= size <= n // 2} | {max(n, 2)})


def sized(method: str, given: Mapping[str, Any]) -> bool:
    """Tell whether k sets the class size of a method; a method with its own size parameter names it."""
    switch = registry.says("partition", method, "k_counts_with")
    return not switch or bool(given.get(switch))


def _ways(recipe: Recipe, asked: Explore, d: int) -> Iterator[Way]:
    methods = dict.fromkeys(asked.methods or _suiting(recipe, d))
    for method, refine in product(methods, dict.fromkeys(efforts_of(recipe, asked))):
        for split in _splits(method, recipe, d):
            yield Way(method, refine, split)


def _suiting(recipe: Recipe, d: int) -> Sequence[str]:
    if recipe.claim == "original":
        return ("insensitive",)
    if d == 1:
        return ("optimal_univariate", "least_error")
    if len(recipe.all_blocks) > 1:  # least_error forms blocks itself, and would spend all of ε on each of these
        return ("mdav",)
    return ("mdav", "individual_ranking", "least_error")


def _splits(method: str, recipe: Recipe, d: int) -> Sequence[str | None]:
    """Return the possible divisions of ε, where they differ and the recipe does not choose one."""
    if "split" in recipe.set or isinstance(recipe.epsilon, Mapping) or d == 1:
        return (None,)
    both = (_EVEN, _BY_WIDTH) if recipe.claim == "original" or _widths_differ(recipe) else (_EVEN,)
    if recipe.claim == "original":
        return both
    maker = registry.load("partition", method)
    if any(declared.name == "split" for declared in declarations(maker)):  # the method weighs the noise itself
        return (*both, _LEAST)
    return both if len(recipe.all_blocks) > 1 or maker.forms_blocks else (None,)


def _widths_differ(recipe: Recipe) -> bool:
    if isinstance(recipe.bounds, str):
        return True
    return len({float(high) - float(low) for low, high in recipe.bounds.values()}) > 1
