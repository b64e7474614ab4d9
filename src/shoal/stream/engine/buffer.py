"""Buffer of a lane: tuples are pending in it, as points of the stream's domain, until they are released in classes.

Subjects in text form are identified by a hash, so the buffer remembers nothing about them once their tuples are
released. If two subjects ever had the same hash, they would count as one: a class would be larger than necessary, never
smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from shoal import registry, spelling
from shoal.kernels.stream.means import errors, gathered
from shoal.parameters import build
from shoal.stream.engine.demands import Demanding
from shoal.stream.points._cells import MISSING, is_missing, listed
from shoal.stream.recipe.recipe import KEEP, StreamRecipe
from shoal.types.stream import (
    DROPPED,
    WAITS,
    CodedStreamAttribute,
    Cursor,
    Formed,
    Forming,
    Space,
    StreamAttribute,
    Tally,
    Waiting,
)

_LEAST_WEIGHT = 1e-9  # a weight whose square differs from 0; any larger one preserves order too
_ABOVE = 1.0 + 2.0**-20  # "just above" a bound, and more than rounding can lose


@dataclass(frozen=True)
class Domain:
    """The quasi-identifiers of a stream, and the space in which tuples are points."""

    recipe: StreamRecipe

    @cached_property
    def attributes(self) -> tuple[StreamAttribute, ...]:
        """The quasi-identifiers."""
        return tuple(registry.for_kind("stream.points", known.kind).of(known) for known in self.recipe.known)

    @cached_property
    def scales(self) -> tuple[float, ...]:
        """Scale factors of each attribute's coordinates."""
        return tuple(float(np.sqrt(self.recipe.weight(name))) for name in self.recipe.quasi)

    @cached_property
    def middle(self) -> NDArray[np.float64]:
        """The middle of the space, in numbers."""
        pairs = zip(self.attributes, self.scales, strict=True)
        return np.concatenate([np.empty(0), *(a.middle * s for a, s in pairs if not _coded(a))])

    @cached_property
    def steps(self) -> tuple[float, ...]:
        """The squared distance of tuples that differ in a column of codes."""
        pairs = zip(self.attributes, self.scales, strict=True)
        return tuple(float(step) for a, scale in pairs if _coded(a) for step in a.steps * scale * scale)

    @cached_property
    def space(self) -> Space:
        """The space, known before the first tuple arrives."""
        pairs = zip(self.recipe.quasi, self.attributes, strict=True)
        owners = tuple(name for name, a in pairs for _ in range(len(a.middle)))
        return Space(owners, sum(self.recipe.weight(name) for name in self.recipe.quasi))

    @property
    def order_weight(self) -> float:
        """The weight of the position; "keep": just above √(diameter / (2k − 1)), where order is preserved."""
        if self.recipe.order_weight != KEEP:
            return float(self.recipe.order_weight)
        return max(float(np.sqrt(self.space.diameter / (2 * self.recipe.k - 1)) * _ABOVE), _LEAST_WEIGHT)

    def place(self, values: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return values of all attributes as points: numbers, then codes."""
        parts = list(zip(self.attributes, values, self.scales, strict=True))
        numbers = [a.place(own) * scale for a, own, scale in parts if not _coded(a)]
        codes = [a.groups[own].astype(np.float64) for a, own, _ in parts if _coded(a)]
        return np.concatenate([*numbers, *codes], axis=1)

    def embed(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points as coordinates, attribute by attribute, with one for every category and group."""
        self.space.refuse_if_wide("StreamRecipe")
        at, of_code, parts = 0, x.shape[1] - len(self.steps), []
        for a, scale in zip(self.attributes, self.scales, strict=True):
            if _coded(a):
                category = np.empty(len(a.groups), np.int64)
                category[a.groups[:, 0]] = np.arange(len(a.groups))
                parts.append(a.place(category[x[:, of_code].astype(np.int64)]) * scale)
                of_code += a.groups.shape[1]
            else:
                wide = len(a.middle)
                parts.append(x[:, at : at + wide])
                at += wide
        return np.concatenate(parts, axis=1)

    def from_middle(self, values: Sequence[NDArray[Any]]) -> float:
        """Return the sum of the squared distances of codes from the middle of the space."""
        parts = zip(self.attributes, values, self.scales, strict=True)
        return math.fsum(float(a.from_middle[own].sum()) * scale * scale for a, own, scale in parts if _coded(a))


def _coded(attribute: object) -> TypeGuard[CodedStreamAttribute]:
    return isinstance(attribute, CodedStreamAttribute)


_LEAST = 256


class Buffer:
    """Several arrays with the same number of rows, in order of arrival.

    >>> buffer = Buffer([np.empty(0), np.empty((0, 2))])
    >>> buffer.append([np.array([1.0, 2.0]), np.zeros((2, 2))])
    >>> buffer.keep(np.array([False, True]))
    >>> len(buffer), buffer[0].tolist()
    (1, [2.0])
    """

    def __init__(self, empty: Sequence[NDArray[Any]]) -> None:
        self._columns = list(empty)
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, column: int) -> NDArray[Any]:
        """Return one array; it is valid until rows are added or removed."""
        return self._columns[column][: self._rows]

    def append(self, columns: Sequence[NDArray[Any]]) -> None:
        """Add rows."""
        more = self._rows + len(columns[0])
        for at, (mine, fresh) in enumerate(zip(self._columns, columns, strict=True)):
            room = mine
            if more > len(mine):
                room = np.empty((max(more, 2 * self._rows, _LEAST), *mine.shape[1:]), mine.dtype)
                room[: self._rows] = mine[: self._rows]
            room[self._rows : more] = fresh
            self._columns[at] = room
        self._rows = more

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Remove all rows except some."""
        rows = np.flatnonzero(which)
        self._columns = [column[rows] for column in self._columns]
        self._rows = len(rows)


_MOST, _DIGITS = 2**63, 19
_SEVERAL = (list, tuple, dict, set, np.ndarray)
_NOBODY = "Column {name!r}: must be text or a number, got a list or a table. Correct the record."


def numbered(name: str, cells: Any, *, exact: bool = False) -> tuple[NDArray[np.int64], list[tuple[int, str]]]:
    """Return a number for each cell's subject, and which cells are missing.

    Spellings that probably denote one subject are merged, unless `exact`.

    >>> numbered("pid", [7, "7", 7.0, "07.0", "x", None])[0].tolist()[:4]
    [7, 7, 7, 7]
    """
    key = str if exact else spelling.person
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "i":
        return cells.astype(np.int64), []
    found, faults = [], []
    known: dict[str, int] = {}  # names recur
    for at, cell in enumerate(listed(cells)):
        if type(cell) is str and cell in known:
            found.append(known[cell])
            continue
        fault = MISSING if is_missing(cell) else _NOBODY if isinstance(cell, _SEVERAL) else None
        if fault is not None:
            faults.append((at, fault.format(name=name)))
        number = 0 if fault is not None else _number(cell, key)
        if fault is None and type(cell) is str:
            known[cell] = number
        found.append(number)
    return np.array(found, np.int64), faults


def _number(cell: Any, key: Callable[[str], str]) -> int:
    if type(cell) is int and -_MOST <= cell < _MOST:
        return cell
    text = key(cell) if isinstance(cell, str) else spelling.person(_text(cell))
    whole = text.removeprefix("-")
    if whole.isascii() and whole.isdigit() and len(whole) <= _DIGITS and str(int(whole)) == whole:
        number = int(text)
        return number if -_MOST <= number < _MOST else hash(text)
    return hash(text)


def _text(cell: Any) -> str:
    if isinstance(cell, (float, np.floating, Decimal)):
        return spelling.written(cell if isinstance(cell, Decimal) else float(cell))
    return str(cell)


_ALL = np.iinfo(np.int64).max  # a position above all others
_NONE = np.empty(0, np.int64)
_POSITIONS, _SINCE, _CLAMPED, _SUBJECTS, _VALUES, _POINTS, _OWN = range(7)  # columns of the buffer


class Encoded(NamedTuple):
    """Valid tuples, ready for the buffer; and why the others are not."""

    good: NDArray[np.int64]  #: indices of the records that are tuples
    columns: list[NDArray[Any]]  #: as in the buffer, without position and time
    faults: list[tuple[int, str]]  #: the other records, in order, each with a sentence that shows no value

    def __repr__(self) -> str:
        return f"Encoded({len(self.good):,} valid, {len(self.faults):,} invalid)"


class Core:
    """One lane: its pending tuples, and counts of the others.

    It is deterministic in its input: after a restart, pending tuples arrive again with their old positions, and the
    same classes form. Only `delay_seconds` depends on a clock, the caller's.

    >>> core = Core(StreamRecipe(quasi=["a"], bounds={"a": (0, 10)}, k=2, delay=2))
    >>> formed, faults = core.take([0, 1, 2, 3], {"a": [1, "x", 9, 2]})
    >>> formed.positions.tolist(), formed.values["a"], faults[0][0], core.waiting.tolist()
    ([0, 2], [5.0], 1, [3])
    """

    def __init__(self, recipe: StreamRecipe, cursor: Cursor | None = None) -> None:
        self.recipe, self.domain = recipe, Domain(recipe)
        cursor = cursor or Cursor()
        self._tally = cursor.tally
        self._demanding = Demanding(recipe, cursor.memory) if recipe.require or recipe.t is not None else None
        demands = self._demanding.demands if self._demanding is not None else ()
        method = build(registry.load("stream.partition", recipe.method), recipe.set)
        self._forming: Forming = method.begin(
            self.domain.space, recipe.k, recipe.delay, self.domain.order_weight, demands
        )
        self._old, self._last = 0, -1  # number of tuples the method has seen; position of the last arrival
        self._nothing: Mapping[str, list[Any]] = {name: [] for name in recipe.quasi}
        self._buffer = Buffer(
            [np.empty(0, np.int64), np.empty(0), *self.encode({n: [] for n in recipe.wanted}).columns]
        )

    @property
    def waiting(self) -> NDArray[np.int64]:
        """Positions of the pending tuples, ascending."""
        return self._buffer[_POSITIONS].copy()

    @property
    def oldest(self) -> int | None:
        """Position of the oldest pending tuple."""
        return int(self._buffer[_POSITIONS][0]) if len(self._buffer) else None

    @property
    def tally(self) -> Tally:
        """Counts of tuples that are no longer pending; `read` and `dead` are those of the initial cursor."""
        return self._tally

    @property
    def memory(self) -> Mapping[str, Any]:
        """Further state that must be remembered, in plain JSON values."""
        return self._demanding.memory if self._demanding is not None else {}

    def encode(self, columns: Mapping[str, Any]) -> Encoded:
        """Parse tuples, without changing anything."""
        taken = [a.take(columns[name]) for name, a in zip(self.recipe.quasi, self.domain.attributes, strict=True)]
        faults: dict[int, str] = {}
        for one in reversed(taken):
            faults.update(one.faults)
        subjects = None
        if self.recipe.subject is not None:
            subjects, bad = numbered(self.recipe.subject, columns[self.recipe.subject], exact=self.recipe.subject_exact)
            faults = {**dict(bad), **faults}
        n = len(taken[0].values)
        codes = np.empty((n, 0), np.int64)
        if self._demanding is not None:
            codes, odd = self._demanding.take(columns)
            faults = {**odd, **faults}
        good = np.setdiff1d(np.arange(n), np.array(list(faults), np.int64)) if faults else np.arange(n)
        values = [one.values[good] if faults else one.values for one in taken]
        clamped = np.asarray(np.sum([one.clamped[good] for one in taken], axis=0, dtype=np.int64))
        who = np.empty(len(good), np.int64) if subjects is None else subjects[good]
        found: list[NDArray[Any]] = [clamped, who, codes[good], self.domain.place(values), *values]
        return Encoded(good, found, sorted(faults.items()))

    def fits(self, cells: Sequence[Any]) -> bool:
        """Tell quickly whether a tuple is readable, from its wanted fields; False: check thoroughly."""
        who = "anyone" if self.recipe.subject is None else cells[len(self.recipe.quasi)]
        plain = type(who) is int or (type(who) is str and bool(who.strip()))
        if self._demanding is not None:
            return False
        own = zip(self.domain.attributes, cells, strict=False)  # quasi-identifiers come first
        return plain and all(attribute.fits(cell) for attribute, cell in own)

    def take(
        self, positions: Sequence[int] | NDArray[np.int64], columns: Mapping[str, Any], now: float = 0.0
    ) -> tuple[Formed, list[tuple[int, str]]]:
        """Add tuples with ascending positions; `columns` holds at least the wanted fields.

        Return the released classes, and the records that are not tuples: their indices, with a sentence each.
        """
        encoded = self.encode(columns)
        return self.accept(np.asarray(positions, np.int64)[encoded.good], encoded, now), encoded.faults

    def accept(self, positions: NDArray[np.int64], encoded: Encoded, now: float = 0.0) -> Formed:
        """Add valid tuples."""
        self._buffer.append([positions, np.full(len(positions), now), *encoded.columns])
        mine = self._buffer[_POSITIONS]
        self._last = int(positions[-1]) if len(positions) else self._last
        if not len(mine) or mine[-1] - mine[0] < self.recipe.delay:  # nothing expires
            return Formed(self._tally.classes, _NONE, _NONE, self._nothing, _NONE, _NONE)
        return self._advance(0)

    def expire(self, now: float) -> Formed:
        """Release tuples pending for `delay_seconds`; too few for a class join the last one formed now."""
        seconds, since = self.recipe.delay_seconds, self._buffer[_SINCE]
        late = np.flatnonzero(since <= now - seconds) if seconds is not None else _NONE  # the clock may have gone back
        return self._advance(int(self._buffer[_POSITIONS][late[-1]]) + 1 if len(late) else 0, joining=True)

    def flush(self) -> Formed:
        """Release all tuples, oldest first; too few for a class at the end join the last one formed now."""
        return self._advance(_ALL, joining=True)

    def _advance(self, due: int, *, joining: bool = False) -> Formed:
        positions = self._buffer[_POSITIONS]
        subjects = positions if self.recipe.subject is None else self._buffer[_SUBJECTS]
        values, steps = self._buffer[_VALUES], self.domain.steps
        embed = self.domain.embed if steps else None
        waiting = Waiting(self._buffer[_POINTS], positions, subjects, values, self._old, steps, embed)
        labels, moments = self._forming.advance(waiting, due)
        if self._old == len(positions):  # nothing arrived since: the newest tuple may be released already
            moments = np.full(len(moments), self._last)
        if joining and len(moments):
            labels = self._joined(labels, len(moments) - 1)
        formed = self._formed(labels, moments)
        self._old = len(self._buffer)
        return formed

    def _joined(self, labels: NDArray[np.int64], last: int) -> NDArray[np.int64]:
        """Add tuples without a class to the last one, unless it would then miss a demand."""
        joined = np.where(labels == DROPPED, last, labels)
        if self._demanding is None or self._demanding.holds(self._buffer[_VALUES], joined == last):
            return joined
        return labels

    def _formed(self, labels: NDArray[np.int64], moments: NDArray[np.int64]) -> Formed:
        buffer, classes = self._buffer, len(moments)
        members, sizes = gathered(labels, classes)
        names, attributes = self.recipe.quasi, self.domain.attributes
        centres = [a.centroid(buffer[_OWN + j][members], sizes) for j, a in enumerate(attributes)]
        values = {name: a.plain(own) for name, a, own in zip(names, attributes, centres, strict=True)}
        dropped = buffer[_POSITIONS][labels == DROPPED]
        formed = Formed(self._tally.classes, buffer[_POSITIONS][members], sizes, values, moments, dropped)
        if classes or len(dropped):
            own = [buffer[_OWN + j][members] for j in range(len(attributes))]
            domain = self.domain
            lost, spread = errors(buffer[_POINTS][members], sizes, domain.place(centres), domain.middle, domain.steps)
            spread += domain.from_middle(own)
            if self._demanding is not None:
                self._demanding.done(buffer[_VALUES][labels != WAITS])
            self._count(formed, int(buffer[_CLAMPED][labels != WAITS].sum()), lost, spread)
            buffer.keep(labels == WAITS)
        return formed

    def _count(self, formed: Formed, clamped: int, lost: float, spread: float) -> None:
        so_far = self._tally
        self._tally = replace(
            so_far,
            released=so_far.released + len(formed.positions),
            dropped=so_far.dropped + len(formed.dropped),
            clamped=so_far.clamped + clamped,  # counted on release, so that a restart does not count them twice
            classes=so_far.classes + len(formed.sizes),
            lost=so_far.lost + lost,
            spread=so_far.spread + spread,
        )
