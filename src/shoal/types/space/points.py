"""Records as points, and what their coordinates stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from shoal.types.data.table import Resolution
    from shoal.types.space.axis import Axis


@dataclass(frozen=True, slots=True)
class Footing:
    """How a column's values became a coordinate: (value · 2⁻ᵉ − location) / spread; 0 where there is no spread."""

    location: float
    spread: float
    exponent: int

    def undo(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of coordinates. What lies beyond the largest float becomes the largest."""
        import numpy as np

        with np.errstate(over="ignore"):
            values = np.ldexp(self.location + self.spread * coordinates, self.exponent)
        return np.nan_to_num(values, copy=False)


class Placed(NamedTuple):
    """The coordinates of an attribute, and how each was scaled."""

    coordinates: NDArray[np.float64]  #: (n, c)
    footings: tuple[Footing, ...]  #: one for each coordinate


#: How values in a column's own unit become one coordinate.
Scale = Callable[["NDArray[np.float64]"], Footing]


#: What stands for a class of categories: one of them, the nearest node of their tree, or what is true of all.
Categories = Literal["leaf", "node", "ancestor"]


class Attribute(Protocol):
    """An attribute of the points: made by the file of `points/` that claims its kind.

    The squared distance between two records in its coordinates is the attribute's own distance between their values.
    """

    @property
    def name(self) -> str:
        """The column it came from."""

    def place(self, scale: Scale) -> Placed:
        """Return the coordinates of its values. What has no unit of its own is not scaled."""

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinates of another column of the same meaning, on the footing of this one as it is placed."""

    def resolution(self, declared: float | str | None) -> Resolution:
        """Return the resolution to release at: the declared one if there is one, else the column's own.

        Raises SchemaError for one that does not fit the attribute.
        """

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        resolution: Resolution,
        categories: Categories = "leaf",
    ) -> pa.Array:
        """Return for each record the centroid of its class, rounded to a resolution; None: with all digits.

        What has no mean says with `categories` what stands for a class; others take no notice of it.
        """


@runtime_checkable
class Numbers(Attribute, Protocol):
    """An attribute whose values are numbers: one coordinate."""

    @property
    def values(self) -> NDArray[np.float64]:
        """The column's values as numbers, before scaling."""

    def decode(self, values: NDArray[np.float64], *, resolution: Resolution) -> pa.Array:
        """Return numbers on the footing of `values` as a column to release, rounded to a resolution."""


@dataclass(frozen=True, eq=False)
class Confidential:
    """A confidential attribute as methods see it: which value each record has, and how far values are apart.

    Attributes
    ----------
    name
        The column it came from.
    codes
        The number of the value of each record, from 0; ascending with the value if values are ordered.
    counts
        How often each value occurs in the whole table; of ordered ones each at least once.
    ordered
        Values are as far apart as their ranks. If not, all are equally far apart, or as far as `parents` says.
    parents
        Values as leaves of a tree: for each value, then for each node above them, the number of the node that it hangs
        on; −1 for the root, which is not counted. A node stands after those that hang on it, and the values below it
        are neighbours.
    values
        The number that each value is: dates in days, NaN for a missing one. None: values are no numbers.
    alike
        For each value a number that spellings of one value share, ascending; None: no two values are one. Where values
        are counted they are counted by it.
    """

    name: str
    codes: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    ordered: bool = True
    parents: NDArray[np.int64] | None = field(default=None, repr=False)
    values: NDArray[np.float64] | None = field(default=None, repr=False)
    alike: NDArray[np.int64] | None = field(default=None, repr=False)

    @property
    def counted(self) -> Confidential:
        """The attribute as its values are counted: spellings of one value are one."""
        if self.alike is None:
            return self
        import numpy as np

        counts = np.bincount(self.alike, weights=self.counts).astype(np.int64)
        return Confidential(self.name, self.alike[self.codes], counts, ordered=False)

    @property
    def ranked(self) -> bool:
        """Whether values have an order: their own, or that of the leaves of their tree."""
        return self.ordered or self.parents is not None

    def rows(self, positions: NDArray[np.int64]) -> Confidential:
        """Return the attribute of some records; the distribution stays that of the whole table."""
        return replace(self, codes=self.codes[positions])


@dataclass(frozen=True, slots=True)
class Requirement:
    """What every class must hold in a confidential attribute, or of persons: a privacy model at its levels.

    >>> Requirement("recursive_l_diversity", "illness", (("c", 2.0), ("l", 3))).level("l")
    3
    """

    model: str  #: registry key of the model
    attribute: str  #: name of the confidential attribute; empty: it is about persons
    levels: tuple[tuple[str, float], ...]  #: the model's parameters by name

    def level(self, name: str) -> float:
        """Return one of the levels."""
        return dict(self.levels)[name]


@dataclass(frozen=True, eq=False)
class Points:
    """Records as points: squared Euclidean distance is the only distance.

    Attributes
    ----------
    coordinates
        float64, shape (n, d), C order, finite.
    owners
        For each coordinate the name of the attribute it came from.
    attributes
        What the coordinates stand for; empty for bare points.
    footings
        How each coordinate was scaled; empty for bare points.
    confidential
        Attributes that are no coordinates, but that classes must not give away; empty if nobody asked for that.
    required
        What every class must hold in them, besides t-closeness, which methods have a parameter for.
    subjects
        The number of the subject of each record, from 0, where k counts subjects; None: k counts records.
    weights
        What each record weighs in the mean of its class, where the share of a person is bounded; None: all the same.
    widths
        How wide the domain of each coordinate is, where somebody gave bounds; for methods that weigh noise. Else None.
    lows
        Where the domain of each coordinate begins, for methods whose order must not depend on the data. Else None.
    axes
        For the same, where the data must not matter at all: the domain of each attribute in a line, those of
        categories first. Else empty.
    """

    coordinates: NDArray[np.float64] = field(repr=False)
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
        return int(self.coordinates.shape[0])

    @property
    def places(self) -> dict[str, tuple[int, ...]]:
        """Where each attribute's coordinates are. Of bare points each coordinate is an attribute, named by its number.

        >>> import numpy as np
        >>> Points(np.zeros((2, 3)), ("age", "work", "work")).places
        {'age': (0,), 'work': (1, 2)}
        """
        found: dict[str, tuple[int, ...]] = {}
        for j, owner in enumerate(self.owners or map(str, range(self.coordinates.shape[1]))):
            found[owner] = (*found.get(owner, ()), j)
        return found

    def only(self, names: Sequence[str]) -> Points:
        """Return the points in the coordinates of some attributes."""
        import numpy as np

        wanted = set(names)
        chosen = sorted(j for name, places in self.places.items() if name in wanted for j in places)
        return Points(
            np.ascontiguousarray(self.coordinates[:, chosen]),
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

    def rows(self, positions: NDArray[np.int64]) -> Points:
        """Return the bare points of some records."""
        import numpy as np

        inside = tuple(attribute.rows(positions) for attribute in self.confidential)
        return Points(
            np.ascontiguousarray(self.coordinates[positions]),
            self.owners,
            confidential=inside,
            required=self.required,
            subjects=None if self.subjects is None else self.subjects[positions],
            widths=self.widths,
            lows=self.lows,
            weights=None if self.weights is None else self.weights[positions],
        )
