"""Calibration of an estimate: the kernels of a run, timed on samples of its points.

Each kernel is run twice: first on fewer records, so that it is loaded and, where an index is searched, to see how
searches grow; then with the clock. Only kernels that the run uses are called, so nothing else is compiled. The clock
counts processor time, which other programs on the machine hardly change.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal import registry
from shoal.flow.plan import costs
from shoal.parameters import build, declarations
from shoal.types.coded import Coded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.flow.plan.estimate import Step
    from shoal.recipe.recipe import Recipe
    from shoal.types import Points

_INDEXED = 8_000  # records of a sample for an index
_SAMPLE = 3_000  # records of any other sample
_MOVES, _MOVES_CODED = 60_000, 15_000  # moves of a search on a sample
_UNIONS = 30_000  # moves of whole classes on a sample
_CACHED = 5e6  # bytes of points that a cache holds
_UNCACHED = 1.25  # how much longer searches of the index take beyond
_EASIER = 0.95  # searches grow a little more slowly than between two samples
_SORTED = 50_000  # numbers that are sorted to see how fast the machine is …
_SORTING = 5.5e-4  # … and the seconds that this usually takes
_LOOK_UP, _LOOK_UP_CODED = 4_000.0, 25_000.0  # nanoseconds to look up the neighbours of a record in a sample …
_LOOKED_UP = 0.3  # … and the power of the number of records by which they grow


class Rates(NamedTuple):
    """How many times as long as counted each kind of work takes, by default and as measured on a table."""

    table: float = 1.0
    first: float | None = None  #: None: unknown
    mdav: float | None = None  #: the count of MDAV, if searches of its index were extrapolated
    moves: float = 1.0
    looking: float | None = None  #: nanoseconds to look up the neighbours of a record, in a sample
    unions: float = 1.0

    def look_up(self, inside: int, *, coded: bool) -> float:
        """Return the nanoseconds to look up the neighbours of a record among so many."""
        usual = _LOOK_UP_CODED if coded else _LOOK_UP
        grown = math.pow(max(inside / _SAMPLE, 1.0), _LOOKED_UP)
        return (usual if self.looking is None else self.looking) * grown


def calibrated(recipe: Recipe, points: Points, steps: Sequence[Step]) -> Rates:
    """Time the steps on samples of the points."""
    rates = Rates(table=_of_machine())
    for step in steps:
        if step.kind == "method":
            rates = _of_first(recipe, points, step.what, rates)
        elif step.kind == "refine" and costs.of_refinement(points.x, recipe.k, step.what).moves > 0:
            rates = _of_moves(points, recipe.k, rates)
        elif step.kind == "unite" and points.confidential:
            rates = rates._replace(unions=_of_unions(recipe, points))
    return rates


def _timed(work: Callable[[], Any]) -> float:
    """Return the processor nanoseconds of some work."""
    start = time.process_time()
    work()
    return 1e9 * max(time.process_time() - start, 1e-6)


def _of_machine() -> float:
    """Return how many times as long as usual the machine takes to sort numbers."""
    numbers = np.random.default_rng(0).random(_SORTED)
    return min(_timed(numbers.copy().sort) for _ in range(3)) / (1e9 * _SORTING)


def _rows(n: int, count: int) -> NDArray[np.int64]:
    """Return `count` rows, evenly spread."""
    return np.arange(count, dtype=np.int64) * n // count


def _of_first(recipe: Recipe, points: Points, key: str, rates: Rates) -> Rates:
    """Time a method on a sample; of MDAV, the index or brute force, whichever the whole table needs."""
    n, k, method = len(points), recipe.k, registry.load("partition", key)
    if key == "mdav" and n >= 2 * _INDEXED and costs.uses_index(points.x, k):
        return _of_index(points, k, rates)
    sample, small = (points.rows(_rows(n, min(n, some))) for some in (_SAMPLE, max(_SAMPLE // 8, 2 * k)))
    if not method.quadratic and costs.uses_index(points.x, k) != costs.uses_index(sample.x, k):
        return rates  # the sample would need kernels that the run does not use
    known = {declared.name for declared in declarations(method)}
    given = {name: value for name, value in (("t", recipe.t), *recipe.set.items()) if name in known}
    made = build(method, {"k": k, **given})
    made.partition(small, np.random.default_rng(0))
    took = _timed(lambda: made.partition(sample, np.random.default_rng(0)))
    return rates._replace(first=took / costs.of_method(method, sample.x, k, costs.of_mdav(sample.x, k)))


def _of_index(points: Points, k: int, rates: Rates) -> Rates:
    """Run MDAV through its index on two samples: count its searches, extrapolate them, and time the larger sample."""
    from shoal.kernels.mdav.mdav import Trace, mdav

    x, n = points.x, len(points)

    def tried(some: int) -> tuple[float, float]:
        sample, traces = points.rows(_rows(n, some)).x, list[Trace]()
        took = _timed(lambda: traces.append(mdav(sample, k, path="index")[1]))
        return took, _searches(traces[0], x)

    (_, few), (took, many) = tried(_INDEXED // 4), tried(_INDEXED)
    power = max(_EASIER * math.log(many / few) / math.log(4), 0.0)
    uncached = 1.0 if n * x.shape[1] * 8 <= _CACHED else _UNCACHED
    each = _apart_from_searches(x, k)
    whole = n * (each + many * uncached * (n / _INDEXED) ** power / (2 * k))
    rate = took / (_INDEXED * (each + many / (2 * k)))
    brute = costs.by_brute_force(x, k) / rate  # never slower than brute force, whose rate is about 1
    return rates._replace(first=rate, mdav=min(whole, brute))


def _searches(trace: Any, x: NDArray[np.float64] | Coded) -> float:
    """Return the cost of the searches for two classes, from the boxes and leaves that they visited."""
    d, steps = x.shape[1], max(trace.index_steps, 1)
    axes = min(d, 13)
    if isinstance(x, Coded):
        found = trace.boxes_visited * (40.0 + 25.0 * d) + trace.records_scanned / 16 * (60.0 + 40.0 * d)
    else:
        boxes = trace.boxes_visited * (33.0 + 3.8 * axes)
        found = trace.leaves_visited * 1.8 * axes + boxes + trace.records_scanned / 16 * 25.0
    return float(found / steps)


def _apart_from_searches(x: NDArray[np.float64] | Coded, k: int) -> float:
    """Return the cost for a record, to build the index, to remove it from there, and to form its class."""
    d = x.shape[1]
    if isinstance(x, Coded):
        return float(420.0 * d + 1350.0 / (2 * k))
    return float(320.0 + 63.0 * d + 3.4 * math.log2(_INDEXED) + (1350.0 + 11.0 * d * min(d, 13)) / (2 * k))


def _of_moves(points: Points, k: int, rates: Rates) -> Rates:
    """Refine classes of a sample, with no moves and with some."""
    from shoal.kernels.refine.refine import Effort, refine

    n = len(points)
    sample = points.rows(_rows(n, min(n, _SAMPLE))).x
    labels = _labels(sample, k, points)
    nothing = Effort(1, 0, 0, 1, 0, 0)
    moves = _MOVES_CODED if isinstance(sample, Coded) else _MOVES
    some = nothing._replace(moves=moves, per_record=moves, quench=2)
    refine(sample, labels, k, nothing, 0)
    looked_up = min(_timed(lambda: refine(sample, labels, k, nothing, 0)) for _ in range(2))
    took = _timed(lambda: refine(sample, labels, k, some, 0))
    rate = max(took - looked_up, 0.1 * took) / costs.of_refinement(sample, k, some).moves
    return rates._replace(moves=rate, looking=looked_up / len(sample))


def _of_unions(recipe: Recipe, points: Points) -> float:
    """Unite classes of a sample, with few moves and with more."""
    from shoal.kernels.models.demands import demands_of
    from shoal.kernels.repair.unite import Effort, alternatives

    n, k = len(points), recipe.k
    sample = points.rows(_rows(n, min(n, _SAMPLE)))
    labels, size = _labels(sample.x, k, points), costs.least_size(len(sample), k, recipe.t)
    demands = demands_of(sample, k, recipe.t)
    if demands is None:
        return 1.0

    def tried(moves: int) -> tuple[float, float]:
        effort = Effort(moves, 1, 1, 1, 1, 0)
        took = _timed(lambda: alternatives(sample.x, labels, demands, effort, 0, 1))
        return took, costs.of_unions(sample.x, k, effort, size)

    tried(_UNIONS // 10)
    few, many = tried(_UNIONS // 10), tried(_UNIONS)
    return max(many[0] - few[0], 0.1 * many[0]) / (many[1] - few[1])


def _labels(sample: NDArray[np.float64] | Coded, k: int, points: Points) -> NDArray[np.int64]:
    """Return classes of a sample, by the kernel that the whole table needs."""
    from shoal.kernels.mdav.mdav import mdav

    return np.asarray(mdav(sample, k, path="index" if costs.uses_index(points.x, k) else None)[0])
