"""Cost of a run: an estimate of its processor time."""

from __future__ import annotations

from shoal import registry
from shoal.parameters import declarations
from shoal.recipe.recipe import Recipe

_RECORD = 4e-6  # to encode, release and audit a record
_LINK = 1.2e-6  # to look up a record with one set of known attributes
_LINKS = 5_000_000  # at most; see the measure distance_linkage
_SETS = 511


def seconds_for(recipe: Recipe, n: int, d: int, *, measured: bool = True) -> float:
    """Estimate the seconds on one core to protect and measure n records of d coordinates."""
    measuring = _measuring(recipe, n) if measured else 0.0
    return _forming(recipe, n, d) + _refining(recipe, n, d) + (_RECORD + 1e-7 * d) * n + measuring


def _forming(recipe: Recipe, n: int, d: int) -> float:
    """Estimate the seconds to form classes, by the costs that the method declares, or by its time limit or effort."""
    from shoal.kernels.refine.refine import EFFORTS, seconds_of, seconds_to_start

    method = registry.load("partition", recipe.method)
    usual = {declared.name: declared.default for declared in declarations(method)}
    for limit in (recipe.set.get("seconds"), usual.get("seconds")):  # invalid values are refused when it is tried
        if "seconds" in usual and isinstance(limit, (int, float)):
            return 2.0 * max(limit, 0)
    if "effort" in usual:
        effort = EFFORTS.get(str(recipe.set.get("effort")), EFFORTS[usual["effort"]])
        return 2 * seconds_of(effort, n, d, recipe.k)
    cuts = n * recipe.k * d if 2 * recipe.k <= n else 0
    return float(
        method.relative_cost * seconds_to_start(n, d, recipe.k)
        + method.cost_of_cell * n * d
        + method.cost_of_cut * cuts
    )


def _refining(recipe: Recipe, n: int, d: int) -> float:
    from shoal.kernels.refine.refine import CLOSE_EFFORTS, EFFORTS, seconds_of, seconds_to_start
    from shoal.kernels.repair.refine import seconds_to_refine

    if recipe.refine is None:
        return 0.0
    if recipe.t is not None or recipe.require or recipe.subject is not None:
        return 2 * seconds_to_refine(CLOSE_EFFORTS[recipe.refine], n, recipe.k, d)
    return 2 * (seconds_of(EFFORTS[recipe.refine], n, d, recipe.k) - seconds_to_start(n, d, recipe.k))


def _measuring(recipe: Recipe, n: int) -> float:
    sets = min(2 ** min(len(recipe.quasi), 20) - 1, _SETS)
    return float(_LINK * min(n * sets, max(_LINKS, 1000 * sets)))
