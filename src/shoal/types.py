"""The small frozen values that flow from room to room, from Schema to Reading.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings → Report``

Rows are positions, never index labels. Only numpy is needed to import this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from shoal.errors import SchemaError, listing

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


class Role(StrEnum):
    """What a column is for."""

    IDENTIFIER = "identifier"  #: names a person or company; does not leave
    QUASI = "quasi"  #: known to an intruder from elsewhere; leaves as the value of its class
    CONFIDENTIAL = "confidential"  #: what must not be learnt about somebody; leaves as it is
    OTHER = "other"  #: neither; leaves as it is
    SUBJECT = "subject"  #: whom the record is about, where one subject has several records; does not leave
    WEIGHT = "weight"  #: the sampling weight of the record; leaves as it is
    STRATA = "strata"  #: classes never cross its values; leaves as it is

    @property
    def leaves(self) -> bool:
        """Whether a column of this role is part of the output."""
        return self not in (Role.IDENTIFIER, Role.SUBJECT)


class Kind(StrEnum):
    """What the values of a column are."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"
    DATETIME = "datetime"


@dataclass(frozen=True)
class Taxonomy:
    """Values as the leaves of a tree.

    >>> Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("stomach",)}).height
    2
    """

    paths: Mapping[str, tuple[str, ...]] = field(repr=False)  #: for each leaf the nodes above it, the root left out

    @property
    def height(self) -> int:
        """The number of steps from the farthest leaf up to the root."""
        return 1 + max(map(len, self.paths.values()), default=0)

    def __hash__(self) -> int:
        return hash(frozenset(self.paths.items()))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, what it is for, what its values are, and what is above them."""

    name: str
    role: Role
    kind: Kind
    taxonomy: Taxonomy | None = None


@dataclass(frozen=True)
class Schema:
    """What every column of a table means, in the table's column order."""

    columns: tuple[Column, ...]

    def names(self, *roles: Role) -> tuple[str, ...]:
        """Return the names of the columns of these roles (of all, if none is given), in column order."""
        return tuple(c.name for c in self.columns if not roles or c.role in roles)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, name: str) -> Column:
        """Return the column of that name."""
        if name not in self._by_name:
            raise SchemaError(
                f"Schema: no column is called {name!r}; there are {listing(self.names())}. Check the spelling."
            )
        return self._by_name[name]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file writes its cells. A table that did not come from a text file has none."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    decimal: str = "."
    newline: str = "\n"
    missing: tuple[str, ...] = ()  #: cells that stand for "no value", besides the empty one
    datetime: str | None = None  #: strptime format of dates and times; None: ISO 8601
    moment: str = "T"  #: what stands between date and time in ISO 8601


def with_columns(data: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """Return a table with some of its columns replaced, in the same order, and what was noted of them.

    What pandas notes goes: it names all columns that there ever were.
    """
    import pyarrow as pa

    fresh = [columns.get(name, data.column(j)) for j, name in enumerate(data.column_names)]
    fields = [field.with_type(column.type) for field, column in zip(data.schema, fresh, strict=True)]
    notes = {key: value for key, value in (data.schema.metadata or {}).items() if key != b"pandas"}
    return pa.Table.from_arrays(fresh, schema=pa.schema(fields, metadata=notes or None))


@dataclass(frozen=True, eq=False)
class Table:
    """Columns in Arrow with their schema. With a dialect, columns of text are cells as the file wrote them."""

    data: pa.Table = field(repr=False)  # a repr must never show a cell
    schema: Schema
    dialect: Dialect | None = None

    def __len__(self) -> int:
        return int(self.data.num_rows)


class Attribute(Protocol):
    """An attribute of the points: made by the file of `points/` that claims its kind."""

    @property
    def name(self) -> str:
        """The column it came from."""

    @property
    def values(self) -> NDArray[np.float64]:
        """The column's values as numbers, before scaling."""

    def like(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the values of another column of the same meaning, on the same footing."""

    def centroid(self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None, *, whole: bool) -> pa.Array:
        """Return for each record the centroid of its class; integers rounded if `whole`."""

    def decode(self, values: NDArray[np.float64], *, whole: bool) -> pa.Array:
        """Return numbers on the footing of `values` as a column that can leave; integers rounded if `whole`."""


class Columns(Protocol):
    """The columns of a table, for what steers a partition by them."""

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the values of a column of numbers or dates."""

    def categories(self, name: str) -> NDArray[np.int64]:
        """Return a number for each different value of a column, from 0."""


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


@dataclass(frozen=True, eq=False)
class Confidential:
    """A confidential attribute as t-closeness sees it: which value each record has, and how far values are apart.

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
    """

    name: str
    codes: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    ordered: bool = True
    parents: NDArray[np.int64] | None = field(default=None, repr=False)

    @property
    def ranked(self) -> bool:
        """Whether values have an order: their own, or that of the leaves of their tree."""
        return self.ordered or self.parents is not None

    def rows(self, positions: NDArray[np.int64]) -> Confidential:
        """Return the attribute of some records; the distribution stays that of the whole table."""
        return replace(self, codes=self.codes[positions])


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
    """

    coordinates: NDArray[np.float64] = field(repr=False)
    owners: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = field(default=(), repr=False)
    footings: tuple[Footing, ...] = field(default=(), repr=False)
    confidential: tuple[Confidential, ...] = ()

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
        )

    def rows(self, positions: NDArray[np.int64]) -> Points:
        """Return the bare points of some records."""
        import numpy as np

        inside = tuple(attribute.rows(positions) for attribute in self.confidential)
        return Points(np.ascontiguousarray(self.coordinates[positions]), self.owners, confidential=inside)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Original and masked records on the same footing: standardised by the original's mean and deviation."""

    original: NDArray[np.float64] = field(repr=False)
    masked: NDArray[np.float64] = field(repr=False)
    attributes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes that are partitioned together, and the class of every record with respect to them.

    Attributes
    ----------
    attributes
        Their names; of bare points the numbers of the coordinates, or nothing where there is one block.
    labels
        The class of every record.
    promised
        Whether every class has at least k records, whatever the points are. It is audited if so, and said if not.
    values
        Coordinates to release, in the order of the points' coordinates, in place of the means of the classes.
    note
        What somebody who sees the audit must know of the block.
    promised_t
        Whether every class is within t of the table, where t is asked for. It is audited if so, and said if not.
    """

    attributes: tuple[str, ...]
    labels: NDArray[np.int64] = field(repr=False)
    promised: bool = True
    values: NDArray[np.float64] | None = field(default=None, repr=False)
    note: str = ""
    promised_t: bool = True

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records of each class."""
        import numpy as np

        return np.bincount(self.labels).astype(np.int64)

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False)
class Partition:
    """Which records share a class: one block of attributes, or several disjoint blocks each on its own.

    >>> import numpy as np
    >>> part = Partition.of(np.array([0, 0, 1, 1, 1]))
    >>> len(part), part.sizes.tolist()
    (2, [2, 3])
    """

    blocks: tuple[Block, ...]
    note: str = ""  #: what the user should know of how it came about

    @classmethod
    def of(cls, labels: NDArray[np.int64], attributes: Sequence[str] = ()) -> Partition:
        """Return the partition of one block."""
        return cls((Block(tuple(attributes), labels),))

    @classmethod
    def joined(cls, parts: Sequence[Partition], rows: Sequence[NDArray[np.int64]]) -> Partition:
        """Return the partition whose parts are those of disjoint sets of rows, which must have the same blocks."""
        import numpy as np

        blocks = []
        for pieces in zip(*(part.blocks for part in parts), strict=True):
            first, n = pieces[0], sum(map(len, rows))
            labels, classes = np.empty(n, np.int64), 0
            values = None if first.values is None else np.empty((n, first.values.shape[1]))
            for piece, where in zip(pieces, rows, strict=True):
                if piece.attributes != first.attributes:
                    raise ValueError("parts of a partition must have the same blocks")
                labels[where] = piece.labels + classes
                classes += len(piece)
                if values is not None:
                    values[where] = piece.values
            notes = dict.fromkeys(piece.note for piece in pieces if piece.note)
            promised, close = (all(getattr(piece, name) for piece in pieces) for name in ("promised", "promised_t"))
            blocks.append(Block(first.attributes, labels, promised, values, "; ".join(notes), close))
        return cls(tuple(blocks), "; ".join(dict.fromkeys(part.note for part in parts if part.note)))

    @cached_property
    def _all(self) -> Block:
        """The classes over all blocks: records that share a class in every one of them."""
        import numpy as np

        if len(self.blocks) == 1:
            return self.blocks[0]
        labels = self.blocks[0].labels
        for block in self.blocks[1:]:
            labels = np.unique(labels * len(block) + block.labels, return_inverse=True)[1].astype(np.int64)
        return Block(tuple(name for block in self.blocks for name in block.attributes), labels)

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of every record; with several blocks, records that are together in all of them."""
        return self._all.labels

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records of each class."""
        return self._all.sizes

    def __len__(self) -> int:
        return len(self._all)


@dataclass(frozen=True, eq=False)
class Release:
    """A table as it will leave: identifiers gone, quasi-identifiers replaced class by class."""

    data: pa.Table = field(repr=False)
    schema: Schema  #: of the columns that leave
    dialect: Dialect | None = None
    subjects: pa.ChunkedArray | None = field(
        default=None, repr=False
    )  #: whom each row is about; for the audit, does not leave
    read: Mapping[str, pa.ChunkedArray] = field(
        default_factory=dict, repr=False
    )  #: cells of text read as values, for the audits that look at values

    def values(self, name: str) -> pa.ChunkedArray:
        """Return the values of a column, read where it is written as text."""
        return self.read.get(name, self.data.column(name))


@dataclass(frozen=True, slots=True)
class Finding:
    """What an audit found of one privacy model.

    Attributes
    ----------
    model
        Key of the model, for example ``k_anonymity``.
    attributes
        The columns that were looked at.
    achieved
        The level that really holds.
    required
        The level that was promised; None if the finding is for information.
    holds
        Whether what was required is achieved; True if nothing was.
    classes
        Number of equivalence classes.
    worst
        The worst classes: (number of the class in order of its first row, level).
    note
        What the reader must know to read it rightly.
    promised
        False: whatever was found, the method that made the release does not promise it.
    confidential
        The confidential column that was looked at, for a model that looks at one.
    short
        The short name of the level, as in ``--require``.
    given
        What the level is for, where a model has more than one number: (name, value).
    """

    model: str
    attributes: tuple[str, ...]
    achieved: float
    required: float | None
    holds: bool
    classes: int
    worst: tuple[tuple[int, float], ...] = ()
    note: str = ""
    promised: bool = True
    confidential: str | None = None
    short: str = ""
    given: tuple[tuple[str, float], ...] = ()

    @property
    def subject(self) -> str:
        """What it is about, in words: ``k_anonymity over age``, ``t_closeness of pay over age``."""
        of = "" if self.confidential is None else f" of {self.confidential}"
        return f"{self.model}{of} over {listing(self.attributes)}"

    @property
    def levels(self) -> tuple[str, str]:
        """What is required and what is achieved, rounded for people, but never so that a failure looks like success."""
        achieved = f"{self.achieved:.4g}" if isinstance(self.achieved, float) else f"{self.achieved:g}"
        if self.required is None:
            return "—", achieved
        required = f"{self.required:g}"
        seen = (float(achieved) - float(required)) * (self.achieved - self.required) > 0
        return (required, achieved) if self.holds or seen else (repr(self.required), repr(self.achieved))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, as in the JSON of ``shoal audit``."""
        return {
            "model": self.model,
            "attributes": list(self.attributes),
            **({} if self.confidential is None else {"confidential": self.confidential}),
            **dict(self.given),
            "required": self.required,
            "achieved": self.achieved,
            "holds": self.holds,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Reading:
    """What a measure read: the value, which way is better, and the range it can take."""

    measure: str
    value: float
    goal: str  #: "low" or "high"
    range: tuple[float, float]
    attributes: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class Audit:
    """What the independent audit found in a table as it is, or as it will be, written."""

    records: int
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    overall: Finding  #: of k-anonymity over all quasi-identifiers, required or not
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether everything that was required holds."""
        return all(finding.holds for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values, as in the JSON of ``shoal audit``."""
        unpromised = [f.to_dict() for f in self.findings if not f.promised]
        return {
            "records": self.records,
            "classes": self.overall.classes,
            "k": self.overall.achieved,
            "quasi": list(self.quasi),
            "confidential": {name: self._found_of(name) for name in self.confidential},
            "requirements": [f.to_dict() for f in self.findings if f.required is not None],
            **({"not_promised": unpromised} if unpromised else {}),
        }

    def _found_of(self, name: str) -> dict[str, Any]:
        """Return the levels of a confidential column over all quasi-identifiers."""
        return {
            f.short: {**dict(f.given), "achieved": f.achieved} if f.given else f.achieved
            for f in self.findings
            if f.confidential == name and f.attributes == self.quasi
        }


@dataclass(frozen=True)
class Readings:
    """What the measures read, by key."""

    readings: tuple[Reading, ...]

    def __getitem__(self, measure: str) -> float:
        return {r.measure: r.value for r in self.readings}[measure]

    def to_dict(self) -> dict[str, Any]:
        """Return the values by measure, as in the JSON of ``shoal compare``."""
        return {r.measure: r.value for r in self.readings}


@dataclass(frozen=True, slots=True)
class Certificate:
    """A lower bound on the SSE of any partition whose classes all have at least k records.

    Attributes
    ----------
    k
        Least size of a class.
    bound
        No partition has a lower SSE.
    how
        How the bound was obtained, each way once; more than one where strata or blocks of attributes were added up.
    sst
        Total sum of squares of the same points, to which percentages refer.
    sse
        What a partition reached; None if none was given.

    >>> Certificate(3, 90.0, ("column generation",), 1000.0, 100.0).to_dict()["gap"]
    10.0
    """

    k: int
    bound: float
    how: tuple[str, ...]
    sst: float
    sse: float | None = None

    @property
    def il_bound(self) -> float:
        """The bound in percent of SST: no partition has a lower information loss."""
        return 100.0 * (self.bound / self.sst) if self.sst > 0 else 0.0

    @property
    def il(self) -> float | None:
        """The information loss that was reached, in percent of SST."""
        if self.sse is None:
            return None
        return 100.0 * (self.sse / self.sst) if self.sst > 0 else 0.0

    @property
    def gap(self) -> float | None:
        """How much of the SSE reached another partition could save at most, in percent."""
        if self.sse is None:
            return None
        return 100.0 * (max(self.sse - self.bound, 0.0) / self.sse) if self.sse > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, as in the JSON of ``shoal protect --certify``."""
        return {
            "k": self.k,
            "sse": self.sse,
            "sse_bound": self.bound,
            "il": self.il,
            "il_bound": self.il_bound,
            "gap": self.gap,
            "how": list(self.how),
        }
