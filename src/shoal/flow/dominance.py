"""What methods must know of a bound on the share of one person: weights, and how many persons it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.flow.components import promises_k
from shoal.flow.encoding import weights_in
from shoal.flow.requiring import as_requirements
from shoal.recipe import Recipe
from shoal.requirements import resolve
from shoal.types import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def weights_counted(table: Table, recipe: Recipe) -> NDArray[np.float64] | None:
    """Return the weights that means are weighted by; None where every record weighs the same."""
    return None if recipe.release_weight == "record" else weights_in(table)


def with_enough_persons(method: Any, recipe: Recipe) -> Any:
    """Return a method whose classes have as many persons as a bound on their shares takes at least."""
    from shoal.kernels.persons import least_persons

    bounds = [one for one in as_requirements(resolve("Recipe", recipe.require), ()) if not one.attribute]
    least = max(map(least_persons, bounds), default=0)
    return replace(method, k=least) if promises_k(method) and least > method.k else method
