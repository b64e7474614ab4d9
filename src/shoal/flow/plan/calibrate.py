"""Calibration of an estimate: the kernels of a run, timed on samples of its points.

Each kernel is run twice: first on fewer records, so that it is loaded and, where an index is searched, to see how
searches grow; then with the clock. Only kernels that the run uses are called, so nothing else is compiled. The clock
counts processor time, which other programs on the machine hardly change.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
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
_SORTING = 3.7e-3  # … and the seconds that this usually takes
_LOOK_UP, _LOOK_UP_CODED = 4_000.0, 25_000.0  # nanoseconds to look up the neighbours of a record in a sample …
_LOOKED_UP = 0.3  # … and the power of the number of records by which they grow …
_STEEPEST = 0.8  # … at most
_NEIGHBOURS = 12  # of a record that are looked up
_SETS, _FIRST_SETS = 24, 8  # sets of known attributes by which a sample is linked; the first take longer
_SLOWER = 0.25  # highest power of the number of records by which a method takes longer than counted


class Rates(NamedTuple):
    """Ratios of measured to counted time for each kind of work: defaults, or as measured on a table."""

    table: float = 1.0
    first: float | None = None  #: None: unknown
    mdav: float | None = None  #: the count of MDAV, if searches of its index were extrapolated
    moves: float = 1.0
    looking: float | None = None  #: nanoseconds to look up the neighbours of a record in a sample
    looked_among: int = _SAMPLE  #: number of records in that sample
    growth: float = _LOOKED_UP  #: power of the number of records with which these nanoseconds grow
    unions: float = 1.0
    link: float | None = None  #: nanoseconds to look up a record with one set of known attributes, in a sample

    def look_up(self, inside: int, *, coded: bool) -> float:
        """Return the nanoseconds to look up the neighbours of a record among `inside` records."""
        usual = self.table * (_LOOK_UP_CODED if coded else _LOOK_UP)
        grown = math.pow(inside / self.looked_among, self.growth)
        return (usual if self.looking is None else self.looking) * grown

    def linking(self, attributes: int, n: int, *, coded: bool) -> float:
        """Return the nanoseconds to link records by sets of known attributes."""
        if self.link is None:
            return self.table * costs.of_links(attributes, n, coded=coded)
        return costs.links(attributes, n) * self.link


def calibrated(recipe: Recipe, points: Points, steps: Sequence[Step], *, report: bool = False) -> Rates:
    """Time the steps on samples of the points."""
    rates = Rates(table=rate_of_machine())
    for step in steps:
        if step.kind == "method":
            rates = _of_first(recipe, points, step.what, rates)
        elif step.kind == "refine" and costs.of_refinement(points.x, recipe.k, step.what).moves > 0:
            rates = _of_moves(points, recipe.k, rates)
        elif step.kind == "unite" and points.confidential:
            rates = rates._replace(unions=_of_unions(recipe, points))
    if _looks_up(points, steps):
        rates = _of_look_up(points, rates)
    if report and isinstance(points.x, Coded):
        rates = rates._replace(link=_of_link(points, recipe.k))
    return rates


def _looks_up(points: Points, steps: Sequence[Step]) -> bool:
    """Tell whether the neighbours of many records are looked up."""
    kinds = {step.kind for step in steps}
    return bool(kinds & {"refine", "unite"}) or ("equal" in kinds and costs.distinct(points.x) < len(points))


def _timed(work: Callable[[], Any]) -> float:
    """Return the processor nanoseconds of some work."""
    start = time.process_time()
    work()
    return 1e9 * max(time.process_time() - start, 1e-6)


def rate_of_machine() -> float:
    """Return how many times as long as usual the machine takes to sort numbers, without vector instructions."""
    numbers = np.random.default_rng(0).random(_SORTED)
    return min(_timed(partial(numbers.copy().sort, kind="stable")) for _ in range(3)) / (1e9 * _SORTING)


def _rows(n: int, count: int) -> NDArray[np.int64]:
    """Return `count` rows, evenly spread."""
    return np.arange(count, dtype=np.int64) * n // count


def _of_first(recipe: Recipe, points: Points, key: str, rates: Rates) -> Rates:
    """Time a method on a sample; of MDAV, the index or brute force, whichever the whole table needs."""
    n, k, method = len(points), recipe.k, registry.load("partition", key)
    if key == "mdav" and n >= 2 * _INDEXED and costs.uses_index(points.x, k):
        return _of_index(points, k, rates)
    size = min(n, max(_SAMPLE // 2, 2 * k))
    while size < n and not method.quadratic and costs.uses_index(points.x, k) != _indexed(points, size, k):
        size = min(2 * size, n)  # a smaller sample needs other kernels than the run
    small, sample = (points.rows(_rows(n, min(n, some))) for some in (size, 2 * size))
    known = {declared.name for declared in declarations(method)}
    given = {name: value for name, value in (("t", recipe.t), *recipe.set.items()) if name in known}
    made = build(method, {"k": k, **given})

    def rate(some: Points) -> float:
        took = _timed(lambda: made.partition(some, np.random.default_rng(0)))
        return took / costs.of_method(method, some.x, k, costs.of_mdav(some.x, k))

    rate(small)
    before, after = min(rate(small) for _ in range(2)), min(rate(sample) for _ in range(2))
    growth = min(max(math.log2(after / before), 0.0), _SLOWER)
    return rates._replace(first=after * (n / len(sample)) ** growth)


def _indexed(points: Points, size: int, k: int) -> bool:
    """Tell whether a sample of `size` records would be searched through an index."""
    return costs.uses_index(points.x[:size], k)


def _of_index(points: Points, k: int, rates: Rates) -> Rates:
    """Run MDAV through its index on two samples: count its searches, extrapolate them, and time the larger sample."""
    from shoal.kernels.mdav.mdav import Trace, mdav

    x, n = points.x, len(points)

    def tried(some: int) -> tuple[float, float, int]:
        sample, traces = points.rows(_rows(n, some)).x, list[Trace]()
        took = _timed(lambda: traces.append(mdav(sample, k, path="index")[1]))
        return took, _searches(traces[0], x), costs.distinct(sample)

    (_, few, _), (took, many, some) = tried(_INDEXED // 4), tried(_INDEXED)
    power = max(_EASIER * math.log(many / few) / math.log(4), 0.0)
    uncached = 1.0 if n * x.shape[1] * 8 <= _CACHED else _UNCACHED
    each, different = _apart_from_searches(x, k), costs.distinct(x)  # equal records have one place in the index
    whole = different * each + n * many * uncached * (different / some) ** power / (2 * k)
    rate = took / (some * each + _INDEXED * many / (2 * k))
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
    took = min(_timed(lambda: refine(sample, labels, k, some, 0)) for _ in range(2))
    rate = max(took - looked_up, 0.1 * took) / costs.of_refinement(sample, k, some).moves
    return rates._replace(moves=rate)


def _of_look_up(points: Points, rates: Rates) -> Rates:
    """Look up the neighbours of all records of two samples, to see how their time grows."""
    from shoal.kernels.space.neighbours import neighbours

    n = len(points)
    size = min(n, _SAMPLE if isinstance(points.x, Coded) else _INDEXED)
    few, many = (points.rows(_rows(n, some)).x for some in (size // 4, size))

    def each(sample: NDArray[np.float64] | Coded) -> float:
        return _timed(lambda: neighbours(sample, _NEIGHBOURS)) / costs.distinct(sample)

    each(few)
    before, after = (min(each(sample) for _ in range(2)) for sample in (few, many))
    grown = math.log(after / before) / math.log(max(costs.distinct(many) / costs.distinct(few), 2))
    growth = min(max(grown, 0.0), _STEEPEST)
    return rates._replace(looking=after, looked_among=costs.distinct(many), growth=growth)


def _of_link(points: Points, k: int) -> float:
    """Link the records of a sample to typical records of their classes, by some sets of known columns."""
    from shoal.kernels.space.nearest_own import Links, different
    from shoal.kernels.space.sparse_means import Centroids

    n = len(points)
    x = points.rows(_rows(n, min(n, _INDEXED))).x
    labels = _labels(x, k, points)
    masked = different(x[Centroids(x, labels).typical_rows()[labels]])
    sets = np.random.default_rng(0).random((_SETS, x.shape[1])) < 0.5
    sets[np.arange(_SETS), np.arange(_SETS) % x.shape[1]] = True
    known = [np.flatnonzero(one) for one in sets]

    links = Links(x, masked.of_row, masked, len(known))
    took = [_timed(partial(links.as_near, columns)) for columns in known]
    return sum(took[_FIRST_SETS:]) / (len(x) * (_SETS - _FIRST_SETS))


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
        took = min(_timed(lambda: alternatives(sample.x, labels, demands, effort, 0, 1)) for _ in range(2))
        return took, costs.of_unions(sample.x, k, effort, size)

    tried(_UNIONS // 10)
    few, many = tried(_UNIONS // 10), tried(_UNIONS)
    return max(many[0] - few[0], 0.1 * many[0]) / (many[1] - few[1])


def _labels(sample: NDArray[np.float64] | Coded, k: int, points: Points) -> NDArray[np.int64]:
    """Return classes of a sample, by the kernel that the whole table needs."""
    from shoal.kernels.mdav.mdav import mdav

    return np.asarray(mdav(sample, k, path="index" if costs.uses_index(points.x, k) else None)[0])
