"""Demands on confidential fields of stream classes: fields as codes, and counts of past values.

Only equality of values matters. Cells that may denote one value are one: 1, 1.0 and "1", because the kind of a field is
not known here; flu and Flu; null, NaN (also as text) and blanks. If two values get the same number by accident they
count as one, so a class never seems more diverse than it is.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import spelling
from shoal.errors import DataError
from shoal.privacy.stream_gate.released_fields import Digits
from shoal.privacy.stream_gate.witness import Asked, Witness
from shoal.stream.points._cells import is_missing
from shoal.stream.points.datetime import is_date, moment
from shoal.stream.recipe.demands import CLOSE, Bins, asked, kind_of
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.types import Kind, called
from shoal.types.stream import Demand

_HAIR = 1e-11  # entropies this close to the demanded level do not hold


def held(demand: Demand, codes: Sequence[int], base: Sequence[int]) -> bool:
    """Tell whether a class with these codes meets a demand.

    >>> held(Demand("entropy_l_diversity", "ill", (("l", 2),)), [1, 1, 2, 2], ())
    True
    """
    counts = sorted(Counter(codes).values(), reverse=True)
    if demand.model == "t_closeness":
        return _close(demand, codes, base)
    if demand.model == "recursive_l_diversity":
        tail = sum(counts[max(math.ceil(demand.level("l")), 1) - 1 :])
        return counts[0] < Fraction(str(demand.level("c"))) * tail
    if demand.model == "entropy_l_diversity":
        asked, s = Fraction(str(demand.level("l"))), len(codes)
        if counts[0] == counts[-1]:
            return len(counts) >= asked
        entropy = math.log(s) - sum(n * math.log(n) for n in counts) / s
        return entropy > math.log(asked) * (1 + _HAIR) + _HAIR
    return len(counts) >= demand.levels[0][1]


def _close(demand: Demand, codes: Sequence[int], base: Sequence[int]) -> bool:
    n, s, mine, work, running = sum(base), len(codes), Counter(codes), 0, 0
    for u, theirs in enumerate(base):
        off = n * mine[u] - s * theirs
        running += off
        work += abs(running) if demand.ordered else abs(off)
    return work <= Fraction(str(demand.level("t"))) * n * s * (len(base) - 1 if demand.ordered else 2)


def identities(cells: Any) -> NDArray[np.int64]:
    """Return a number for each cell; equal values have equal numbers.

    >>> found = identities([1, "1.0", 2, None, float("nan"), " "])
    >>> len(set(found.tolist())), found[0] == found[1], found[3] == found[4] == found[5]
    (3, np.True_, np.True_)
    """
    plain = cells.to_pylist() if hasattr(cells, "to_pylist") else cells.tolist() if hasattr(cells, "tolist") else cells
    known: dict[Any, int] = {}
    found = np.empty(len(plain), np.int64)
    for at, cell in enumerate(plain):
        key = (type(cell), cell) if isinstance(cell, (str, int, float)) else None
        code = known.get(key) if key is not None else None
        if code is None:
            code = _identity(cell)
            if key is not None:
                known[key] = code
        found[at] = code
    return found


def _identity(cell: Any) -> int:
    if is_missing(cell):
        return -1
    if isinstance(cell, str):
        cell = spelling.value(cell)
    number = _number(cell)
    if number is not None:
        return -1 if number != number else _signed(struct.pack("<d", number + 0.0))  # noqa: PLR0124
    text = _nested(cell) if isinstance(cell, (list, dict)) else spelling.value(str(cell))
    if not text:
        return -1
    return _signed(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


def _nested(cell: Any) -> str:
    try:
        return json.dumps(cell, sort_keys=True, default=str)
    except (TypeError, ValueError):  # keys without an order
        return str(cell)


def _number(cell: Any) -> float | None:
    """Return the numeric value of a cell; all integers beyond the range of floats count as one."""
    if isinstance(cell, (bool, np.bool_)):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def _signed(eight: bytes) -> int:
    return int.from_bytes(eight, "little", signed=True)


_MEMORY = "so_far"


class Demanding:
    """The demands of a recipe, applied to one lane.

    `memory` counts finished tuples by bin: pending ones arrive again after a restart and are counted then. So the
    counts so far are the same with and without a restart.

    >>> recipe = StreamRecipe(quasi=["a"], bounds={"a": (0, 1)}, k=2, delay=9, confidential=["ill"], t=0.3,
    ...     categories={"ill": ["flu", "gout"]})
    >>> demanding = Demanding(recipe)
    >>> codes, faults = demanding.take({"ill": ["flu", "gout", "flu"]})
    >>> demanding.done(codes)
    >>> demanding.memory
    {'so_far': {'ill': [2, 1]}}
    """

    def __init__(self, recipe: StreamRecipe, memory: Mapping[str, Any] | None = None) -> None:
        self._asked = asked(recipe)
        self._bins = {one.attribute: Bins.of(recipe, one.attribute) for one in self._asked if one.model == CLOSE}
        counted = {name: one.count for name, one in self._bins.items() if not one.given}  # without a reference
        so_far = _remembered(memory or {}, counted)
        self._done = {name: np.array(counts, np.int64) for name, counts in so_far.items()}

    @property
    def demands(self) -> tuple[Demand, ...]:
        """The demands as methods see them, with the counts of finished tuples."""
        found = []
        for one in self._asked:
            if one.model == CLOSE:
                own = self._bins[one.attribute]
                base = own.given or tuple(self._done[one.attribute].tolist())
                one = replace(one, ordered=own.ordered, base=base, grows=not own.given)  # noqa: PLW2901
            found.append(one)
        return tuple(found)

    @property
    def memory(self) -> dict[str, Any]:
        """The state that a cursor must remember: a few plain values."""
        return {_MEMORY: {name: counts.tolist() for name, counts in self._done.items()}} if self._done else {}

    def take(self, columns: Mapping[str, Any]) -> tuple[NDArray[np.int64], dict[int, str]]:
        """Return the codes of all cells, a column per demand, and which records have a cell without a code."""
        faults: dict[int, str] = {}
        found: list[NDArray[np.int64]] = []
        for one in self._asked:
            if one.model == CLOSE:
                codes, bad = self._bins[one.attribute].take(columns[one.attribute])
                faults.update({at: sentence for at, sentence in bad if at not in faults})
            else:
                codes = identities(columns[one.attribute])
            found.append(codes)
        return np.stack(found, axis=1), faults

    def holds(self, codes: NDArray[np.int64], inside: NDArray[np.bool_]) -> bool:
        """Tell whether some pending tuples would form a class that meets all demands, after all arrivals."""
        for at, one in enumerate(self.demands):
            base = np.array(one.base, np.int64)
            if one.model == CLOSE and one.grows:
                base += np.bincount(codes[:, at], minlength=len(base))
            if not held(one, codes[inside, at].tolist(), base.tolist()):
                return False
        return True

    def done(self, codes: NDArray[np.int64]) -> None:
        """Count tuples that are no longer pending."""
        for at, one in enumerate(self._asked):
            if one.model == CLOSE and one.attribute in self._done:
                counts = self._done[one.attribute]
                counts += np.bincount(codes[:, at], minlength=len(counts))


def _remembered(memory: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the counts of a cursor, zeros if it is a new one."""
    so_far = memory.get(_MEMORY, {name: [0] * size for name, size in sizes.items()})
    fits = isinstance(so_far, Mapping) and {name: len(counts) for name, counts in so_far.items()} == dict(sizes)
    if not fits or not all(type(x) is int and x >= 0 for counts in so_far.values() for x in counts):
        raise DataError(
            "Stream: the stored state does not fit the recipe: its counts are of other fields or bins. Start a new "
            "stream, or continue with the recipe that it was started with."
        )
    return {name: list(counts) for name, counts in so_far.items()}


def witness_of(recipe: StreamRecipe, memory: Mapping[str, Any] | None = None) -> Witness | None:
    """Return the witness of a lane; None if a recipe demands only k. `memory` is that of its cursor.

    >>> recipe = StreamRecipe(quasi=["a"], bounds={"a": (0, 1)}, k=2, delay=9, confidential=["ill"], require={"p": 2})
    >>> witness_of(recipe).look(9, {"ill": ["flu", "gout"]})
    """
    if not recipe.require and recipe.t is None:
        return None
    return Witness([_told(recipe, one) for one in asked(recipe)], dict((memory or {}).get(_MEMORY, {})))


def digits_of(recipe: StreamRecipe) -> dict[str, Digits]:
    """Return how fine the released values of each quasi-identifier may be, if they have a resolution.

    >>> digits_of(StreamRecipe(quasi=["a"], bounds={"a": (0, 9)}, kinds={"a": "integer"}, k=2, delay=9))["a"].whole
    True
    """
    found = {}
    for name in recipe.quasi:
        kind, said = kind_of(recipe, name), recipe.resolution.get(name)
        if kind is Kind.DATETIME:
            found[name] = _moments(recipe.bounds[name], str(said or ""))
        elif kind is Kind.INTEGER and not recipe.exact_means:
            found[name] = Digits(step=1 if said is None else float(said), whole=True)
        elif said is not None:
            found[name] = Digits(step=float(said))
    return found


def _moments(bounds: tuple[Any, Any], unit: str) -> Digits:
    """Return how fine datetimes may be: by their unit, and no finer than their bounds."""
    dates = is_date(bounds[0])
    if dates and unit not in ("year", "month"):
        unit = "day"
    elif not unit and not any(end is not None and end.microsecond for end in map(moment, bounds)):
        unit = "second"
    return Digits(unit=unit, dates=dates)


def _told(recipe: StreamRecipe, demand: Demand) -> Asked:
    """Describe a demand for the witness; for closeness, with the domain of the field and its reference."""
    told = Asked(demand.model, demand.attribute, dict(demand.levels))
    if demand.model != CLOSE:
        return told
    name = demand.attribute
    kind, said = kind_of(recipe, name), recipe.reference.get(name, {})
    if kind in (Kind.NOMINAL, Kind.ORDINAL):
        taxonomy = recipe.known_of(name).taxonomy
        given = recipe.orders.get(name) or recipe.categories.get(name) or (taxonomy.paths if taxonomy else said)
        names = tuple(called(category) for category in given)
        names = names if kind is Kind.ORDINAL else tuple(sorted(names))
        shares = tuple(said.get(category, 0) for category in names) if said else ()
        return replace(told, categories=names, ordered=kind is Kind.ORDINAL, shares=shares)
    cuts, shares = tuple(said.get("cuts", ())), tuple(said.get("shares", ()))
    bounds = None if cuts else recipe.bounds.get(name)
    return replace(told, ordered=True, cuts=cuts, bounds=bounds, whole=kind is Kind.INTEGER, shares=shares)
