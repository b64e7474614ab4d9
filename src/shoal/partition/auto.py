"""Auto: chooses how to form classes for a table and its requirements, and reports why."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import ParameterError
from shoal.parameters import Checked, Param, build
from shoal.partition._atoms import Choice, keep_equal_together, united
from shoal.partition._shared import confidential
from shoal.progress import say
from shoal.types import Coded, Partition, Points
from shoal.types.protocols import Partitioner

LARGE = 1_000_000  #: records from which a table is partitioned in blocks, wherever it is


@dataclass(frozen=True)
class Auto(Checked, Partitioner):
    """Classes with little loss, for a cost that depends on `effort`; see ``docs/methods/auto.md``.

    One coordinate of numbers: the optimum. Otherwise MDAV, refined by annealing; from a million records on, in blocks.

    With t or other requirements: whole classes are then united until all requirements hold, as in `t_close_anneal`.
    Records with equal quasi-identifiers share a class. So someone who knows the algorithm learns no more than k allows.

    If the attacker knows only the table (``attacker="table"``), classes may depend on the confidential value of every
    record. With t: `t_first` if all confidential attributes are ranked, else `t_close_merge`. If classes must meet
    other requirements, `mdav` with repair. Either is then refined.

    What it chooses and how much it searches follows from counts alone (records, columns, k), never from a clock, so
    that the same table gets the same classes on every machine.

    **Guarantee.** That of the method taken: n ≥ k → every record in exactly one class of at least k records; with t,
    each within t of the table in every confidential attribute; with other requirements, each class meets them if the
    table as one class does.

    **Complexity.** That of `mdav`; without requirements `default` costs at most about three times as much, or two
    seconds.

    **Departures.** None: there is no paper.

    >>> points = Points(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]))
    >>> part = Auto(k=2).partition(points, np.random.default_rng(0))
    >>> part.labels.tolist(), part.note
    ([0, 1, 0, 1, 0], 'auto chose optimal_univariate: one coordinate, for which it finds the optimum')
    """

    promises_k: ClassVar[bool] = True
    searches: ClassVar[bool] = True
    promises_t: ClassVar[bool] = True
    chooses_by_key: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True  #: unless the attacker knows only the table

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    t: Annotated[
        float | None,
        Param("t-closeness: largest distance (0–1) of a class from the table.", low=0, high=1),
    ] = None
    effort: Annotated[Literal["fast", "default", "best"], Param("Effort of the search.")] = "default"
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
        key, given, reason = self._choice(points, self.effort)
        note = f"auto chose {_chosen(key, given)}: {reason}"
        say(note)
        partition = self._by(key, given).partition(points, rng)
        if self.attacker == "algorithm":
            block = partition.blocks[0]
            labels = block.labels if key == "blocks" else keep_equal_together(points.x, block.labels, self.k)
            partition = replace(partition, blocks=(replace(block, labels=labels, by_value=key == "blocks"),))
        return replace(partition, note=note)

    def sorts(self, points: Points) -> bool:
        """Tell whether the points are partitioned in blocks, in which they are sorted."""
        demanding = self.t is not None or bool(points.required) or points.subjects is not None
        return not demanding and self.attacker == "algorithm" and in_blocks(points.x)

    def _uniting(self, points: Points, rng: np.random.Generator, demands: Any) -> Partition:
        """Form classes by quasi-identifiers, then unite whole ones until all requirements hold."""
        key, given, reason = self._choice(points, self.effort)
        if self.t is not None:  # t unites several classes anyway, and those of exactly k records fit together best
            key, given = ("blocks", {"effort": "fast"}) if in_blocks(points.x) else ("mdav", {})
            reason = _size(points)
        note = f"auto chose {_chosen(key, given)}, with classes united with effort {self.effort}: {reason}"
        say(note)
        first = self._by(key, given).partition(points, rng)
        block, seed = first.blocks[0], int(rng.integers(1 << 60))
        choice = Choice(self.choices, self.key)
        labels, atoms = united(points, block.labels, self.k, self.t, self.effort, seed, choice)
        return replace(first, blocks=(replace(block, labels=labels, atoms=atoms),), note=note)

    def _demanding(self, points: Points, rng: np.random.Generator, demands: Any) -> Partition:
        """Form classes that meet the requirements, and lower their loss."""
        from shoal.kernels.models.demands import hold
        from shoal.kernels.refine.refine import CLOSE_EFFORTS
        from shoal.kernels.repair.refine import refine_close
        from shoal.kernels.repair.repair import satisfy

        key, given = self._first(points)
        note = f"auto chose {key}, refined with effort {self.effort}: {_size(points)}"
        say(note)
        first = self._by(key, given).partition(points, rng)
        block, x = first.blocks[0], points.x
        labels = block.labels if hold(demands, block.labels).all() else satisfy(x, block.labels, self.k, demands)
        seed = int(rng.integers(1 << 60))
        labels = refine_close(x, labels, self.k, demands, CLOSE_EFFORTS[self.effort], seed)
        return replace(first, blocks=(replace(block, labels=labels, atoms=None),), note=note)

    def _by(self, key: str, given: dict[str, Any]) -> Partitioner:
        made = build(registry.load("partition", key), {"k": self.k, **given})
        return replace(made, whole=self.attacker == "algorithm") if key == "blocks" else made

    def _first(self, points: Points) -> tuple[str, dict[str, Any]]:
        """Return the method whose classes are refined: one that provides t if t is given."""
        if self.t is None:
            return "mdav", {}
        if all(attribute.ranked for attribute in points.confidential):
            return "t_first", {"t": self.t}
        if points.required or points.subjects is not None:  # everything is repaired at once
            return "mdav", {}
        return "t_close_merge", {"t": self.t}

    def _choice(self, points: Points, effort: str) -> tuple[str, dict[str, Any], str]:
        """Return the method for classes without requirements, with its parameters and the reason."""
        if points.x.shape[1] == 1 and not isinstance(points.x, Coded):
            return "optimal_univariate", {}, "one coordinate, for which it finds the optimum"
        if in_blocks(points.x):
            return "blocks", {"effort": effort}, _size(points)
        return "anneal", {"effort": effort}, _size(points)


def in_blocks(x: NDArray[np.float64] | Coded, n: int | None = None) -> bool:
    """Tell whether records like these are partitioned in blocks: wherever they are, of `n` records or as many as these.

    >>> in_blocks(np.zeros((1, 2)), 1_000_000), in_blocks(np.zeros((1, 2))), in_blocks(np.zeros((1, 1)), 1_000_000)
    (True, False, False)
    """
    return (len(x) if n is None else n) >= LARGE and (isinstance(x, Coded) or x.shape[1] > 1)


def _size(points: Points) -> str:
    n, d = points.x.shape
    return f"{n:,} records of {d} {'columns' if isinstance(points.x, Coded) else 'coordinates'}"


def _chosen(key: str, given: dict[str, Any]) -> str:
    return f"{key} with effort {given['effort']}" if given else key
