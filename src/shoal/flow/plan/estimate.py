"""Estimate of the time of a run, by its stages: their operation counts, calibrated on the table itself.

Choices, such as which settings `explore` tries, must be the same on every machine: they use :func:`counted`, which
follows from counts alone. People are shown :func:`estimated`, for which the kernels of a long run are also timed on
small samples of its points. Compilation is not included; it is announced where it happens.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from shoal import registry
from shoal.flow.plan import costs
from shoal.flow.plan.calibrate import Rates, calibrated, rate_of_machine
from shoal.flow.plan.costs import UNITS, Contents
from shoal.recipe.attacker import BY_ROW, improves, withstands_algorithm
from shoal.threads import thread_count
from shoal.types.coded import Coded

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe
    from shoal.types import Points

WORTH_TIMING = 0.3  #: processor seconds of a run from which kernels are timed on samples …
LONG = 1.0  #: … unless all that matters is whether it takes long
_ROUND = 5_000.0  # nanoseconds for a record in a round of repair between blocks
_USUAL, _USUAL_CODED = 1.4, 2.4  # how many times as long as counted first classes take, where no clock is read
_ORDERS = 8  # partitions of `t_first` with several confidential attributes, or with categories
_ROUNDS = {"fast": 1, "default": 2, "best": 8}


class Estimate(NamedTuple):
    """Estimated time of a run."""

    cpu: float  #: seconds of processor time, of all threads
    wall: float  #: seconds on this machine if nothing else runs on it


class Step(NamedTuple):
    """A step in forming classes: method, refine, close, unite, merge, rounds, equal or sort."""

    kind: str
    what: str = ""  #: the method, or the effort


def counted(recipe: Recipe, points: Points, *, measured: bool = True) -> float:
    """Estimate the processor seconds to protect a table in memory, and to link its records, from counts alone."""
    return _total(recipe, points, Rates(), None, report=False, linked=measured).cpu


def estimated(
    recipe: Recipe,
    points: Points,
    *,
    report: bool = False,
    file: Contents | None = None,
    timed_from: float = WORTH_TIMING,
) -> Estimate:
    """Estimate the time of a run, of a file if its contents are given.

    If it takes at least `timed_from` processor seconds, its kernels are timed on samples of the points.
    """
    found = _total(recipe, points, Rates(), file, report=report)
    if found.cpu >= timed_from:
        rates = calibrated(recipe, points, steps_of(recipe, points), report=report)
        found = _total(recipe, points, rates, file, report=report)
    elif timed_from <= WORTH_TIMING:
        found = _total(recipe, points, Rates(table=rate_of_machine()), file, report=report)
    if not isinstance(recipe.deadline, float):
        return found
    least = _total(recipe, points, Rates(), file, report=report, searching=False)
    return Estimate(found.cpu, max(min(found.wall, recipe.deadline), least.wall))


def estimated_on_disk(recipe: Recipe, records: int, file: Contents, *, coded: bool) -> Estimate:
    """Estimate the time of a run on disk, from counts alone: its table has not been read."""
    one, all_ = (1e-9 * cost for cost in costs.on_disk(recipe, records, file, coded=coded))
    return Estimate(one + all_, one + all_ / thread_count())


def _total(
    recipe: Recipe,
    points: Points,
    rates: Rates,
    file: Contents | None,
    *,
    report: bool,
    linked: bool = False,
    searching: bool = True,
) -> Estimate:
    """Add up all stages: seconds in one thread, and seconds in all."""
    n, coded, attributes = len(points), isinstance(points.x, Coded), len(recipe.quasi)
    alone, shared = [rates.table * costs.of_table(recipe, n, file)], [0.0]
    for step in steps_of(recipe, points):
        if step.kind == "method":
            alone.append(_first(points, recipe.k, step.what, rates))
        elif searching:
            shared.append(_searching(points, recipe, step, rates))
    if report:
        alone.append(rates.table * UNITS.report + rates.linking(attributes, n, coded=coded))
    elif linked:
        alone.append(rates.table * costs.of_links(attributes, n, coded=coded))
    one, all_ = 1e-9 * math.fsum(alone), 1e-9 * math.fsum(shared)
    return Estimate(one + all_, one + all_ / thread_count())


def steps_of(recipe: Recipe, points: Points) -> list[Step]:
    """Return how classes are formed: by a method, then by searches and repairs."""
    method = registry.load("partition", recipe.method)
    demanding = recipe.t is not None or bool(recipe.require) or recipe.subject is not None
    steps = [Step("method", recipe.method)]
    if method.searches or recipe.method == "t_close_merge":
        steps = _of_method(recipe, points, demanding=demanding)
    effort = recipe.refinement
    if demanding and improves(recipe) and withstands_algorithm(recipe):
        looks = method.promises_t or bool(method.promises)
        steps += [Step("refine", effort)] if effort is not None and not looks else []
        steps += [Step("merge"), Step("unite", effort or "default")]
    elif demanding and improves(recipe):
        steps.append(Step("merge"))
        steps += [Step("close", effort)] if effort is not None else []
    elif effort is not None:
        steps.append(Step("refine", effort))
    if withstands_algorithm(recipe) and (improves(recipe) or method.chooses_by_key):
        steps.append(Step("equal"))
    return steps if recipe.method == BY_ROW and len(steps) == 1 else [*steps, Step("sort")]


def _of_method(recipe: Recipe, points: Points, *, demanding: bool) -> list[Step]:
    """Return the steps of a method that searches."""
    effort, first = str(recipe.effort or "default"), Step("method", str(recipe.set.get("first", "mdav")))
    if recipe.method == "t_close_merge":
        return [first, Step("merge", recipe.method)]
    if recipe.method == "blocks":
        return [Step("method", "mdav"), Step("rounds", effort)]
    if recipe.method == "t_close_anneal":
        return [first, Step("merge"), Step("unite", effort)]
    if not demanding or recipe.method != "auto":
        return [Step("method", "mdav"), Step("refine", effort)]
    if recipe.attacker == "algorithm":
        refined = [Step("refine", effort)] if recipe.t is None else []
        return [Step("method", "mdav"), *refined, Step("merge"), Step("unite", effort)]
    close = recipe.t is not None and all(attribute.ranked for attribute in points.confidential)
    return [Step("method", "t_first" if close else "mdav"), Step("merge"), Step("close", effort)]


def _first(points: Points, k: int, key: str, rates: Rates) -> float:
    """Return the cost of the first classes."""
    mdav = costs.of_mdav(points.x, k) if rates.mdav is None else rates.mdav
    method = registry.load("partition", key)
    several = key == "t_first" and (len(points.confidential) > 1 or not all(a.ordered for a in points.confidential))
    usual = _USUAL_CODED if isinstance(points.x, Coded) else _USUAL
    rate = rates.table * usual if rates.first is None else rates.first
    return rate * costs.of_method(method, points.x, k, mdav) * (_ORDERS if several else 1)


def _searching(points: Points, recipe: Recipe, step: Step, rates: Rates) -> float:
    """Return the cost of a step after the first classes."""
    x, n, k, coded = points.x, len(points), recipe.k, isinstance(points.x, Coded)
    if step.kind == "refine":
        found = costs.of_refinement(x, k, step.what)
        different = costs.distinct(x) / n  # equal records are looked up once
        return rates.moves * found.moves + different * found.looked_up * rates.look_up(found.inside, coded=coded)
    size = costs.least_size(n, k, recipe.t)
    if step.kind == "close":
        return costs.of_close_refinement(x, k, step.what, size)
    if step.kind == "unite":
        from shoal.kernels.repair.unite import effort_for

        atoms = max(n // k, 1)
        work = effort_for(step.what, x, atoms, max(len(points.confidential), 1))
        return rates.unions * costs.of_unions(x, k, work, size) + atoms * rates.look_up(atoms, coded=coded)
    if step.kind == "rounds":
        rounds = recipe.set.get("rounds")
        return n * _ROUND * (rounds if isinstance(rounds, int) else _ROUNDS[step.what])
    if step.kind == "equal":
        return rates.table * n * UNITS.equal + _settling(points, rates)
    merge = UNITS.merge_all_coded if step.what else UNITS.merge_coded
    return rates.table * n * (UNITS.sort if step.kind == "sort" else merge if coded else UNITS.merge)


def _settling(points: Points, rates: Rates) -> float:
    """Return the cost of moving all copies of a record together; nothing if no two records are equal."""
    n, some, coded = len(points), costs.distinct(points.x), isinstance(points.x, Coded)
    if some == n:
        return 0.0
    moves = UNITS.settle_coded if coded else UNITS.settle
    return some * (rates.table * moves + rates.look_up(some, coded=coded))
