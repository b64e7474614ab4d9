"""Types of streams: records, classes as they form, and the state that prevents double release."""

from __future__ import annotations

import base64
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

from shoal.errors import ParameterError
from shoal.types.table import Kind, Taxonomy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Labels in `Decided.labels` for a tuple without a class.
WAITS, DROPPED = -1, -2


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of a lane's records so far; they never decrease."""

    read: int = 0  #: records that arrived, valid or not
    released: int = 0  #: tuples released in a class
    dropped: int = 0  #: tuples for which no class could be formed
    dead: int = 0  #: records that are not tuples: rejected as dead letters
    clamped: int = 0  #: values outside their bounds, clamped to them
    classes: int = 0
    lost: float = 0.0  #: squared error of the released tuples, in scaled coordinates
    spread: float = 0.0  #: their squared distance from the middle of the domain, for comparison


@dataclass(frozen=True, slots=True)
class Cursor:
    """The state that a lane needs to resume: committed together with its output, or not at all.

    Records of a lane are numbered from 0 in order of arrival, including rejected ones. A record is done if it was
    released, dropped or rejected. Everything before `position` is done; from there on `done` says which.

    >>> Cursor().position
    0
    """

    position: int = 0  #: number of the oldest record that is not done
    place: int = 0  #: where the channel finds that record again: a byte, an offset, a sequence number
    done: bytes = b""  #: a bit for each record from `position` on, lowest bit first; missing bits are 0
    tally: Tally = field(default_factory=Tally)
    memory: Mapping[str, Any] = field(default_factory=dict)  #: state of requirements; plain JSON values

    @property
    def begun(self) -> bool:
        """Whether a record is done; if none is, a stream may still start with another recipe."""
        return bool(self.tally.released or self.tally.dropped or self.tally.dead)


@dataclass(frozen=True, slots=True)
class Letter:
    """A record that is not a tuple."""

    position: int
    place: int
    reason: str  #: a sentence that shows no value of the record
    payload: bytes | None = field(default=None, repr=False)  #: the record, only if requested

    @property
    def told(self) -> dict[str, Any]:
        """Everything except the payload, in plain values."""
        return {"position": self.position, "place": self.place, "reason": self.reason}

    @property
    def enclosed(self) -> dict[str, str]:
        """The payload as text, or base64 if it is not text; empty without a payload.

        >>> Letter(0, 0, "", b"x").enclosed, Letter(0, 0, "", b"\\xff").enclosed, Letter(0, 0, "").enclosed
        ({'payload': 'x'}, {'payload_base64': '/w=='}, {})
        """
        if self.payload is None:
            return {}
        try:
            return {"payload": self.payload.decode()}
        except UnicodeDecodeError:
            return {"payload_base64": base64.b64encode(self.payload).decode()}


@dataclass(frozen=True, slots=True)
class Incoming:
    """Records of one lane, in order, as bytes without line ends.

    A class is identified by its number if the lane has no name, because then it is the only one; else by
    ``lane-number``.
    """

    lane: str
    records: Sequence[bytes] = field(repr=False)
    places: Sequence[int]  #: where the channel finds each again; ascending
    after: int  #: the position after the last one
    ended: bool = False  #: nothing comes after these


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The output that a lane commits in one step: whole classes, and the cursor after them."""

    lane: str
    classes: Sequence[Leaving]
    letters: Sequence[Letter]
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Leaving:
    """One released class: rendered tuples, in order of arrival."""

    number: int
    tuples: Sequence[bytes] = field(repr=False)
    places: Sequence[int]  #: positions of their originals in the input
    keys: Sequence[bytes | None] = field(default=(), repr=False)  #: not used by files; empty: none


class Link(Protocol):
    """An open channel, which reads records and commits classes of one or several lanes.

    A lane is a part of the input that is anonymized separately: a file, a Kafka partition, a NATS subject.
    """

    header: bytes = b""  #: the first record of the input, if it names the fields
    finished: bool | None = None  #: whether the stream has ended and all output is released; None: it is not stored

    def preface(self, line: bytes) -> None:
        """Write a line before the first tuple; ignored where the output has no beginning."""
        return

    @abstractmethod
    def lanes(self) -> Mapping[str, Cursor]:
        """Return the lanes that are ours now, each with its last committed cursor; it may change between calls.

        A lane that is new, or came back, must be restarted from its cursor: `fetch` returns its records from
        `Cursor.place` on, including finished ones. It is recognised by a cursor other than the last committed one, or
        by records whose positions begin before those already read; a lane that was revoked and came back is absent from
        one call in between. Call this before each `fetch`.
        """

    @abstractmethod
    def fetch(self, most: int, seconds: float) -> Incoming | None:
        """Return up to `most` records of some lane, or None if none arrived in time."""

    @abstractmethod
    def commit(self, steps: Sequence[Outgoing]) -> None:
        """Release classes, store letters and cursors: all or nothing, even in a crash.

        If lanes were revoked in the meantime, nothing is committed, and the next call of `lanes` omits them.
        """

    @abstractmethod
    def close(self) -> None:
        """Close everything; uncommitted output has not been released."""


@dataclass(frozen=True, slots=True)
class Journey:
    """The route of a stream: everything that a channel needs to open a link."""

    source: str  #: as the user wrote it; ``-`` is standard input
    target: str  #: as the user wrote it; ``-`` is standard output
    promises: Mapping[str, Any]  #: recipe fields that must not change when a stream is resumed; plain JSON values
    fingerprint: str  #: a digest of them
    dead: str | None = None  #: destination of dead letters; None: they are only counted
    force: bool = False  #: replace an existing output
    longest: int = 1 << 20  #: maximum size of a record in bytes; a longer one is cut one byte beyond, and rejected
    header: bool = False  #: the first record is a header with field names
    quote: bytes | None = None  #: quote character of cells that may contain line ends
    feed: Iterator[bytes] | None = None  #: generates the bytes of a source that is not a text file


class Channel(Protocol):
    """A kind of source and target of streams: a class in ``channels/``, found by the scheme of a URL."""

    @abstractmethod
    def open(self, journey: Journey) -> Link:
        """Return a link; refuse a journey whose promises differ from those it was started with."""


class Parsed(NamedTuple):
    """Parsed records: columns of the valid ones, and the faults of the others."""

    good: NDArray[np.int64]  #: which of the records are tuples
    columns: Mapping[str, Sequence[Any]]  #: values of each wanted field in the valid ones, as written
    bodies: Sequence[Any]  #: the valid ones whole, as input for `Wire.render`
    faults: Sequence[tuple[int, str]]  #: the others, with a sentence that shows no value

    def __repr__(self) -> str:
        return f"Parsed({len(self.good):,} valid, {len(self.faults):,} invalid)"


class Wire(Protocol):
    """A format of tuples as bytes: JSON Lines, CSV."""

    head: bytes = b""  #: the first line of the output, if it names the fields

    @abstractmethod
    def parse(self, records: Sequence[bytes]) -> Parsed:
        """Parse records."""

    @abstractmethod
    def render(self, bodies: Sequence[Any], values: Mapping[str, Any], number: int | str) -> list[bytes]:
        """Return the tuples of one class: released values, the class number, no identifiers."""

    @abstractmethod
    def under(self, fields: Any) -> Wire:
        """Return a wire for one lane that accepts only the fields that `shoal.stream.wire.fields.Fields` allows."""

    @abstractmethod
    def others(self, bodies: Sequence[Any]) -> Collection[str]:
        """Return the fields of some tuples that are released without being named in the recipe."""


@dataclass(frozen=True, slots=True)
class Known:
    """The declared domain of an attribute, before the first tuple arrives."""

    name: str
    kind: Kind
    low: Any = None  #: the two ends for numbers and datetimes
    high: Any = None
    categories: tuple[Any, ...] = ()  #: all of them; for an ordinal attribute in order
    taxonomy: Taxonomy | None = None
    resolution: float | str | None = None  #: the step of released numbers, or the unit of dates; None: unrounded


class Taken(NamedTuple):
    """Cells parsed as values of an attribute; `values` is undefined for faulty cells."""

    values: NDArray[Any]
    clamped: NDArray[np.bool_]  #: cells outside the bounds, now clamped
    faults: Sequence[tuple[int, str]]  #: cells that could not be parsed, with a sentence that shows none of them

    def __repr__(self) -> str:
        return f"Taken({len(self.values):,} cells, {len(self.faults):,} faults)"


class StreamAttribute(Protocol):
    """An attribute of a stream: a class in ``stream/points/`` that makes it from a declared domain."""

    kinds: ClassVar[tuple[Kind, ...]] = ()  #: the kinds of fields that it encodes

    @classmethod
    @abstractmethod
    def of(cls, known: Known) -> Self:
        """Return the attribute of a declared domain."""

    @property
    @abstractmethod
    def middle(self) -> NDArray[np.float64]:
        """Coordinates of the middle of the domain, one per coordinate of the attribute."""

    @abstractmethod
    def fits(self, cell: Any) -> bool:
        """Tell quickly whether a cell is readable and within bounds; False: check thoroughly."""

    @abstractmethod
    def take(self, cells: Any) -> Taken:
        """Parse cells: a list of anything, or an array."""

    @abstractmethod
    def place(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return coordinates, (m, c), with no two points more than 1 apart."""

    @abstractmethod
    def centroid(self, values: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the value of each class; members are given class by class."""

    @abstractmethod
    def plain(self, values: NDArray[Any]) -> list[Any]:
        """Return released values in a form that JSON can hold."""


@runtime_checkable
class CodedStreamAttribute(StreamAttribute, Protocol):
    """An attribute of categories, which tuples keep as codes: a column for each level of its taxonomy."""

    @property
    def groups(self) -> NDArray[np.int64]:
        """The group of each category at each level, (categories, levels), numbered from 0."""

    @property
    def steps(self) -> NDArray[np.float64]:
        """The squared distance of two values that differ at a level, (levels,)."""

    @property
    def from_middle(self) -> NDArray[np.float64]:
        """The squared distance of each category from the middle of the domain."""


#: The maximum number of coordinates of a tuple, for methods that need one for every category.
MOST = 2048


@dataclass(frozen=True, slots=True)
class Space:
    """The space of a stream's tuples, known before the first of them arrives.

    Attributes
    ----------
    owners
        For each coordinate its attribute.
    diameter
        The largest possible squared distance between two tuples.
    """

    owners: tuple[str, ...]
    diameter: float

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return len(self.owners)

    def refuse_if_wide(self, method: str) -> None:
        """Refuse a space with too many coordinates, for a method that needs one for every category."""
        if self.d > MOST:
            many = max(set(self.owners), key=self.owners.count)
            raise ParameterError(
                f"{method}: the quasi-identifiers may take at most {MOST:,} coordinates, got {self.d:,}; most are of "
                f"{many!r}, one for each category and group. Merge categories, or use nearest or look_ahead instead."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """The pending tuples and those arriving now, in order of arrival.

    Attributes
    ----------
    x
        float64, shape (m, c): scaled, finite numbers, without the position; then codes of categories.
    positions
        Their numbers in the lane; ascending, not always consecutive.
    subjects
        A number for each; equal numbers are one subject. It is `positions` itself if every tuple has its own
        subject.
    values
        int64, shape (m, c): codes of confidential values, a column per `Demand`; c may be 0.
    old
        Number of tuples that were pending before; the others arrive now, one after another.
    steps
        For each column of codes, which come last, the squared distance of tuples that differ in it.
    embed
        Converts `x` to coordinates; None: it has no codes.
    """

    x: NDArray[np.float64] = field(repr=False)
    positions: NDArray[np.int64] = field(repr=False)
    subjects: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.int64] = field(repr=False)
    old: int
    steps: tuple[float, ...] = ()
    embed: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = field(default=None, repr=False)

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """The tuples as coordinates, (m, d), with one for every category and group: for methods that need them."""
        return self.x if self.embed is None else self.embed(self.x)


@dataclass(frozen=True, slots=True)
class Demand:
    """A demand on every class in one column of `Waiting.values`: the first demand on the first column, and so on.

    Codes start at 0. For t-closeness there are as many as `base` has counts; for the others any number, and only
    equality matters.
    """

    model: str  #: registry key of the privacy model
    attribute: str  #: name of the confidential attribute
    levels: tuple[tuple[str, float], ...]  #: the model's parameters by name
    ordered: bool = False  #: whether codes are ordered, with unit steps; else all are equally far apart
    base: tuple[int, ...] = ()  #: t-closeness: counts of each code in the reference distribution
    grows: bool = True  #: whether every arriving tuple is added to it

    def level(self, name: str) -> float:
        """Return one of the levels."""
        return dict(self.levels)[name]


class Decided(NamedTuple):
    """The decisions on `Waiting`: classes are numbered in the order in which they form, from 0 in each call."""

    labels: NDArray[np.int64]  #: for each tuple its class, `WAITS` or `DROPPED`
    moments: NDArray[np.int64]  #: for each class the position of the tuple whose arrival formed it


class Forming(Protocol):
    """A method at work on one lane."""

    @abstractmethod
    def advance(self, waiting: Waiting, due: int) -> Decided:
        """Add arriving tuples, in order; then let every tuple with a position below `due` expire, oldest first.

        When the tuple of position i arrives, a pending one of position i − δ or less expires: it is released now in a
        class with other pending tuples, or dropped. The caller removes tuples that are no longer pending, keeps the
        others in order, and passes them again as `old` ones.
        """


class StreamMethod(Protocol):
    """A method that forms classes of a stream: a frozen dataclass in ``stream/partition/``, parameters checked."""

    keeps_order: ClassVar[bool] = False  #: a large enough weight of the order keeps tuples in order
    only_k: ClassVar[bool] = True  #: classes meet no demand other than k

    @abstractmethod
    def begin(self, space: Space, k: int, delay: int, order_weight: float, demands: Sequence[Demand] = ()) -> Forming:
        """Return the rule that forms the classes of one lane; a restart begins it again with the pending tuples.

        Every class that forms meets all demands; a method that cannot ensure that refuses them.
        """


class Formed(NamedTuple):
    """The result of one step of a lane: classes in the order in which they formed, numbered from `first`."""

    first: int  #: number of the first class in the lane
    positions: NDArray[np.int64]  #: members of all classes, class by class, ascending in each
    sizes: NDArray[np.int64]  #: number of members of each class
    values: Mapping[str, Sequence[Any]]  #: the released value of each class, in a form that JSON can hold
    moments: NDArray[np.int64]  #: for each class the position of the tuple whose arrival formed it
    dropped: NDArray[np.int64]  #: positions of the tuples without a class

    def __repr__(self) -> str:
        return f"Formed({len(self.positions):,} in {len(self.sizes):,} classes, {len(self.dropped):,} dropped)"
