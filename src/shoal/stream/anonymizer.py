"""Stream anonymizer for programs: push tuples, get released ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, GuaranteeError, ParameterError, listing
from shoal.parameters import shown
from shoal.privacy.stream_gate.gate import hold
from shoal.privacy.stream_gate.released_fields import Declared, refuse_finer, refuse_undeclared
from shoal.privacy.stream_gate.witness import Witness
from shoal.recipe.contents import is_real
from shoal.stream.engine.bodies import Bodies, Kept, Released, columns_of, rows_of
from shoal.stream.engine.buffer import Core, Encoded
from shoal.stream.engine.demands import digits_of, witness_of
from shoal.stream.engine.intake import Intake
from shoal.stream.points._cells import listed
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.stream.wire.fields import at
from shoal.types.stream import Formed, Tally


class StreamAnonymizer:
    """Stream k-anonymity with a maximum delay ([DS17] Algorithms 2 and 3).

    Parameters
    ----------
    recipe
        The recipe, unless its fields are given by name: those of :class:`StreamRecipe`, such as `quasi`, `bounds`,
        `k`, `delay`, `order_weight`, `subject`. An unknown name is an error.

    >>> s = StreamAnonymizer(quasi=["age"], bounds={"age": (0, 100)}, k=2, delay=2, identifier=["name"])
    >>> s.push({"name": "Ann", "age": 30, "pay": 1}), s.push({"name": "Bob", "age": 80, "pay": 2})
    ([], [])
    >>> s.push({"name": "Cyd", "age": 40, "pay": 3})
    [{'age': 35.0, 'pay': 1, 'class': 0}, {'age': 35.0, 'pay': 3, 'class': 0}]
    >>> s.flush(), s.dropped
    ([], 1)
    """

    def __init__(self, recipe: StreamRecipe | None = None, **said: Any) -> None:
        if recipe is not None and said:
            raise ParameterError(
                f"StreamAnonymizer: {listing(list(said))} cannot be given together with a recipe. Change the recipe."
            )
        self.recipe = StreamRecipe.from_dict(said) if recipe is None else recipe
        self._core = Core(self.recipe)
        self._witness = witness_of(self.recipe)  # checks the demands other than k
        self._digits = digits_of(self.recipe)
        self._came = 0
        self._kept = Kept()
        self._intake = Intake(self.recipe)
        named = None if self.recipe.unknown == "keep" else self.recipe.named
        self._declared = Declared(self.recipe.quasi, self.recipe.removed, named, self.recipe.class_field)
        self._pending: list[list[Any]] = []
        self._broken = False

    def __repr__(self) -> str:
        return f"StreamAnonymizer({self._came:,} received, {self.waiting:,} pending, {self.dropped:,} dropped)"

    @property
    def dropped(self) -> int:
        """Number of tuples dropped because no class could be formed for them."""
        return self._core.tally.dropped

    @property
    def waiting(self) -> int:
        """Number of pending tuples."""
        return self._came - self._core.tally.released - self._core.tally.dropped

    @property
    def tally(self) -> Tally:
        """Counts of everything that happened so far."""
        return replace(self._core.tally, read=self._came)

    @property
    def released_unchanged(self) -> tuple[str, ...] | None:
        """Names of the fields that are released unchanged; None until the first class is released."""
        fields = self._intake.fields
        if fields.unknown == "keep" or fields.open:
            return None
        return tuple(sorted(fields.learnt.union(self.recipe.named)))

    def push(self, one: Mapping[str, Any], *, now: float | None = None) -> list[dict[str, Any]]:
        """Add a tuple; return the tuples released now, in whole classes, each with its class number.

        An invalid tuple, or one with an undeclared field, is rejected with a :class:`~shoal.errors.DataError` and
        changes nothing. Without `keep`, the fields of the tuples that arrive before the first release are the ones
        released unchanged.
        """
        self._ready(now)
        found = self._intake.rows((one,), 1)
        columns = found.columns
        cells = [column[0] for column in columns.values()]
        if not self._core.fits(cells):
            self._fitting(columns, 1)
        self._intake.accept(found)
        self._kept.add_rows(self._came, found.rest, columns.get(self.recipe.subject or ""))
        self._pending.append(cells)
        self._came += 1
        oldest = self._core.oldest
        first = self._came - len(self._pending) if oldest is None else oldest
        if self.recipe.delay_seconds is None and self._came - 1 - first < self.recipe.delay:
            return []  # nothing expires: it is enough to know that the tuple is valid
        return self._settle(now).to_pylist()

    def push_many(self, tuples: Any, *, now: float | None = None) -> Released:
        """Add many tuples: columns by name, a frame of pandas, polars or pyarrow, or a list of dicts.

        The classes are the same as for tuples pushed one by one. If one tuple is invalid, all are rejected and nothing
        changes.
        """
        self._ready(now)
        self._settle(now)
        if isinstance(tuples, Sequence) and not isinstance(tuples, (str, bytes)):
            return self._push_rows(tuples, now)
        given = columns_of(tuples)
        if self._intake.looks_into(given):
            return self._push_rows(rows_of(given), now)
        columns, bodies, fields = self._intake.columns(given, self._came)
        encoded = self._fitting(columns, len(bodies))
        if len(bodies):
            self._intake.fields = fields
            self._kept.add_table(bodies)
        return self._take(columns, encoded, now)

    def _push_rows(self, tuples: Sequence[Any], now: float | None) -> Released:
        oldest = self._came if self._core.oldest is None else self._core.oldest
        found = self._intake.rows(tuples, oldest + self.recipe.delay + 1 - self._came)
        encoded = self._fitting(found.columns, len(found.rest))
        self._intake.accept(found)
        self._kept.add_rows(self._came, found.rest, found.columns.get(self.recipe.subject or ""))
        return self._take(found.columns, encoded, now)

    def tick(self, now: float | None = None) -> list[dict[str, Any]]:
        """Release the tuples that have been pending for `delay_seconds`, with the rest of their classes.

        `now` is on the clock of `push`, which is ``time.monotonic`` unless `push` was given a time.
        """
        self._ready(now)
        self._settle(now)
        return self._step(lambda: self._core.expire(time.monotonic() if now is None else now)).to_pylist()

    def flush(self) -> list[dict[str, Any]]:
        """Release all pending tuples in classes; too few for a class are dropped and counted."""
        return self.flush_many().to_pylist()

    def flush_many(self) -> Released:
        """Flush like `flush`, and return columns."""
        self._ready(None)
        self._settle(None)
        return self._step(self._core.flush)

    def _settle(self, now: float | None) -> Released:
        """Process the tuples that were pushed one by one without letting any expire."""
        columns = zip(*self._pending, strict=True) if self._pending else [()] * len(self.recipe.wanted)
        named = dict(zip(self.recipe.wanted, columns, strict=True))
        encoded = self._fitting(named, len(self._pending))
        self._came -= len(self._pending)
        self._pending = []
        return self._take(named, encoded, now)

    def _fitting(self, columns: Mapping[str, Any], n: int) -> Encoded:
        encoded = self._core.encode(columns)
        if encoded.faults:
            at, reason = encoded.faults[0]
            if n > 1:
                many = f"{len(encoded.faults):,} of {n:,} tuples are invalid, and none was accepted"
                reason = f"StreamAnonymizer: {many}. The first is number {at + 1}. {reason}"
            raise DataError(reason)
        return encoded

    def _take(self, columns: Mapping[str, Any], encoded: Encoded, now: float | None) -> Released:
        at = time.monotonic() if now is None else now
        return self._step(lambda: self._accept(columns, encoded, at))

    def _accept(self, columns: Mapping[str, Any], encoded: Encoded, at: float) -> Formed:
        positions = np.arange(self._came, self._came + len(encoded.good))
        if self._witness is not None:
            own = {name: listed(columns[name]) for name in self.recipe.confidential}
            self._witness.came(positions.tolist(), own)
        self._came += len(positions)
        return self._core.accept(positions, encoded, at)

    def _ready(self, now: float | None) -> None:
        if self._broken:
            raise GuaranteeError(
                "StreamAnonymizer: an earlier step was interrupted, so the pending tuples may be inconsistent. "
                "Nothing more is released; start a new stream."
            )
        if now is not None and not is_real(now):
            raise ParameterError(f"StreamAnonymizer: now must be a finite number of seconds, got {shown(now)}.")

    def _step(self, form: Callable[[], Formed]) -> Released:
        """Form and release classes; if interrupted, release nothing from then on."""
        self._broken = True
        left = self._released(form())
        self._broken = False
        return left

    def _released(self, formed: Formed) -> Released:
        bodies, again = self._kept.leave(formed.positions)
        whose = self._subjects(formed.positions, bodies)
        hold(self.recipe.k, formed.sizes, whose, again=again, exact=self.recipe.subject_exact)
        if self._digits and len(formed.sizes):
            refuse_finer(self._digits, {name: map(str, formed.values[name]) for name in self._digits})
        self._kept.leave(formed.dropped)
        if len(formed.positions) or len(formed.dropped):
            self._intake.settle()
            self._refuse_undeclared(bodies)
        left = Released(formed.positions, formed.sizes, formed.first, formed.values, self.recipe.class_field, bodies)
        if self._witness is not None and len(left):
            self._look(self._witness, left, formed.moments.tolist())
        return left

    def _refuse_undeclared(self, found: Sequence[Bodies]) -> None:
        """Refuse to release undeclared fields."""
        if self._declared.named is None:
            return
        for bodies in found:
            refuse_undeclared(self._declared.strange(bodies.rest, self._intake.fields.learnt))

    def _look(self, witness: Witness, left: Released, moments: Sequence[int]) -> None:
        """Show every released class to the witness."""
        rows, end = left.to_pylist(), 0
        for moment, size in zip(moments, left.sizes.tolist(), strict=True):
            begin, end = end, end + size
            witness.look(moment, {n: [at(row, n) for row in rows[begin:end]] for n in self.recipe.confidential})

    def _subjects(self, positions: NDArray[np.int64], found: Sequence[Bodies]) -> Any:
        """Return the subjects of tuples as they were written; None: each tuple has its own subject."""
        if self.recipe.subject is None:
            return None
        numbers = all(isinstance(bodies.subjects, np.ndarray) and bodies.subjects.dtype.kind == "i" for bodies in found)
        who = np.empty(len(positions), np.int64 if numbers else object)
        for bodies in found:
            rows, at = bodies.find(positions)
            own = bodies.subjects
            who[rows] = own[at] if isinstance(own, np.ndarray) else [own[row] for row in at.tolist()]
        return who
