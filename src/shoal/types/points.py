"""Records as points, and the meaning of their coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from shoal.errors import DataError
from shoal.types.coded import Coded, CodedColumn

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from shoal.types.axis import Axis
    from shoal.types.table import Resolution


#: Most coordinates of points, for methods that need a coordinate for every category: 1 GiB.
MOST = 2**27


@dataclass(frozen=True, slots=True)
class Footing:
    """The scaling of a column to a coordinate: (value · 2⁻ᵉ − location) / spread; 0 if there is no spread."""

    location: float
    spread: float
    exponent: int

    def undo(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert coordinates back to values, limited to the largest float."""
        import numpy as np

        with np.errstate(over="ignore"):
            values = np.ldexp(self.location + self.spread * coordinates, self.exponent)
        return np.nan_to_num(values, copy=False)


class Placed(NamedTuple):
    """The coordinates of an attribute, and the scaling of each."""

    coordinates: NDArray[np.float64]  #: (n, c)
    footings: tuple[Footing, ...]  #: one per coordinate


#: Scaling of values in a column's own unit to one coordinate.
Scale = Callable[["NDArray[np.float64]"], Footing]


#: The value of a class of categories: one of them, the nearest node of their tree, or their common ancestor.
Categories = Literal["leaf", "node", "ancestor"]


class Attribute(Protocol):
    """An attribute of the points: made by the file of `points/` that claims its kind.

    It is either a `PlacedAttribute` or a `CodedAttribute`.
    """

    @property
    def name(self) -> str:
        """The column it came from."""

    def resolution(self, declared: float | str | None) -> Resolution:
        """Return the resolution of released values: the declared one if there is one, else the column's own.

        Raises SchemaError for one that does not fit the attribute.
        """

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        resolution: Resolution,
        categories: Categories = "leaf",
        trim: float = 0.0,
    ) -> pa.Array:
        """Return for each record the centroid of its class, rounded to a resolution; None: with all digits.

        For an attribute without a mean, `categories` selects the value of a class; others ignore it. For one with a
        mean, `trim` is the share of the class's weight that is left out at each end: ½ gives the median.
        """


@runtime_checkable
class PlacedAttribute(Attribute, Protocol):
    """An attribute with coordinates.

    The squared distance between two records in its coordinates is the attribute's own distance between their values.
    """

    def place(self, scale: Scale) -> Placed:
        """Return the coordinates of its values. Values without a unit are not scaled."""

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinates of another column with the same meaning, scaled like this one."""


@runtime_checkable
class CodedAttribute(Attribute, Protocol):
    """An attribute of categories, which points keep as codes."""

    def coded(self) -> CodedColumn:
        """Return the category of each record, and the groups that give categories their distances."""

    def beside(self, columns: Sequence[pa.ChunkedArray]) -> tuple[CodedColumn, list[NDArray[np.int32]]]:
        """Return the same, and the codes of other columns with the same meaning, which may hold other values."""


@runtime_checkable
class Numbers(PlacedAttribute, Protocol):
    """A numeric attribute: one coordinate."""

    @property
    def values(self) -> NDArray[np.float64]:
        """The column's values as numbers, before scaling."""

    def decode(self, values: NDArray[np.float64], *, resolution: Resolution) -> pa.Array:
        """Convert numbers on the scale of `values` to a column to release, rounded to a resolution."""


@runtime_checkable
class Averaged(Numbers, Protocol):
    """A numeric attribute whose class means are known with all their digits."""

    def exact_means(self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None) -> pa.DictionaryArray:
        """Return for each record the (weighted) mean of its class, with the mean of each class in memory once."""


@dataclass(frozen=True, eq=False)
class Confidential:
    """A confidential attribute as methods see it: the value of each record, and the distances between values.

    Attributes
    ----------
    name
        The column it came from.
    codes
        The value code of each record, from 0; ascending with the value if values are ordered.
    counts
        How often each value occurs in the whole table; for ordered values at least once.
    ordered
        Distances are differences of ranks. If not, all distances are equal, or given by `parents`.
    parents
        Values as leaves of a tree: for each value, then for each node above them, the number of its parent; −1 for
        the root, which is not counted. A node comes after its children, and the values below it are adjacent.
    values
        The numeric value of each code: dates in days, NaN for a missing one. None: values are not numeric.
    merged
        For each value a number that all spellings of it share, ascending; None: all values differ. Counts of values
        use this number.
    """

    name: str
    codes: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    ordered: bool = True
    parents: NDArray[np.int64] | None = field(default=None, repr=False)
    values: NDArray[np.float64] | None = field(default=None, repr=False)
    merged: NDArray[np.int64] | None = field(default=None, repr=False)

    @property
    def counted(self) -> Confidential:
        """The attribute for counting values: spellings of one value are merged."""
        if self.merged is None:
            return self
        import numpy as np

        counts = np.bincount(self.merged, weights=self.counts).astype(np.int64)
        return Confidential(self.name, self.merged[self.codes], counts, ordered=False)

    @property
    def ranked(self) -> bool:
        """Whether values have an order: their own, or that of the leaves of their tree."""
        return self.ordered or self.parents is not None

    def rows(self, positions: NDArray[np.int64]) -> Confidential:
        """Return the attribute of some records; the distribution stays that of the whole table."""
        return replace(self, codes=self.codes[positions])


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement on every class, for a confidential attribute or for people: a privacy model at its levels.

    >>> Requirement("recursive_l_diversity", "illness", (("c", 2.0), ("l", 3))).level("l")
    3
    """

    model: str  #: registry key of the model
    attribute: str  #: name of the confidential attribute; empty: it is about people
    levels: tuple[tuple[str, float], ...]  #: the model's parameters by name

    def level(self, name: str) -> float:
        """Return one of the levels."""
        return dict(self.levels)[name]


@dataclass(frozen=True, eq=False)
class Points:
    """Records as points: squared Euclidean distance is the only distance.

    Attributes
    ----------
    x
        The points as kernels take them: coordinates, float64, shape (n, d), C order, finite; or, if an attribute has
        categories, numbers and codes.
    owners
        For each coordinate the name of its attribute.
    attributes
        The meaning of the coordinates; empty for bare points.
    footings
        The scaling of each coordinate; empty for bare points.
    confidential
        Attributes that are not coordinates, but that classes must not reveal; empty if nothing is required.
    required
        Requirements on every class, other than t-closeness, for which methods have a parameter.
    subjects
        The subject number of each record, from 0, if k counts subjects; None: k counts records.
    weights
        The weight of each record in its class mean, if a person's share is bounded; None: all equal.
    widths
        The width of each coordinate's domain, if bounds were given; for methods that weigh noise. Else None.
    lows
        The lower end of each coordinate's domain, for methods whose order must not depend on the data. Else None.
    axes
        For the same purpose, where nothing may depend on the data: the domain of each attribute in linear order,
        those of categories first. Else empty.
    """

    x: NDArray[np.float64] | Coded = field(repr=False)
    owners: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = field(default=(), repr=False)
    footings: tuple[Footing, ...] = field(default=(), repr=False)
    confidential: tuple[Confidential, ...] = ()
    required: tuple[Requirement, ...] = ()
    subjects: NDArray[np.int64] | None = field(default=None, repr=False)
    widths: NDArray[np.float64] | None = None
    lows: NDArray[np.float64] | None = None
    axes: tuple[Axis, ...] = field(default=(), repr=False)
    weights: NDArray[np.float64] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """The points as coordinates, (n, d), with one for every group of categories: for methods that need them."""
        if not isinstance(self.x, Coded):
            return self.x
        self.refuse_many(len(self))
        return self.x.embedding()

    def refuse_many(self, rows: int, instead: str = "choose mdav") -> None:
        """Refuse to place `rows` points if categories would make their coordinates too many."""
        wide = max(self.places.values(), key=len)
        if rows * sum(map(len, self.places.values())) > MOST:
            raise DataError(
                f"Column {self.owners[wide[0]]!r}: its {len(wide):,} categories and groups would take "
                f"{rows * len(wide):,} coordinates; all columns may take at most {MOST:,}. Group its categories, make "
                f"it an identifier, or {instead}."
            )

    @property
    def places(self) -> dict[str, tuple[int, ...]]:
        """The coordinates of each attribute. For bare points each coordinate is an attribute, named by its number.

        >>> import numpy as np
        >>> Points(np.zeros((2, 3)), ("age", "work", "work")).places
        {'age': (0,), 'work': (1, 2)}
        """
        found: dict[str, list[int]] = {}
        for j, owner in enumerate(self.owners or map(str, range(self.coordinates.shape[1]))):
            found.setdefault(owner, []).append(j)
        return {owner: tuple(places) for owner, places in found.items()}

    def only(self, names: Sequence[str]) -> Points:
        """Return the points in the coordinates of some attributes."""
        import numpy as np

        wanted = set(names)
        chosen = sorted(j for name, places in self.places.items() if name in wanted for j in places)
        if isinstance(self.x, Coded):
            x = self.x.only([name in wanted for name in self._summands])
        else:
            x = self.x if len(chosen) == self.x.shape[1] else np.ascontiguousarray(self.x[:, chosen])
        return Points(
            x,
            tuple(self.owners[j] for j in chosen) if self.owners else (),
            tuple(a for a in self.attributes if a.name in wanted),
            tuple(self.footings[j] for j in chosen) if self.footings else (),
            self.confidential,
            self.required,
            self.subjects,
            None if self.widths is None else self.widths[chosen],
            None if self.lows is None else self.lows[chosen],
            tuple(axis for axis in self.axes if axis.name in wanted),
            self.weights,
        )

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The coordinates of attributes other than categories, (n, p)."""
        return self.x.numbers if isinstance(self.x, Coded) else self.x

    def column_of(self, name: str) -> int:
        """Return the first column in `numbers` of an attribute that is not coded."""
        if not isinstance(self.x, Coded):
            return self.places[name][0]
        places = zip(self._summands, self.x.layout.order.tolist(), strict=True)
        return int(next(place for owner, place in places if owner == name))

    def with_numbers(self, numbers: NDArray[np.float64]) -> Points:
        """Return the points with other numbers."""
        return replace(self, x=replace(self.x, numbers=numbers) if isinstance(self.x, Coded) else numbers)

    @property
    def _summands(self) -> list[str]:
        """The attribute of each summand of a distance; coded attributes have one each."""
        assert isinstance(self.x, Coded)
        found, j = [], 0
        for place in self.x.layout.order.tolist():
            found.append(self.owners[j])
            j += 1 if place >= 0 else self.x.column(~place).edges
        return found

    def rows(self, positions: NDArray[np.int64]) -> Points:
        """Return the bare points of some records."""
        import numpy as np

        inside = tuple(attribute.rows(positions) for attribute in self.confidential)
        return Points(
            self.x[positions] if isinstance(self.x, Coded) else np.ascontiguousarray(self.x[positions]),
            self.owners,
            confidential=inside,
            required=self.required,
            subjects=None if self.subjects is None else self.subjects[positions],
            widths=self.widths,
            lows=self.lows,
            weights=None if self.weights is None else self.weights[positions],
        )
