"""Candidate → Setting: a table protected in some way, audited and measured by the code that protects and compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from shoal import progress
from shoal.errors import ShoalError, rows_kept
from shoal.flow.explore.grid import Candidate
from shoal.flow.gate.gate import gate
from shoal.flow.protect.anonymise import anonymise
from shoal.flow.stages.encode import encode
from shoal.flow.stages.measure import measures, read_measures
from shoal.recipe.recipe import Recipe
from shoal.types import Partition, Readings, Role, Setting, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: Processor time of methods, as multiples of that of a first partition by MDAV; measured once, on the survey.
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
_UNKNOWN = 30.0  # of a method that nobody has measured
_AUTO = 60.0  # seconds that the method auto takes at most, unless it is told
_RECORD = 4e-6  # to encode, release and audit a record
_LINK = 1.2e-6  # to look for a record with one set of known attributes
_LINKS = 5_000_000  # at most; see the measure distance_linkage
_SETS = 511
_CUT = 3.5e-9  # to look at one place where an optimal cut may be
_SORTS = {"insensitive": 5e-7, "least_error": 1e-5}  # by record and coordinate, of methods that sort each of these


def seconds_for(recipe: Recipe, n: int, d: int, *, measured: bool = True) -> float:
    """Return about how many seconds of one core it takes to protect n records of d coordinates, and to measure it."""
    from shoal.kernels.refine.refine import EFFORTS, seconds_of, seconds_to_start

    start, given = seconds_to_start(n, d, recipe.k), recipe.set.get("seconds")
    if recipe.method in ("anneal", "auto") and isinstance(given, (int, float)):
        first = 2.0 * max(given, 0)
    elif recipe.method == "auto":
        first = 2 * _AUTO
    elif recipe.method == "anneal":
        effort = str(recipe.set.get("effort"))  # what cannot be is refused when it is tried
        first = 2 * seconds_of(EFFORTS.get(effort, EFFORTS["default"]), n, d, recipe.k)
    elif recipe.method in _SORTS:
        first = _SORTS[recipe.method] * n * d
    else:
        first = _TIMES.get(recipe.method, _UNKNOWN) * start
        if recipe.method in _CUTS and 2 * recipe.k <= n:
            first += _CUT * n * recipe.k * d
    besides = _measuring(recipe, n) if measured else 0.0
    return first + _refining(recipe, n, d) + (_RECORD + 1e-7 * d) * n + besides


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


def fitting(costs: Sequence[float], levels: Sequence[int], seconds: float) -> set[int]:
    """Return which settings fit into the time together: coarse ones first, and of these in their order.

    One that does not fit is passed over, so that cheaper ones after it may. The cheapest of the coarsest always runs.

    >>> sorted(fitting([5.0, 1.0, 3.0, 2.0], [0, 1, 0, 1], 9.0))
    [0, 1, 2]
    """
    order = sorted(range(len(costs)), key=lambda at: (levels[at], at))
    found, spent = set(), 0.0
    for at in order:
        if spent + costs[at] <= seconds:
            found.add(at)
            spent += costs[at]
    return found or set(sorted(order, key=lambda at: (levels[at], costs[at]))[:1])


R = TypeVar("R")
_READ = ("il_sse", "il", "dld", "id", "dr", "score")  # of every setting, besides the two that are compared


_KEY = bytes(32)  # nothing is released here, and the same settings must give the same figures


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a setting."""

    k: int  #: over all quasi-identifiers, as audited
    classes: int
    readings: Readings
    weaker: str  #: in what the promise is less than k, and t where it is asked for, over all quasi-identifiers


@dataclass(frozen=True, eq=False)
class Bench:
    """What every setting is tried on, and the measures that are read."""

    table: Table
    rows: NDArray[np.int64] | None  #: which records of the user's table these are; None: all
    chosen: Sequence[Any]

    def tried(self, recipe: Recipe) -> Result:
        """Protect the table by a setting, audit and measure it."""
        with rows_kept(self.rows):
            exact = replace(recipe, exact_means=True, resolution={})  # settings are compared by their partition
            made = anonymise(self.table, exact, key=_KEY)
            overall = gate(made.release, recipe, made.partition).overall
        readings = read_measures(made.comparison, self.chosen)
        return Result(int(overall.achieved), overall.classes, readings, weaker(recipe, made.partition))

    def all_tried(self, some: Sequence[Candidate], jobs: int) -> list[Result | ShoalError]:
        """Try settings, so many at once."""
        return at_once(self.tried, some, jobs)

    def coordinates(self, recipe: Recipe) -> int:
        """Return how many coordinates the points have; what cannot be encoded is refused here, once for all."""
        from shoal.points.encoding import Encoding

        missing = "fill" if recipe.when_missing == "fill" else "category"
        with rows_kept(self.rows):
            _, attributes = encode(self.table, self.table.schema.names(Role.QUASI), missing=missing)
            return int(Encoding().encode(attributes, recipe.attribute_weights).coordinates.shape[1])


def _attempted(try_: Callable[[Recipe], R], candidate: Candidate) -> R | ShoalError:
    """Try a setting; or return why that cannot be."""
    if candidate.recipe is None:
        assert candidate.fault is not None
        return candidate.fault
    try:
        return try_(candidate.recipe)
    except ShoalError as error:  # of this setting; others may do
        return error


def at_once(try_: Callable[[Recipe], R], some: Sequence[Candidate], jobs: int) -> list[R | ShoalError]:
    """Try settings, so many at once; where none can be run, the error of the first is raised.

    Threads do: kernels hold no lock, and the table need not be copied. A setting does not know of the others, so
    the results are the same for any number of jobs.
    """
    progress.stage("Explore")
    pool = ThreadPoolExecutor(jobs)
    try:
        begun = [pool.submit(_attempted, try_, one) for one in some]
        for done, _ in enumerate(as_completed(begun), 1):
            progress.report(done, len(begun))
        found = [one.result() for one in begun]
    finally:
        pool.shutdown(cancel_futures=True)  # somebody who interrupts waits for those that run, not for all
    errors = [result for result in found if isinstance(result, ShoalError)]
    if len(errors) == len(found):
        raise errors[0]
    return found


def read_for(*names: str) -> list[Any]:
    """Return the measures that are read of every setting, with these among them."""
    return measures(only=(*_READ, *names))


def setting_of(
    candidate: Candidate, seconds: float, result: Result | ShoalError | None, loss: str, risk: str
) -> Setting:
    """Return what is told of a setting: one that ran, one that could not, or one that was left out."""
    meets = not candidate.shortfall
    if result is None:
        return Setting(candidate.values, seconds, meets=meets)
    if isinstance(result, ShoalError):
        return Setting(candidate.values, seconds, "failed", note=str(result), meets=meets)
    readings = {reading.name: reading.value for reading in result.readings.readings}
    return Setting(
        candidate.values,
        seconds,
        "ran",
        readings[loss],
        readings[risk],
        readings,
        result.k,
        result.classes,
        keeps=not result.weaker,
        note="; ".join(filter(None, (candidate.shortfall, result.weaker))),
        meets=meets,
    )


def weaker(recipe: Recipe, partition: Partition) -> str:
    """Return what a partition promises less than the recipe asks for, in words; nothing if it promises all of it."""
    if not all(block.promised for block in partition.blocks):
        return "no k of records is promised"
    if len(partition.blocks) > len(recipe.all_blocks):
        return "k is promised of each block of attributes, not over all of them"
    if recipe.t is not None and not all(block.promised_t for block in partition.blocks):
        return "t is not promised"
    return ""
