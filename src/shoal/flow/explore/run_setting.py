"""Candidate → Setting: protect, audit and measure a table with the code of `protect` and `compare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from shoal import progress
from shoal.errors import ShoalError, rows_kept
from shoal.flow.explore.grid import Candidate
from shoal.flow.gate.gate import gate
from shoal.flow.plan.promise import promise_of
from shoal.flow.protect.anonymise import anonymise, plan_for
from shoal.flow.stages.encode import encode
from shoal.flow.stages.measure import measures, read_measures
from shoal.recipe.recipe import Recipe
from shoal.types import Partition, Readings, Role, Setting, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def fitting(costs: Sequence[float], levels: Sequence[int], seconds: float) -> set[int]:
    """Return which settings fit into the time together: coarse ones first, then in their order.

    A setting that does not fit is skipped, so that cheaper ones after it may run. The cheapest of the coarsest always
    runs.

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
_READ = ("il_sse", "il", "dld", "id", "dr", "score")  # of every setting, in addition to the two that are compared


_KEY = bytes(32)  # nothing is released here, and equal settings must give equal figures


@dataclass(frozen=True, eq=False)
class Result:
    """The results of a setting."""

    k: int  #: over all quasi-identifiers, as audited
    classes: int
    readings: Readings
    weaker: str  #: how the promise falls short of k, and of t where requested, over all quasi-identifiers


@dataclass(frozen=True, eq=False)
class Bench:
    """The table that every setting is tried on, and the measures."""

    table: Table
    rows: NDArray[np.int64] | None  #: rows of these records in the user's table; None: all
    chosen: Sequence[Any]

    def tried(self, recipe: Recipe) -> Result:
        """Protect the table by a setting, audit and measure it."""
        with rows_kept(self.rows):
            exact = replace(recipe, exact_means=True, resolution={})  # settings are compared by their partition
            made = anonymise(plan_for(self.table, exact).with_key(_KEY), self.table)
            overall = gate(made.release, promise_of(recipe, made.partition)).overall
        readings = read_measures(made.comparison, self.chosen)
        return Result(int(overall.achieved), overall.classes, readings, weaker(recipe, made.partition))

    def all_tried(self, some: Sequence[Candidate], jobs: int) -> list[Result | ShoalError]:
        """Try settings, up to `jobs` at once."""
        return at_once(self.tried, some, jobs)

    def coordinates(self, recipe: Recipe) -> int:
        """Return the number of coordinates of the points; refuse once what cannot be encoded."""
        from shoal.points.encoding import Encoding

        missing = "fill" if recipe.when_missing == "fill" else "category"
        with rows_kept(self.rows):
            _, attributes = encode(self.table, self.table.schema.names(Role.QUASI), missing=missing)
            return int(Encoding().encode(attributes, recipe.attribute_weights).coordinates.shape[1])


def _attempted(try_: Callable[[Recipe], R], candidate: Candidate) -> R | ShoalError:
    """Try a setting, or return why it cannot run."""
    if candidate.recipe is None:
        assert candidate.fault is not None
        return candidate.fault
    try:
        return try_(candidate.recipe)
    except ShoalError as error:  # of this setting; others may succeed
        return error


def at_once(try_: Callable[[Recipe], R], some: Sequence[Candidate], jobs: int) -> list[R | ShoalError]:
    """Try settings, up to `jobs` at once; if none can run, raise the error of the first.

    Threads suffice: kernels hold no lock, and the table is not copied. Settings are independent, so the results are the
    same for any number of jobs.
    """
    progress.stage("Explore")
    pool = ThreadPoolExecutor(jobs)
    try:
        begun = [pool.submit(_attempted, try_, one) for one in some]
        for done, _ in enumerate(as_completed(begun), 1):
            progress.report(done, len(begun))
        found = [one.result() for one in begun]
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt waits for the running ones only
    errors = [result for result in found if isinstance(result, ShoalError)]
    if len(errors) == len(found):
        raise errors[0]
    return found


def read_for(*names: str) -> list[Any]:
    """Return the measures computed for every setting, including the named ones."""
    return measures(only=(*_READ, *names))


def setting_of(
    candidate: Candidate, seconds: float, result: Result | ShoalError | None, loss: str, risk: str
) -> Setting:
    """Describe a setting: one that ran, one that could not, or one that was skipped."""
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
    """Return in words what a partition promises less than the recipe asks for; empty if nothing."""
    if not all(block.promised for block in partition.blocks):
        return "no k of records is promised"
    if len(partition.blocks) > len(recipe.all_blocks):
        return "k is promised of each block of attributes, not over all of them"
    if recipe.t is not None and not all(block.promised_t for block in partition.blocks):
        return "t is not promised"
    return ""
