"""Records with categories as codes, and the groups that give categories their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CodedColumn(NamedTuple):
    """One column of categories, numbered so that every group of them holds consecutive numbers.

    A taxonomy of height H has H levels: two categories whose lowest common group has height h share a group from level
    h on, and their distance is h / H. At level 0 every category is a group of its own. Consecutive levels with the same
    groups are stored once.

    In a released table, a group may stand for its categories. It then has a code, next to theirs, and no group at the
    levels below its own height: the range from `low` to `high` is empty. Each such level counts half.
    """

    codes: NDArray[np.int32]  #: (n,) the category of each record
    low: NDArray[np.int32]  #: (levels, categories) first category of the group of each category
    high: NDArray[np.int32]  #: (levels, categories) one past the last
    times: NDArray[np.int64]  #: (levels,) number of levels that each row of `low` stands for; their sum is H

    @property
    def edges(self) -> int:
        """Number of different groups: the coordinates of the column if it had coordinates."""
        return len(self.ranges()[0])

    def ranges(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the different groups, (groups, 2), as first category and one past the last, and the levels of each."""
        import numpy as np

        if len(self.times) == 1:
            return np.stack((self.low[0], self.high[0]), axis=1), np.full(self.low.shape[1], self.times[0])
        both = np.stack((self.low, self.high), axis=2)  # (levels, categories, 2)
        groups = [np.unique(level, axis=0) for level in both]
        levels = np.repeat(self.times, [len(one) for one in groups])
        found, where = np.unique(np.concatenate(groups), axis=0, return_inverse=True)
        return found, np.bincount(where.reshape(-1), weights=levels, minlength=len(found)).astype(np.int64)


class Layout(NamedTuple):
    """Attributes in the order of the recipe, and the groups of the coded ones, as flat arrays for kernels."""

    order: NDArray[np.int64]  #: for each summand of a distance: the column j of numbers, or ~a for coded attribute a
    start: NDArray[np.int64]  #: (a + 1,) position of each attribute's categories among the categories of all
    level: NDArray[np.int64]  #: (a + 1,) first level of each attribute
    at: NDArray[np.int64]  #: (levels + 1,) position of each level in `low` and `high`
    times: NDArray[np.int64]  #: (levels,)
    height: NDArray[np.int64]  #: (a,) sum of its `times`
    weight: NDArray[np.float64]  #: (a,) largest distance of two categories
    low: NDArray[np.int32]  #: by level and category: first category of its group
    high: NDArray[np.int32]  #: one past the last


@dataclass(frozen=True, eq=False)
class Coded:
    """Records as points, some of whose attributes are categories.

    The squared distance of two records is the sum, attribute by attribute in the order of the recipe, of squared
    differences of numbers and of distances of categories: the weight of the attribute times h / H.

    >>> import numpy as np
    >>> work = CodedColumn(*(np.array(a, np.int32) for a in ([0, 1, 0], [[0, 1]], [[1, 2]])), np.array([1]))
    >>> x = coded([np.array([[0.0], [3.0], [4.0]]), (work, 2.0)])
    >>> len(x), x.shape, x[np.array([1])].codes.tolist()
    (3, (3, 2), [[1]])
    >>> e = x.embedding()
    >>> float(((e[0] - e[1]) ** 2).sum().round(12)), float(((e[0] - e[2]) ** 2).sum().round(12))
    (11.0, 16.0)
    """

    numbers: NDArray[np.float64] = field(repr=False)  #: (n, p) coordinates, C order, finite
    codes: NDArray[np.int32] = field(repr=False)  #: (n, a) categories, C order
    layout: Layout = field(repr=False)

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of records, and of columns."""
        return len(self), int(self.numbers.shape[1] + self.codes.shape[1])

    def __getitem__(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Coded:
        """Return some of the records."""
        import numpy as np

        return Coded(np.ascontiguousarray(self.numbers[rows]), np.ascontiguousarray(self.codes[rows]), self.layout)

    def column(self, a: int) -> CodedColumn:
        """Return one coded attribute."""
        g = self.layout
        begin, end = int(g.level[a]), int(g.level[a + 1])
        shape = (end - begin, int(g.start[a + 1] - g.start[a]))
        inside = slice(int(g.at[begin]), int(g.at[end]))
        return CodedColumn(
            self.codes[:, a], g.low[inside].reshape(shape), g.high[inside].reshape(shape), g.times[begin:end]
        )

    def only(self, wanted: Sequence[bool]) -> Coded | NDArray[np.float64]:
        """Return the records in some summands of their distances; as coordinates if none of them is coded."""
        import numpy as np

        kept = [place for place, one in zip(self.layout.order.tolist(), wanted, strict=True) if one]
        if not any(place < 0 for place in kept):
            return np.ascontiguousarray(self.numbers[:, kept])
        return coded(
            [
                self.numbers[:, place : place + 1] if place >= 0 else (self.column(~place), self.layout.weight[~place])
                for place in kept
            ]
        )

    def beside(self, coordinates: NDArray[np.float64]) -> Coded:
        """Return the records with further numbers, which come last."""
        import numpy as np

        p = self.numbers.shape[1]
        order = np.concatenate((self.layout.order, np.arange(p, p + coordinates.shape[1])))
        numbers = np.ascontiguousarray(np.column_stack((self.numbers, coordinates)))
        return Coded(numbers, self.codes, self.layout._replace(order=order))

    def embedding(self) -> NDArray[np.float64]:
        """Return all records as coordinates, (n, d): one for each number, and for each group of categories.

        It has a column for every category: only for methods that need coordinates.
        """
        import numpy as np

        parts: list[NDArray[np.float64]] = []
        for place in self.layout.order.tolist():
            if place >= 0:
                parts.append(self.numbers[:, place : place + 1])
                continue
            one = self.column(~place)
            groups, levels = one.ranges()
            inside = (one.codes[:, None] >= groups[:, 0]) & (one.codes[:, None] < groups[:, 1])
            parts.append(inside * np.sqrt(self.layout.weight[~place] * levels / (2.0 * self.layout.height[~place])))
        return np.ascontiguousarray(np.column_stack(parts))

    def distances(self, other: Coded) -> NDArray[np.float64]:
        """Return the squared distances from the records of another table with the same groups: (n, summands)."""
        import numpy as np

        found = np.empty((len(self), len(self.layout.order)))
        for at, place in enumerate(self.layout.order.tolist()):
            if place >= 0:
                found[:, at] = (self.numbers[:, place] - other.numbers[:, place]) ** 2
                continue
            one, its = self.column(~place), other.codes[:, ~place]
            twice = np.zeros(len(self), np.int64)
            for low, high, times in zip(one.low, one.high, one.times.tolist(), strict=True):
                inside = high > low
                same = (low[one.codes] == low[its]) & inside[its]
                here = 2 - 2 * same if inside.all() else inside[one.codes].astype(np.int64) + inside[its] - 2 * same
                twice += times * here
            found[:, at] = self.layout.weight[~place] * twice / float(2 * self.layout.height[~place])
        return found

    def means(self, a: int, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean of each class in the embedding of a coded attribute, from category counts: (classes, d)."""
        import numpy as np

        one, classes = self.column(a), int(labels.max(initial=-1)) + 1
        c = one.low.shape[1]
        counts = np.zeros((classes, c + 1), np.int64)
        counts[:, 1:] = np.bincount(labels * c + one.codes, minlength=classes * c).reshape(classes, c)
        before = np.cumsum(counts, axis=1)
        groups, levels = one.ranges()
        inside = before[:, groups[:, 1]] - before[:, groups[:, 0]]
        each = np.sqrt(self.layout.weight[a] * levels / (2.0 * self.layout.height[a]))
        return np.asarray(inside / before[:, -1:] * each, np.float64)

    def from_means(
        self, a: int, labels: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the squared distance of each record from the (weighted) mean of its class, in a coded attribute.

        If all weights of a class are 0, its records count equally.
        """
        import numpy as np

        one, found = self.column(a), np.empty(len(self))
        order = np.arange(len(self)) if weights is None else np.argsort(weights, kind="stable")
        labels, codes = labels[order], one.codes[order]  # sums must not depend on the order of rows
        share = np.ones(len(self)) if weights is None else weights[order]
        share = np.where(np.bincount(labels, weights=share)[labels] > 0, share, 1.0)
        whole, total = np.bincount(labels, weights=share), np.zeros(len(self))
        for low, times in zip(one.low, one.times.tolist(), strict=True):
            cells, own = np.unique(labels * low.shape[0] + low[codes], return_inverse=True)
            of, own = cells // low.shape[0], own.reshape(-1)
            part = np.bincount(own, weights=share) / whole[of]
            squares = np.bincount(of, weights=part * part, minlength=len(whole))
            total += times * (1.0 - 2.0 * part[own] + squares[labels])
        found[order] = self.layout.weight[a] * np.maximum(total, 0.0) / (2.0 * float(self.layout.height[a]))
        return found

    def variation(self, a: int, times: NDArray[np.int64] | None = None) -> float:
        """Return the sum of squared distances of a coded attribute from its mean, from the sizes of groups.

        `times` tells how many records each one stands for; None: itself.
        """
        import numpy as np

        one, n, total = self.column(a), len(self) if times is None else int(times.sum()), 0
        counts = np.bincount(one.codes, times, minlength=one.low.shape[1]).astype(np.int64)  # below 2⁵³
        for low, high, levels in zip(one.low, one.high, one.times.tolist(), strict=True):
            inside = high > low
            sizes = np.zeros(len(counts), np.int64)
            np.add.at(sizes, low[inside], counts[inside])
            total += levels * (n * int(sizes.sum()) - sum(size * size for size in sizes.tolist()))
        return float(self.layout.weight[a]) * total / (2 * int(self.layout.height[a]) * max(n, 1))

    def sort_keys(self) -> list[NDArray[np.float64] | NDArray[np.int32]]:
        """Return the columns in order, for sorting records by value."""
        return [self.numbers[:, at] if at >= 0 else self.codes[:, ~at] for at in self.layout.order.tolist()]


def distances(x: NDArray[np.float64] | Coded, y: NDArray[np.float64] | Coded) -> NDArray[np.float64]:
    """Return the squared distances of two tables row by row: (n, summands)."""
    if isinstance(x, Coded) and isinstance(y, Coded):
        return x.distances(y)
    assert not isinstance(x, Coded)
    assert not isinstance(y, Coded)
    return (x - y) ** 2


def sort_keys(x: NDArray[np.float64] | Coded) -> list[NDArray[np.float64] | NDArray[np.int32]]:
    """Return the columns in order, for sorting records by value."""
    return x.sort_keys() if isinstance(x, Coded) else list(x.T)


def changes(x: NDArray[np.float64] | Coded) -> NDArray[np.bool_]:
    """Tell for each record but the first whether it differs from the one before."""
    import numpy as np

    keys = sort_keys(x)
    return np.logical_or.reduce([key[1:] != key[:-1] for key in keys]) if keys else np.zeros(max(len(x) - 1, 0), bool)


def some_of(x: NDArray[np.float64] | Coded, places: Sequence[int]) -> NDArray[np.float64] | Coded:
    """Return the records in some summands of their distances."""
    import numpy as np

    if isinstance(x, Coded):
        wanted = set(places)
        return x.only([at in wanted for at in range(len(x.layout.order))])
    return np.ascontiguousarray(x[:, list(places)])


def stacked(parts: Sequence[NDArray[np.float64] | tuple[CodedColumn, float]]) -> NDArray[np.float64] | Coded:
    """Return records from their attributes: as coordinates if none of them is coded."""

    numbers = [part for part in parts if not isinstance(part, tuple)]
    return side_by_side(numbers) if len(numbers) == len(parts) else coded(parts)


def side_by_side(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return columns as one table in C order, filled in pieces that a fast cache holds.

    >>> import numpy as np
    >>> side_by_side([np.array([[1.0], [2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]])]).tolist()
    [[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]]
    """
    import numpy as np

    n, d = len(columns[0]), sum(one.shape[1] for one in columns)
    found = np.empty((n, d))
    for begin in range(0, n, _PIECE):
        rows, at = slice(begin, begin + _PIECE), 0
        for one in columns:
            found[rows, at : at + one.shape[1]] = one[rows]
            at += one.shape[1]
    return found


_PIECE = 4_096  # rows that are filled at a time


def coded(parts: Sequence[NDArray[np.float64] | tuple[CodedColumn, float]]) -> Coded:
    """Return records from their attributes in order: coordinates, or a column of categories and its weight."""
    import numpy as np

    order: list[int] = []
    numbers: list[NDArray[np.float64]] = []
    columns: list[tuple[CodedColumn, float]] = []
    p = 0
    for part in parts:
        if isinstance(part, tuple):
            order.append(~len(columns))
            columns.append(part)
        else:
            order += range(p, p + part.shape[1])
            numbers.append(part)
            p += part.shape[1]
    n = len(columns[0][0].codes)
    levels = [len(one.times) for one, _ in columns]
    sizes = [one.low.shape[1] for one, _ in columns]
    layout = Layout(
        np.array(order, np.int64),
        np.cumsum([0, *sizes]),
        np.cumsum([0, *levels]),
        np.cumsum([0, *np.repeat(sizes, levels)]),
        np.concatenate([one.times for one, _ in columns]),
        np.array([one.times.sum() for one, _ in columns], np.int64),
        np.array([weight for _, weight in columns], np.float64),
        np.concatenate([one.low.ravel() for one, _ in columns]),
        np.concatenate([one.high.ravel() for one, _ in columns]),
    )
    return Coded(
        np.ascontiguousarray(np.column_stack(numbers)) if numbers else np.zeros((n, 0)),
        np.ascontiguousarray(np.column_stack([one.codes for one, _ in columns])),
        layout,
    )
