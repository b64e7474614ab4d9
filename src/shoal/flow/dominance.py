"""What methods must know of a bound on the share of one person: how many persons it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.flow.components import promises_k
from shoal.flow.requiring import as_requirements
from shoal.recipe import Recipe
from shoal.requirements import resolve


def with_enough_persons(method: Any, recipe: Recipe) -> Any:
    """Return a method whose classes have as many persons as a bound on their shares takes at least."""
    from shoal.kernels.persons import least_persons

    bounds = [one for one in as_requirements(resolve("Recipe", recipe.require), ()) if not one.attribute]
    least = max(map(least_persons, bounds), default=0)
    return replace(method, k=least) if promises_k(method) and least > method.k else method
