"""Auto: chooses the method and the effort for the table and the time budget, and reports why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal import registry
from shoal.errors import ParameterError
from shoal.parameters import Checked, Param, build
from shoal.partition._atoms import Choice, keep_equal_together, seconds_to_unite, united
from shoal.partition._shared import confidential
from shoal.progress import say
from shoal.types import Coded, Partition, Points
from shoal.types.protocols import Partitioner

_BYTES = 4e9  # bytes of points beyond which only a method with little extra memory is offered


@dataclass(frozen=True)
class Auto(Checked, Partitioner):
    """Take the first of these that fits into the time: the optimum, `anneal` with most effort to least, `blocks`.

    With t or other requirements: whole classes are then united until all requirements hold, as in `t_close_anneal`.
    Records with equal quasi-identifiers share a class. So someone who knows the algorithm learns no more than k allows.

    If the attacker knows only the table (``attacker="table"``), classes may depend on the confidential value of every
    record. With t: `t_first` if all confidential attributes are ranked, else `t_close_merge`. If classes must meet
    other requirements, `mdav` with repair. Either is refined with as much effort as fits, or not at all.

    Running times are estimated from counts alone (records, coordinates, k), never from a clock, so that the same table
    gets the same method on every machine.

    **Guarantee.** That of the method taken: n ≥ k → every record in exactly one class of at least k records; with t,
    each within t of the table in every confidential attribute; with other requirements, each class meets them if the
    table as one class does.

    **Complexity.** That of the method taken.

    **Departures.** None: there is no paper.

    >>> points = Points(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]))
    >>> part = Auto(k=2).partition(points, np.random.default_rng(0))
    >>> part.labels.tolist(), part.note
    ([0, 1, 0, 1, 0], 'auto chose optimal_univariate: one coordinate, for which it finds the optimum')
    """

    promises_k: ClassVar[bool] = True
    promises_t: ClassVar[bool] = True
    chooses_by_key: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True  #: unless the attacker knows only the table

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    t: Annotated[
        float | None,
        Param("t-closeness: largest distance (0–1) of a class from the table.", low=0, high=1),
    ] = None
    seconds: Annotated[float, Param("Time budget in seconds on an ordinary machine with two cores.", low=0)] = 60.0
    attacker: Annotated[
        Literal["algorithm", "table"], Param("Attacker to withstand: knows the algorithm, or only the table.")
    ] = "algorithm"
    choices: Annotated[
        int, Param("Number of partitions from which one is taken by a secret key.", low=1, high=1000)
    ] = 1
    key: bytes | None = field(default=None, repr=False)  #: of an earlier run that is repeated; not a parameter

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of at least k records by the method that fits."""
        from shoal.kernels.models.demands import demands_of

        if self.t is not None:
            confidential(self, points)
        demands = demands_of(points, self.k, self.t)
        if self.choices > 1 and (demands is None or self.attacker == "table"):
            raise ParameterError(
                f"{type(self).__name__}: choices must be 1 unless confidential values are protected from an attacker "
                f"who knows the algorithm, got {self.choices}. Give t, or leave out choices."
            )
        if demands is not None:
            work = self._uniting if self.attacker == "algorithm" else self._demanding
            return work(points, rng, demands)
        key, given, reason = self._choice(points)
        note = f"auto chose {_chosen(key, given)}: {reason}"
        say(note)
        partition = build(registry.load("partition", key), {"k": self.k, **given}).partition(points, rng)
        if self.attacker == "algorithm":
            block = partition.blocks[0]
            labels = keep_equal_together(points.x, block.labels, self.k)
            partition = replace(partition, blocks=(replace(block, labels=labels),))
        return replace(partition, note=note)

    def _uniting(self, points: Points, rng: np.random.Generator, demands: Any) -> Partition:
        """Form classes by quasi-identifiers in half of the time, then unite whole ones until all requirements hold."""
        from shoal.kernels.models.demands import least_size
        from shoal.kernels.repair.unite import EFFORTS

        key, given, reason = self._choice(points, half=True)
        size = least_size(demands, self.k)
        times = {effort: seconds_to_unite(EFFORTS[effort], len(points), self.k, size) for effort in EFFORTS}
        effort = next((one for one in ("best", "default") if times[one] <= self.seconds / 2), "fast")
        note = f"auto chose {_chosen(key, given)}, united with effort {effort}: {reason}"
        say(note)
        first = build(registry.load("partition", key), {"k": self.k, **given}).partition(points, rng)
        block, seed = first.blocks[0], int(rng.integers(1 << 60))
        choice = Choice(self.choices, self.key)
        labels, atoms = united(points, block.labels, self.k, self.t, EFFORTS[effort], seed, choice)
        return replace(first, blocks=(replace(block, labels=labels, atoms=atoms),), note=note)

    def _demanding(self, points: Points, rng: np.random.Generator, demands: Any) -> Partition:
        """Form classes that meet the requirements, and lower their loss as long as time allows."""
        from shoal.kernels.arithmetic.sums import in_range
        from shoal.kernels.models.demands import hold, least_size
        from shoal.kernels.refine.refine import CLOSE_EFFORTS as EFFORTS
        from shoal.kernels.refine.refine import seconds_to_start
        from shoal.kernels.repair.refine import refine_close, seconds_to_refine
        from shoal.kernels.repair.repair import satisfy
        from shoal.kernels.space.principal_axes import on_main_axes

        key, given = self._first(points)
        n, d = points.x.shape
        start, size = 2 * seconds_to_start(n, d, self.k), least_size(demands, self.k)
        axes = on_main_axes(in_range(points.x)).shape[1]
        times = {effort: start + seconds_to_refine(EFFORTS[effort], n, size, axes) for effort in EFFORTS}
        effort = next((effort for effort in ("best", "default", "fast") if times[effort] <= self.seconds), None)
        how = f"refined with effort {effort}" if effort else "not refined"
        about = f"{_size(points)}, estimated {_about(times[effort] if effort else start)}"
        note = f"auto chose {key}, {how}: {about} of a {self.seconds:g} s budget"
        say(note)
        first = build(registry.load("partition", key), {"k": self.k, **given}).partition(points, rng)
        block, x = first.blocks[0], points.x
        labels = block.labels if hold(demands, block.labels).all() else satisfy(x, block.labels, self.k, demands)
        if effort is not None:
            labels = refine_close(x, labels, self.k, demands, EFFORTS[effort], int(rng.integers(1 << 60)))
        return replace(first, blocks=(replace(block, labels=labels, atoms=None),), note=note)

    def _first(self, points: Points) -> tuple[str, dict[str, Any]]:
        """Return the method whose classes are refined: one that provides t if t is given."""
        if self.t is None:
            return "mdav", {}
        if all(attribute.ranked for attribute in points.confidential):
            return "t_first", {"t": self.t}
        if points.required or points.subjects is not None:  # everything is repaired at once
            return "mdav", {}
        return "t_close_merge", {"t": self.t}

    def _choice(self, points: Points, *, half: bool = False) -> tuple[str, dict[str, Any], str]:
        """Return the method that fits into the budget, or into half of it, with its parameters and the reason."""
        n, d = points.x.shape
        if d == 1 and not isinstance(points.x, Coded):
            return "optimal_univariate", {}, "one coordinate, for which it finds the optimum"
        size = _size(points)
        budget = self.seconds / 2 if half else self.seconds
        said = f"{'half of ' if half else ''}a {self.seconds:g} s budget"
        more = ""
        for key, given, seconds in self._candidates(n, d):
            if seconds <= budget:
                return key, given, f"{size}, estimated {_about(seconds)} of {said}{more}"
            effort = f"effort {given['effort']}" if given else key
            more = f"; {effort} would take about {_about(seconds)}"
        return "blocks", {}, f"{size}, estimated {_about(seconds)}; no method is faster"

    def _candidates(self, n: int, d: int) -> Iterator[tuple[str, dict[str, Any], float]]:
        """Yield the candidate methods, lowest loss first, with their estimated seconds."""
        from shoal.kernels.refine.refine import EFFORTS, seconds_of, seconds_to_start

        if n * d * 8 < _BYTES:
            for effort in ("best", "default", "fast"):
                yield "anneal", {"effort": effort}, seconds_of(EFFORTS[effort], n, d, self.k)
        yield "blocks", {}, seconds_to_start(n, d, self.k)


def _size(points: Points) -> str:
    n, d = points.x.shape
    return f"{n:,} records of {d} {'columns' if isinstance(points.x, Coded) else 'coordinates'}"


def _chosen(key: str, given: Mapping[str, Any]) -> str:
    return f"{key} ({', '.join(f'{name} {value}' for name, value in given.items())})" if given else key


def _about(seconds: float) -> str:
    """Format a duration for people.

    >>> _about(0.2), _about(12.3), _about(400.0), _about(9000.0)
    ('0.2 s', '12 s', '7 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{round(seconds)} s"
    return f"{round(seconds / 60)} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
