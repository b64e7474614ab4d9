"""Cost of a run: an estimate of its processor time."""

from __future__ import annotations

from shoal.recipe.recipe import Recipe

#: Processor time of methods, in multiples of a first partition by MDAV; measured once, on the survey.
_TIMES = {
    "mdav": 3.0,
    "blocks": 3.0,
    "v_mdav": 30.0,
    "tour": 25.0,
    "pcp": 3.0,
    "zscores": 3.0,
    "optimal_univariate": 3.0,
    "individual_ranking": 3.0,
    "mic1d": 3.0,
    "t_close_merge": 5.0,
    "steered": 6.0,
    "p_sensitive": 6.0,
    "t_first": 30.0,
    "k_first": 90.0,
    "kpqr": 30.0,
}
_CUTS = ("optimal_univariate", "individual_ranking")
_UNKNOWN = 30.0  # for a method that has not been measured
_AUTO = 60.0  # seconds that the method auto takes at most, by default
_RECORD = 4e-6  # to encode, release and audit a record
_LINK = 1.2e-6  # to look up a record with one set of known attributes
_LINKS = 5_000_000  # at most; see the measure distance_linkage
_SETS = 511
_CUT = 3.5e-9  # to examine one possible position of an optimal cut
_SORTS = {"insensitive": 5e-7, "least_error": 1e-5}  # per record and coordinate, for methods that sort each coordinate


def seconds_for(recipe: Recipe, n: int, d: int, *, measured: bool = True) -> float:
    """Estimate the seconds on one core to protect and measure n records of d coordinates."""
    from shoal.kernels.refine.refine import EFFORTS, seconds_of, seconds_to_start

    start, given = seconds_to_start(n, d, recipe.k), recipe.set.get("seconds")
    if recipe.method in ("anneal", "auto") and isinstance(given, (int, float)):
        first = 2.0 * max(given, 0)
    elif recipe.method == "auto":
        first = 2 * _AUTO
    elif recipe.method == "anneal":
        effort = str(recipe.set.get("effort"))  # invalid values are refused when it is tried
        first = 2 * seconds_of(EFFORTS.get(effort, EFFORTS["default"]), n, d, recipe.k)
    elif recipe.method in _SORTS:
        first = _SORTS[recipe.method] * n * d
    else:
        first = _TIMES.get(recipe.method, _UNKNOWN) * start
        if recipe.method in _CUTS and 2 * recipe.k <= n:
            first += _CUT * n * recipe.k * d
    measuring = _measuring(recipe, n) if measured else 0.0
    return first + _refining(recipe, n, d) + (_RECORD + 1e-7 * d) * n + measuring


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
