"""Replay of a table as a stream: the loss for one maximum delay or several."""

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
    """The result of replaying a table as a stream.

    Attributes
    ----------
    delay
        The maximum delay δ.
    labels
        For each row its class number; negative if it was dropped or is not a tuple.
    tally
        Counts of what happened to the rows.
    delays
        For each row how many others arrived before its release; undefined for unreleased rows.
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
        """Mean squared error of a tuple, with attributes scaled to 0 … 1 by their bounds."""
        return self.tally.lost / self.tally.released if self.tally.released else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything except values of single rows."""
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
    """Replay a table row by row, once for each maximum delay."""
    columns = {name: _column(table, name) for name in recipe.wanted}
    return [_replayed(columns, table.num_rows, replace(recipe, delay=delay)) for delay in delays or [recipe.delay]]


def _column(table: Any, name: str) -> list[Any]:
    """Return the column of a name, or of the path that the name stands for."""
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
