"""A table replayed as a stream: what it would lose, for one largest delay or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.parameters import unknown
from shoal.stream.engine.buffer import Core
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.stream.wire.fields import at
from shoal.types.stream import Formed, Tally

_BATCH = 8192


@dataclass(frozen=True, eq=False)
class Replayed:
    """What a table lost as a stream.

    Attributes
    ----------
    delay
        The largest delay δ.
    labels
        For each row the number of its class; below 0: it was dropped, or is no tuple.
    tally
        What became of the rows.
    delays
        For each row how many others came until it left; of no meaning for those that did not leave.
    """

    delay: int
    labels: NDArray[np.int64] = field(repr=False)
    tally: Tally
    delays: NDArray[np.int64] = field(repr=False)

    @property
    def loss(self) -> float:
        """Squared error in percent of the squared distance from the middle of the domain."""
        return 100.0 * self.tally.lost / self.tally.spread if self.tally.spread else 0.0

    @property
    def mse(self) -> float:
        """Squared error of a tuple on average, with attributes scaled to 0 … 1 by their bounds."""
        return self.tally.lost / self.tally.released if self.tally.released else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all but what is said of single rows."""
        left = self.delays[self.labels >= 0]
        return {
            "delay": self.delay,
            "loss": round(self.loss, 6),
            "mse": self.mse,
            "classes": self.tally.classes,
            "released": self.tally.released,
            "dropped": self.tally.dropped,
            "dead": self.tally.dead,
            "clamped": self.tally.clamped,
            "waited": {"average": float(left.mean()) if len(left) else 0.0, "longest": int(left.max(initial=0))},
        }


def replay_table(table: Any, recipe: StreamRecipe, delays: Sequence[int] | None = None) -> list[Replayed]:
    """Replay a table row by row, for each largest delay from the beginning."""
    columns = {name: _column(table, name) for name in recipe.wanted}
    return [_replayed(columns, table.num_rows, replace(recipe, delay=delay)) for delay in delays or [recipe.delay]]


def _column(table: Any, name: str) -> list[Any]:
    """Return the column of a name, or what the path leads to that it is."""
    if name in table.column_names:
        return list(table.column(name).to_pylist())
    heads = [name[:dot] for dot, sign in enumerate(name) if sign == "." and name[:dot] in table.column_names]
    if not heads:
        raise SchemaError(unknown("replay", "column", name, table.column_names))
    return [at({heads[0]: cell}, name) for cell in table.column(heads[0]).to_pylist()]


def _replayed(columns: dict[str, list[Any]], rows: int, recipe: StreamRecipe) -> Replayed:
    core = Core(recipe)
    labels, delays = np.full(rows, -1), np.zeros(rows, np.int64)

    def leave(formed: Formed) -> None:
        labels[formed.positions] = np.repeat(formed.first + np.arange(len(formed.sizes)), formed.sizes)
        delays[formed.positions] = np.repeat(formed.moments, formed.sizes) - formed.positions

    dead = 0
    for begin in range(0, rows, _BATCH):
        batch = {name: column[begin : begin + _BATCH] for name, column in columns.items()}
        formed, faults = core.take(np.arange(begin, min(begin + _BATCH, rows)), batch)
        dead += len(faults)
        leave(formed)
    leave(core.flush())
    return Replayed(recipe.delay, labels, replace(core.tally, read=rows, dead=dead), delays)
