"""What flows through a stream: records, classes as they form, and what must be kept so that nothing leaves twice."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.types.data.table import Kind, Taxonomy

#: What `Decided.labels` holds for a tuple that is in no class.
WAITS, DROPPED = -1, -2


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened to the records of a lane so far; all but `waiting` only grow."""

    read: int = 0  #: records that came, good or bad
    released: int = 0  #: tuples that left in a class
    dropped: int = 0  #: tuples for which no class could be formed
    dead: int = 0  #: records that are no tuples: they went to the dead letters
    clamped: int = 0  #: values that were outside their bounds, and were moved to them
    classes: int = 0
    lost: float = 0.0  #: squared error of the tuples that left, in scaled coordinates
    spread: float = 0.0  #: their squared distance from the middle of the domain, to compare with


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a lane needs to go on after a stop: committed together with what leaves, or not at all.

    Records of a lane are numbered from 0 in the order in which they come, dead ones too. A record is done if it left,
    was dropped or was dead. Everything before `position` is done; of those from it on `done` says which.

    >>> Cursor().position
    0
    """

    position: int = 0  #: number of the oldest record that is not done
    place: int = 0  #: where the channel finds that record again: a byte, an offset, a sequence number
    done: bytes = b""  #: a bit for each record from `position` on, lowest bit first; missing bits are 0
    tally: Tally = field(default_factory=Tally)
    memory: Mapping[str, Any] = field(default_factory=dict)  #: what a requirement remembers; plain JSON values

    @property
    def begun(self) -> bool:
        """Whether a record is done; if none is, a stream may still begin with another recipe."""
        return bool(self.tally.released or self.tally.dropped or self.tally.dead)


@dataclass(frozen=True, slots=True)
class Letter:
    """A record that is no tuple."""

    position: int
    place: int
    reason: str  #: a sentence without any value of the record
    payload: bytes | None = field(default=None, repr=False)  #: the record, only if that was asked for

    @property
    def told(self) -> dict[str, Any]:
        """All but the payload, in plain values."""
        return {"position": self.position, "place": self.place, "reason": self.reason}

    @property
    def enclosed(self) -> dict[str, str]:
        """The payload as text, in base64 if it is none; nothing if there is no payload.

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

    A class is known by its number where the lane has no name, for then it is the only one; else by ``lane-number``.
    """

    lane: str
    records: Sequence[bytes] = field(repr=False)
    places: Sequence[int]  #: where the channel finds each again; ascending
    after: int  #: the place after the last one
    ended: bool = False  #: nothing comes after these


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What a lane commits in one step: whole classes, and the cursor after them."""

    lane: str
    classes: Sequence[Leaving]
    letters: Sequence[Letter]
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Leaving:
    """One class as it leaves: rendered tuples, in the order in which they came."""

    number: int
    tuples: Sequence[bytes] = field(repr=False)
    places: Sequence[int]  #: where their originals are in the input
    keys: Sequence[bytes | None] = field(default=(), repr=False)  #: not used by files; empty: none


class Link(Protocol):
    """An open channel: what reads records and commits classes, of one or several lanes.

    A lane is a part of the input that is anonymized on its own: a file, a Kafka partition, a NATS subject.
    """

    def lanes(self) -> Mapping[str, Cursor]:
        """Return the lanes that are ours now, each with its last committed cursor; it may change between calls.

        A lane that is new, or came back, must be begun anew from its cursor: `fetch` gives its records from
        `Cursor.place` on, the done ones among them included. It is known by a cursor that is not the one committed
        last, or by records whose places begin before the ones that came already; a lane that was taken away and
        came back is left out of one call in between. Ask before each `fetch`.
        """

    def fetch(self, most: int, seconds: float) -> Incoming | None:
        """Return up to `most` records of some lane, or None if none came in time."""

    def commit(self, steps: Sequence[Outgoing]) -> None:
        """Let classes leave, letters be kept and cursors be stored: all of it, or nothing of it, also in a crash.

        If lanes were taken away meanwhile, nothing is committed, and the next call of `lanes` leaves them out.
        """

    def close(self) -> None:
        """Let go of everything; what was not committed has not left."""


@dataclass(frozen=True, slots=True)
class Journey:
    """From where to where a stream goes: all that a channel must know to open a link."""

    source: str  #: as the user wrote it; ``-`` is standard input
    target: str  #: as the user wrote it; ``-`` is standard output
    promises: Mapping[str, Any]  #: what of the recipe must be the same when a stream goes on; plain JSON values
    fingerprint: str  #: a digest of them
    dead: str | None = None  #: where dead letters go; None: they are only counted
    force: bool = False  #: replace an output that is there
    longest: int = 1 << 20  #: bytes that a record may have; a longer one is cut to its first byte beyond, and is dead
    header: bool = False  #: the first record names the fields, and is none
    quote: bytes | None = None  #: what stands around cells that may hold line ends
    feed: Iterator[bytes] | None = None  #: makes the bytes of the source, where it is no text that can be read


class Channel(Protocol):
    """A kind of place that streams come from and go to: a class in ``channels/``, found by the scheme of a URL."""

    def open(self, journey: Journey) -> Link:
        """Return a link; refuse a journey whose promises are not those it was begun with."""


class Parsed(NamedTuple):
    """Tuples that were read: columns of those that are good, and why the others are not."""

    good: NDArray[np.int64]  #: which of the records are tuples
    columns: Mapping[str, Sequence[Any]]  #: what each wanted field holds in the good ones, as it stands there
    bodies: Sequence[Any]  #: the good ones whole, as `Wire.render` wants them back
    faults: Sequence[tuple[int, str]]  #: the others, and a sentence without any value

    def __repr__(self) -> str:
        return f"Parsed({len(self.good):,} good, {len(self.faults):,} not)"


class Wire(Protocol):
    """How tuples are written as bytes: JSON Lines, CSV."""

    def parse(self, records: Sequence[bytes]) -> Parsed:
        """Take records apart."""

    def render(self, bodies: Sequence[Any], values: Mapping[str, Any], number: int | str) -> list[bytes]:
        """Return the tuples of one class: released values, the number of the class, no identifiers."""

    def under(self, fields: Any) -> Wire:
        """Return a wire for one lane that takes no other fields than `shoal.stream.wire.fields.Fields` allows."""

    def others(self, bodies: Sequence[Any]) -> Collection[str]:
        """Return the fields of some tuples that are released though the recipe does not name them."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an attribute before the first tuple comes: its domain."""

    name: str
    kind: Kind
    low: Any = None  #: the two ends of numbers and moments
    high: Any = None
    categories: tuple[Any, ...] = ()  #: all of them; of an ordinal attribute in their order
    taxonomy: Taxonomy | None = None
    resolution: float | str | None = None  #: the step of released numbers, or the unit of dates; None: as they are


class Taken(NamedTuple):
    """Cells that were read as values of an attribute; what stands in `values` for a faulty one is of no meaning."""

    values: NDArray[Any]
    clamped: NDArray[np.bool_]  #: those that were outside the bounds, and are now one of them
    faults: Sequence[tuple[int, str]]  #: which cells could not be read, and a sentence without any of them

    def __repr__(self) -> str:
        return f"Taken({len(self.values):,} cells, {len(self.faults):,} faults)"


class StreamAttribute(Protocol):
    """An attribute of a stream, in ``stream/points/``: made of what is `Known`, by ``Class.of(known)``."""

    @property
    def middle(self) -> NDArray[np.float64]:
        """Coordinates of the middle of the domain; as many as the attribute has."""

    def fits(self, cell: Any) -> bool:
        """Tell at a glance whether a cell can be read, and is not clamped; False: look closer."""

    def take(self, cells: Any) -> Taken:
        """Read cells: a list of anything, or an array."""

    def place(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return coordinates, (m, c), of which no two points are more than 1 apart."""

    def centroid(self, values: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the value that stands for each class; members come class after class."""

    def plain(self, values: NDArray[Any]) -> list[Any]:
        """Return values as they leave: what JSON can hold."""


@dataclass(frozen=True, slots=True)
class Space:
    """Where the tuples of a stream are points: known before the first of them comes.

    Attributes
    ----------
    owners
        For each coordinate the attribute it came from.
    diameter
        The largest squared distance that two tuples can have.
    """

    owners: tuple[str, ...]
    diameter: float

    @property
    def d(self) -> int:
        """How many coordinates there are."""
        return len(self.owners)


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """The tuples that wait, and those that come now, in the order in which they came.

    Attributes
    ----------
    coordinates
        float64, shape (m, d), scaled, finite, without the position.
    positions
        Their numbers in the lane; ascending, not always consecutive.
    subjects
        A number for each; equal numbers are one subject. It is `positions` itself where every tuple is another subject.
    values
        int64, shape (m, c): codes of confidential values, a column for each `Demand`; c may be 0.
    old
        So many of them waited before; the others come now, one after the other.
    """

    coordinates: NDArray[np.float64] = field(repr=False)
    positions: NDArray[np.int64] = field(repr=False)
    subjects: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.int64] = field(repr=False)
    old: int


@dataclass(frozen=True, slots=True)
class Demand:
    """What every class must hold in one column of `Waiting.values`: the first demand in the first, and so on.

    Codes are from 0 on. Of t-closeness there are as many as `base` has counts; of the others any number, and only
    whether two are equal matters.
    """

    model: str  #: registry key of the privacy model
    attribute: str  #: name of the confidential attribute
    levels: tuple[tuple[str, float], ...]  #: the model's parameters by name
    ordered: bool = False  #: whether codes stand in order, a step between neighbours; else all are equally far apart
    base: tuple[int, ...] = ()  #: t-closeness: how often each code occurs in what classes must be close to
    grows: bool = True  #: whether every tuple that comes is counted in it

    def level(self, name: str) -> float:
        """Return one of the levels."""
        return dict(self.levels)[name]


class Decided(NamedTuple):
    """What became of `Waiting`: classes are numbered in the order in which they form, from 0 in each call."""

    labels: NDArray[np.int64]  #: for each tuple its class, `WAITS` or `DROPPED`
    moments: NDArray[np.int64]  #: for each class the position of the tuple at whose coming it formed


class Forming(Protocol):
    """A method at work on one lane."""

    def advance(self, waiting: Waiting, due: int) -> Decided:
        """Take what comes, in order; then let every tuple with a position below `due` expire, the oldest first.

        When the tuple of position i comes, one of position i − δ or less that still waits expires: it leaves now in a
        class with others that wait, or it is dropped. The caller takes away what does not wait any more, keeps the
        others in order, and gives them back as `old` ones.
        """


class StreamMethod(Protocol):
    """A method that forms classes of a stream: a frozen dataclass in ``stream/partition/``, parameters checked."""

    def begin(self, space: Space, k: int, delay: int, order_weight: float, demands: Sequence[Demand] = ()) -> Forming:
        """Return what forms the classes of one lane; after a restart it is begun anew with the tuples that wait.

        No class forms that does not hold all demands; a method that cannot see to that refuses them.
        """


class Formed(NamedTuple):
    """What one step of a lane came to: classes in the order in which they formed, numbered on from `first`."""

    first: int  #: number of the first class in the lane
    positions: NDArray[np.int64]  #: members of all classes, class after class, ascending in each
    sizes: NDArray[np.int64]  #: how many members each class has
    values: Mapping[str, Sequence[Any]]  #: what stands for each class: a plain value that JSON can hold
    moments: NDArray[np.int64]  #: for each class the position of the tuple at whose coming it formed
    dropped: NDArray[np.int64]  #: positions of the tuples for which there was no class

    def __repr__(self) -> str:
        return f"Formed({len(self.positions):,} in {len(self.sizes):,} classes, {len(self.dropped):,} dropped)"
