"""Two releases: people who are in both, or in one of them only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.types.attack import Attempt, Case, codes, joined, numbers
from shoal.types.protocols import Attack
from shoal.types.table import Role, Table

_PIECE = 1 << 22  # distances at a time
_DECIMALS = 12


@dataclass(frozen=True)
class TwoReleases(Attack):
    """The attacker compares a release with an earlier one of an overlapping table.

    **What the attacker knows.** Both releases, and in which class of each a person is: from a register of
    quasi-identifiers. If the owners of the earlier release's rows are not known, a person is assumed to be in the class
    whose released quasi-identifiers are nearest to the person's own.

    **What the attacker does.** *Intersection*: a person's record is in both classes, so its unchanged columns have
    values that occur in both; other records of the class are ruled out. *Differencing*: if two classes differ by one
    person, the difference of their sums is that person's value. More generally, each class is an equation: its members
    add up to its size times the released value. Let the classes of both releases, and *outside*, be the vertices of a
    graph, and each person an edge between the classes that they are in. The equations determine a person's value if and
    only if their edge is a bridge, and then it is the sum of new classes less that of earlier ones on one side.

    **Learnt.** By intersection: the expected number of people whose record a uniform guess among the remaining ones
    finds. By differencing: people whose numeric quasi-identifiers are all computed exactly, of those with a bridge. The
    one that exceeds its baseline more is reported.

    **Baseline.** The newer release alone: the person's share of the class; or the released values as they are.

    References: [GKS08].
    """

    needs: ClassVar[tuple[str, ...]] = ("earlier", "rows", "quasi")
    advice: ClassVar[str] = (
        "Do not publish both: publish the same classes again, or release only new people, in "
        "classes of their own; or add noise, whose ε adds up."
    )

    def run(self, case: Case) -> Attempt:
        """Intersect classes of two releases, and solve the equations that both give."""
        if case.earlier is None:
            return Attempt.not_run(self.key, "It needs an earlier release.")
        if case.rows is None or case.truth is None:
            return Attempt.not_run(self.key, case.why_no_rows)
        if not case.quasi or not set(case.quasi) & set(case.earlier.data.column_names):
            return Attempt.not_run(self.key, "It needs quasi-identifiers that are in both releases.")
        before = case.classes_in(case.earlier)
        found = [
            *self._intersected(case, case.earlier, before),
            *([] if case.earlier_rows is None else self._differenced(case, case.earlier, before, case.earlier_rows)),
        ]
        if not found:
            return Attempt.not_run(self.key, "It needs unchanged columns in both releases, or the rows of the earlier.")
        return Attempt.worst(found)

    def _intersected(self, case: Case, earlier: Table, before: NDArray[np.int64]) -> list[Attempt]:
        quasi = set(case.original.schema.names(Role.QUASI)) | set(case.original.schema.names(Role.WEIGHT))
        same = [name for name in case.table.data.column_names if name in earlier.data.column_names]
        kept = [name for name in same if name not in quasi and name in case.original.data.column_names]
        if not kept:
            return []
        n = len(case)
        both = joined((_shared(case.table, earlier, name) for name in kept), n + len(earlier))
        links = found_links(case.classes, _earlier_class(case, earlier, before), both[:n], before, both[n:])
        alone = 1.0 / np.bincount(case.classes)[case.classes]
        what = "which record of the class is a person's, from the class in the earlier release,"
        return [Attempt.of(self.key, n, round(float(links.sum())), float(alone.sum()), what)]

    def _differenced(
        self, case: Case, earlier: Table, before: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> list[Attempt]:
        assert case.rows is not None
        names = [name for name in case.quasi if _numeric(name, case.original, case.table, earlier)]
        if not names:
            return []
        people = _People.of(case.rows, case.classes, rows, before)
        values = [(_values(case.table, name), _values(earlier, name)) for name in names]
        who, guesses = people.solved(values)
        known = who >= 0
        who, guesses = who[known], guesses[known]
        if not len(who):
            return []
        truth = np.column_stack([_values(case.original, name) for name in names])
        places = [_places(column) for column in truth.T]
        found, exact = (
            np.column_stack([np.round(column, at) for column, at in zip(side.T, places, strict=True)])
            for side in (guesses, truth[who])
        )
        shown = np.full(truth.shape, np.nan)
        shown[case.rows] = np.column_stack([new for new, _ in values])
        right = (found == exact).all(axis=1)
        guessed = (shown[who] == truth[who]).all(axis=1)
        what = "the quasi-identifiers of a person, from the difference of two classes,"
        return [Attempt.of(self.key, len(who), int(right.sum()), float(guessed.sum()), what)]


def found_links(
    labels: NDArray[np.int64],
    place: NDArray[np.int64],
    values: NDArray[np.int64],
    before: NDArray[np.int64],
    earlier: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return for each released row the probability that its owner is linked to it by intersection.

    Parameters
    ----------
    labels, values
        The class of each row, and the number of its unchanged values; shape (n,).
    place
        The class of its owner in the earlier release; −1: not there.
    before, earlier
        The class of each row of the earlier release, and the number of its unchanged values.

    >>> one, both = np.array([0, 0]), np.array([5, 7])
    >>> found_links(one, np.array([0, 1]), both, np.array([0, 1]), both).tolist()
    [1.0, 1.0]
    """
    width = int(max(values.max(initial=0), earlier.max(initial=0))) + 1
    there = np.unique(before * width + earlier)
    order = np.argsort(labels, kind="stable")
    found = np.zeros(len(labels))
    for members in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        for part in np.array_split(members, max(1, len(members) ** 2 // _PIECE)):
            fits = np.isin(place[part][:, None] * width + values[members][None, :], there)
            own = np.isin(place[part] * width + values[part], there)
            count = fits.sum(axis=1)
            found[part] = np.where(count == 0, 1.0 / len(members), own / np.maximum(count, 1))
    return found


@dataclass(frozen=True, eq=False)
class _People:
    """People as edges between their classes in two releases.

    Attributes
    ----------
    who
        The row of each person in the original; −1: not known.
    new, old
        The class of each person in the newer and in the earlier release; −1: not there.
    """

    who: NDArray[np.int64] = field(repr=False)
    new: NDArray[np.int64] = field(repr=False)
    old: NDArray[np.int64] = field(repr=False)
    first_new: NDArray[np.int64] = field(repr=False)
    first_old: NDArray[np.int64] = field(repr=False)
    sizes: tuple[NDArray[np.int64], NDArray[np.int64]] = field(repr=False)

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        labels: NDArray[np.int64],
        earlier_rows: NDArray[np.int64],
        before: NDArray[np.int64],
    ) -> _People:
        top = int(max(rows.max(initial=-1), earlier_rows.max(initial=-1))) + 1
        new, old = np.full(top, -1, np.int64), np.full(top, -1, np.int64)
        new[rows] = labels
        old[earlier_rows[earlier_rows >= 0]] = before[earlier_rows >= 0]
        strangers = before[earlier_rows < 0]
        there = np.flatnonzero((new >= 0) | (old >= 0))
        absent = np.full(len(strangers), -1, np.int64)
        return cls(
            np.concatenate([there, absent]),
            np.concatenate([new[there], absent]),
            np.concatenate([old[there], strangers]),
            np.unique(labels, return_index=True)[1],
            np.unique(before, return_index=True)[1],
            (np.bincount(labels), np.bincount(before)),
        )

    def solved(
        self, values: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the people whose values are determined, and these values; shapes (m,) and (m, d)."""
        news, olds = (len(one) for one in self.sizes)
        outside = news + olds
        ends = np.column_stack(
            [np.where(self.new >= 0, self.new, outside), np.where(self.old >= 0, self.old + news, outside)]
        )
        sums = np.zeros((outside + 1, len(values)))
        for j, (new, old) in enumerate(values):
            sums[:news, j] = self.sizes[0] * new[self.first_new]
            sums[news:outside, j] = -self.sizes[1] * old[self.first_old]
        edges, below = bridges(ends, outside, sums)
        # below: the sum of the side away from the root; its sign is that of the end on this side
        return self.who[edges], below


def bridges(
    ends: NDArray[np.int64], root: int, sums: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the bridges of a graph, and for each the sum over the side away from the root, with the sign of its end.

    Parameters
    ----------
    ends
        The two vertices of each edge, shape (m, 2); several edges may join the same two.
    root
        A vertex that no sum contains. A part without it takes any vertex as its root.
    sums
        The figures of each vertex, shape (v, d). If the end of a bridge on the far side is its second one, the sum is
        negated.

    >>> bridges(np.array([[0, 1], [0, 1], [0, 2]]), 2, np.array([[9.0], [-4.0], [0.0]]))[1].tolist()
    [[5.0]]
    """
    near: list[list[tuple[int, int]]] = [[] for _ in range(len(sums))]
    for edge, (a, b) in enumerate(ends.tolist()):
        if a != b:
            near[a].append((b, edge))
            near[b].append((a, edge))
    depth = [-1] * len(sums)
    low = [0] * len(sums)
    total = sums.copy()
    total[root] = 0.0
    found: list[tuple[int, NDArray[np.float64]]] = []
    for start in (root, *range(len(sums))):
        if depth[start] >= 0:
            continue
        depth[start] = 0
        stack = [(start, -1, iter(near[start]))]
        while stack:
            at, via, rest = stack[-1]
            for other, edge in rest:
                if edge == via:
                    continue
                if depth[other] >= 0:
                    low[at] = min(low[at], depth[other])
                    continue
                depth[other] = low[other] = depth[at] + 1
                stack.append((other, edge, iter(near[other])))
                break
            else:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    low[above] = min(low[above], low[at])
                    total[above] += total[at]
                    if low[at] > depth[above]:
                        found.append((via, total[at] if ends[via, 0] == at else -total[at]))
    edges = np.array([edge for edge, _ in found], np.int64)
    return edges, np.array([value for _, value in found]).reshape(len(found), sums.shape[1])


def _earlier_class(case: Case, earlier: Table, before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the earlier class of the owner of each released row; −1: not in the earlier release."""
    assert case.rows is not None
    assert case.truth is not None
    if case.earlier_rows is not None:
        found = np.full(len(case.original), -1, np.int64)
        known = case.earlier_rows >= 0
        found[case.earlier_rows[known]] = before[known]
        return np.asarray(found[case.rows])
    first = np.unique(before, return_index=True)[1]
    sides: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for name in case.quasi:
        if _numeric(name, case.truth, earlier):
            own = _values(case.truth, name)
            unit = float(np.nanstd(own)) or 1.0
            sides.append((own / unit, _values(earlier, name)[first] / unit))
        elif name in earlier.data.column_names:
            both = _shared(case.truth, earlier, name)
            sides.append((both[: len(case)], both[len(case) :][first]))
    pieces = np.array_split(np.arange(len(case)), max(1, len(case) * len(first) // _PIECE))
    nearest = [np.sum([_far(own[at], shown) for own, shown in sides], axis=0).argmin(axis=1) for at in pieces]
    return np.concatenate(nearest).astype(np.int64)


def _far(own: NDArray[Any], shown: NDArray[Any]) -> NDArray[np.float64]:
    """Return squared distances; categories, and a missing value and another, are 1 apart."""
    if own.dtype == np.int64:
        return np.asarray(own[:, None] != shown[None, :], np.float64)
    apart = (own[:, None] - shown[None, :]) ** 2
    return np.asarray(np.where(np.isnan(apart), np.isnan(own)[:, None] != np.isnan(shown)[None, :], apart))


def _shared(one: Table, other: Table, name: str) -> NDArray[np.int64]:
    """Return numbers for the distinct values of a column in two tables, one after the other."""
    columns = [table.data.column(name) for table in (one, other)]
    columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in columns]
    if not columns[0].type.equals(columns[1].type):
        columns = [column.cast(pa.large_string()) for column in columns]
    return codes(pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type))


def _numeric(name: str, *tables: Table) -> bool:
    return all(name in table.data.column_names and numbers(table.data.column(name)) is not None for table in tables)


def _values(table: Table, name: str) -> NDArray[np.float64]:
    found = numbers(table.data.column(name))
    assert found is not None
    return found


def _places(values: NDArray[np.float64]) -> int:
    """Return the number of decimals of the values, at most 12."""
    known = values[np.isfinite(values)]
    return next((at for at in range(_DECIMALS) if np.array_equal(np.round(known, at), known)), _DECIMALS)
