"""Repair, refinement, canonical order and certificate of a partition, after any method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.flow.plan.components import one_block, refuse_without_k
from shoal.recipe.attacker import BY_ROW
from shoal.types import Block, Certificate, Coded, Comparison, Partition, Points, changes, sort_keys
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class Improved(Partitioner):
    """A method followed by repair, refinement or both.

    **Guarantee.** Every class keeps at least k records. After a repair every class holds k different subjects where the
    points have subjects, meets every requirement on the points' confidential attributes (including t-closeness if t is
    given), and no person holds more than the allowed share, unless all records form one class. A refinement preserves
    all of that and never raises the SSE.

    Against an attacker who knows the algorithm, the order is another: the method's classes are refined by their
    quasi-identifiers alone, and are the atoms; then whole atoms are united until every requirement holds. A method that
    looks at confidential values, and yet is exchangeable, is not refined. One that is not exchangeable is repaired and
    refined record by record, as against an attacker who knows only the table.
    """

    promises_k: ClassVar[bool] = True  #: `improved` refuses a method that does not

    method: Partitioner
    t: float | None = None
    repair: bool = False
    effort: str | None = None  #: of the refinement; None: no refinement
    attacker: str = "table"  #: the attacker that classes must withstand: ``algorithm`` or ``table``

    @property
    def k(self) -> int:
        """Smallest number of records in a class."""
        return self.method.k

    def settled(self, points: Points) -> Self:
        """Let the method determine from all points what must be the same in every stratum."""
        return replace(self, method=self.method.settled(points))

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes by the method, then improve those of each block in its own coordinates."""
        first = self.method.partition(points, rng)
        if self.repair and (self.t is not None or any(one.attribute for one in points.required)):
            one_block(type(self.method), len(first.blocks))
        whole = self.attacker == "algorithm" and unites(type(self.method)) and len(first.blocks) == 1
        step = self._united if whole else self._improved
        blocks = [
            step(block, points if len(first.blocks) == 1 else points.only(block.attributes), rng)
            for block in first.blocks
        ]
        return replace(first, blocks=tuple(blocks))

    def _united(self, block: Block, points: Points, rng: np.random.Generator) -> Block:
        from shoal.kernels.refine.refine import effort_for, refine
        from shoal.partition._atoms import united

        labels = block.labels
        if self.effort is not None and not looks_at_values(type(self.method)):
            effort = effort_for(self.effort, points.x, self.k)
            labels = refine(points.x, labels, self.k, effort, int(rng.integers(1 << 60)))
        labels, atoms = united(points, labels, self.k, self.t, self.effort or "default", int(rng.integers(1 << 60)))
        return replace(block, labels=labels, atoms=atoms if block.atoms is None else block.atoms)

    def _improved(self, block: Block, points: Points, rng: np.random.Generator) -> Block:
        from shoal.kernels.models.demands import demands_of
        from shoal.kernels.refine.refine import CLOSE_EFFORTS, effort_for, refine
        from shoal.kernels.repair.refine import refine_close

        demands, block = demands_of(points, self.k, self.t), replace(block, atoms=None)  # records move one by one
        if self.repair and demands is not None:
            block = self._repaired(block, points, demands)
        block = replace(block, atoms=None)  # from here on, single records move
        if self.effort is None:
            return block
        seed = int(rng.integers(1 << 60))
        if demands is None:
            labels = refine(points.x, block.labels, self.k, effort_for(self.effort, points.x, self.k), seed)
        else:
            effort = CLOSE_EFFORTS[self.effort]
            labels = refine_close(points.x, block.labels, self.k, demands, effort, seed)
        return replace(block, labels=labels)

    def _repaired(self, block: Block, points: Points, demands: Any) -> Block:
        from shoal.kernels.closeness.merge import merge_until_close
        from shoal.kernels.repair.repair import satisfy

        if not points.required and points.subjects is None:  # [SC15] Algorithm 1
            return replace(block, labels=merge_until_close(points.x, block.labels, demands.c))
        return replace(block, labels=satisfy(points.x, block.labels, self.k, demands), promised_t=True)


def looks_at_values(method: type[Partitioner]) -> bool:
    """Tell whether a method itself looks at confidential values."""
    return method.promises_t or bool(method.promises)


def unites(method: type[Partitioner]) -> bool:
    """Tell whether classes of a method can be united so that an attacker who knows the algorithm learns nothing."""
    return method.exchangeable or not looks_at_values(method)


def improved(
    method: Partitioner, t: float | None, effort: str | None, attacker: str = "algorithm", *, more: bool
) -> Partitioner:
    """Return the method, followed by a repair if it does not meet every demand itself, and by a refinement.

    `more` says whether the points will carry requirements in addition to t.
    """
    repair = more or (t is not None and not method.promises_t)
    if repair:
        refuse_without_k(type(method), ("t", "require", "subject"))
    if effort is not None:
        refuse_without_k(type(method), ("effort",))
    return Improved(method, t, repair, effort, attacker) if repair or effort is not None else method


_KEYS = 16  # with more coordinates than this, records are compared as bytes


@dataclass(frozen=True)
class Canonical(Partitioner):
    """Sorts the points by their coordinates, lets a method partition them, and returns the classes in row order.

    **Guarantee.** If two records swap rows, so do their labels. Among records that are equal in all coordinates, the
    order of rows still decides which of them is in which class; with `by_person`, only if their people have equal
    records, too. A single block is marked as formed by value if its atoms split no such records.
    """

    method: Partitioner
    by_person: bool = False  #: whether equal records are sorted by weight and person

    @property
    def k(self) -> int:
        """Smallest number of records in a class."""
        return self.method.k

    def settled(self, points: Points) -> Self:
        """Let the method determine from all points what must be the same in every stratum."""
        return replace(self, method=self.method.settled(points))

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Partition the records, sorted by their coordinates."""
        if self.method.sorts(points):
            return self.method.partition(points, rng)
        order = by_value(sort_keys(points.x), len(points))
        if self.by_person:
            order = order[_by_person(points.rows(order))]
        inside = _in_order(points, order)
        found = self.method.partition(inside, rng)
        blocks = found.blocks
        if len(blocks) == 1:
            blocks = (replace(blocks[0], by_value=_equal_together(inside.x, blocks[0].atom_labels)),)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return replace(found, blocks=tuple(block.rows(back) for block in blocks))


def canonical(method: Partitioner, plain: Partitioner, key: str, attacker: str) -> Partitioner:
    """Make a method and its improvement independent of row order; MDAV itself stays unchanged."""
    return method if key == BY_ROW and method is plain else Canonical(method, by_person=attacker == "algorithm")


def in_order_of_values(comparison: Comparison) -> Comparison:
    """Return a comparison with its records sorted by value, before and after.

    Every measure of quasi-identifiers, including sampled ones, is then identical to the last bit when two members of a
    class swap rows in the input.
    """
    both = [*sort_keys(comparison.original), *sort_keys(comparison.masked)]
    return comparison.rows(by_value(both, len(comparison)))


def by_value(keys: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
    """Return the n rows sorted by their columns only; equal records keep their order."""
    if len(keys) <= _KEYS:
        return np.lexsort(keys[::-1]) if keys else np.arange(n)
    coordinates = np.column_stack(keys).astype(np.float64, copy=False)
    whole = np.ascontiguousarray(coordinates + 0.0).view(  # no -0.0, whose bytes differ from those of 0.0
        np.dtype((np.void, coordinates.itemsize * coordinates.shape[1]))
    )
    return np.argsort(whole[:, 0], kind="stable")


def _equal_together(ordered: NDArray[np.float64] | Coded, atoms: NDArray[np.int64]) -> bool:
    """Tell whether equal records share an atom; they must follow each other."""
    return bool(changes(ordered)[atoms[1:] != atoms[:-1]].all())


def _by_person(points: Points) -> NDArray[np.int64]:
    """Sort equal records by weight, and by the records that their person has; the points must be in order of value.

    People whose records are all equal, one by one, are interchangeable: records of either come in the same order.
    """
    if points.weights is None and points.subjects is None:
        return np.arange(len(points))
    vector = np.cumsum(np.concatenate(([False], changes(points.x))))
    weights = np.zeros(len(points)) if points.weights is None else points.weights
    if points.subjects is None:
        return np.lexsort((weights, vector))
    order = np.lexsort((weights, vector))
    kind = np.unique(np.column_stack((vector, weights)), axis=0, return_inverse=True)[1].reshape(-1)
    records: dict[int, list[int]] = {}
    for person, one in zip(points.subjects[order].tolist(), kind[order].tolist(), strict=True):
        records.setdefault(person, []).append(one)
    place = {person: at for at, person in enumerate(sorted(records, key=lambda person: records[person]))}
    return np.lexsort((np.array([place[person] for person in points.subjects.tolist()]), kind))


def _in_order(points: Points, order: NDArray[np.int64]) -> Points:
    """Return the points in another record order, with everything that methods need."""
    axes = tuple(replace(axis, places=axis.places[order]) for axis in points.axes)
    found = points.rows(order)
    return replace(found, axes=axes, subjects=None if found.subjects is None else _numbered(found.subjects))


def _numbered(subjects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return subjects numbered by first appearance."""
    _, first, own = np.unique(subjects, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[own], np.int64)


_CATEGORIES = 256  # most categories and groups of an attribute in a certificate


def _refuse_many_categories(points: Points) -> None:
    if not isinstance(points.x, Coded):
        return
    name, places = max(points.places.items(), key=lambda one: len(one[1]))
    if len(places) > _CATEGORIES:
        raise DataError(
            f"certify: a nominal column may have at most {_CATEGORIES} categories and groups; {name!r} has "
            f"{len(places):,}. Group its categories, or leave out --certify."
        )


def certify(
    tables: Sequence[Points], labels: Sequence[NDArray[np.int64]] | None, strata: NDArray[np.int64] | None, k: int
) -> Certificate:
    """Bound the SSE of tables that are partitioned separately, stratum by stratum where there are strata.

    `tables` are the blocks of attributes, `labels` the partition of each. A sum of lower bounds is a lower bound
    of the sum. Bounds need a coordinate for every category: an attribute with many of them is refused.
    """
    from shoal.kernels.arithmetic.class_statistics import classes_of
    from shoal.kernels.bound.lower_bound import Bound, lower_bound, rescaled, unit_range

    for points in tables:
        _refuse_many_categories(points)
    _, exponent = unit_range(np.concatenate([points.coordinates.ravel() for points in tables]))
    bounds: list[Bound] = []
    sst: list[float] = []
    sse: list[float] = []
    for at, points in enumerate(tables):
        whole = np.ldexp(points.coordinates, -exponent)
        sst += classes_of(whole, np.zeros(len(whole), np.int64)).costs.tolist()
        sse += [] if labels is None else classes_of(whole, labels[at]).costs.tolist()
        groups = [whole] if strata is None else [whole[strata == s] for s in range(int(strata.max()) + 1)]
        bounds += [lower_bound(group, k) for group in groups]
    how = tuple(dict.fromkeys(bound.how for bound in bounds))
    least = max(math.nextafter(math.fsum(bound.value for bound in bounds), 0.0), 0.0)
    totals = [rescaled(math.fsum(values), exponent) for values in ([least], sst, sse)]
    return Certificate(k, totals[0], how, totals[1], None if labels is None else totals[2])
