"""What classes of a stream must hold of confidential fields: the fields as codes, and what came so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.stream._demands_said import CLOSE, asked
from shoal.stream._held import held
from shoal.stream._identity import identities
from shoal.stream.bins import Bins
from shoal.types.stream import Demand

if TYPE_CHECKING:
    from shoal.stream.recipe import StreamRecipe

_MEMORY = "so_far"


class Demanding:
    """The demands of a recipe, at work on one lane.

    `memory` counts the tuples that are done, by bin: those that wait come again after a restart, and are counted then.
    So what came so far is the same with a restart and without.

    >>> from shoal.stream.recipe import StreamRecipe
    >>> recipe = StreamRecipe(quasi=["a"], bounds={"a": (0, 1)}, k=2, delay=9, confidential=["ill"], t=0.3,
    ...     categories={"ill": ["flu", "gout"]})
    >>> demanding = Demanding(recipe)
    >>> codes, faults = demanding.take({"ill": ["flu", "gout", "flu"]})
    >>> demanding.done(codes)
    >>> demanding.memory
    {'so_far': {'ill': [2, 1]}}
    """

    def __init__(self, recipe: StreamRecipe, memory: Mapping[str, Any] | None = None) -> None:
        self.recipe = recipe
        so_far = _remembered(memory or {}, {name: one.count for name, one in self._counted.items()})
        self._done = {name: np.array(counts, np.int64) for name, counts in so_far.items()}

    @cached_property
    def _asked(self) -> tuple[Demand, ...]:
        return asked(self.recipe)

    @cached_property
    def _bins(self) -> dict[str, Bins]:
        return {one.attribute: Bins.of(self.recipe, one.attribute) for one in self._asked if one.model == CLOSE}

    @cached_property
    def _counted(self) -> dict[str, Bins]:
        """The fields whose bins are counted, for want of a reference."""
        return {name: one for name, one in self._bins.items() if not one.given}

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What a method is told, with the counts of what was done before."""
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
        """What a cursor must remember: plain values, and few."""
        return {_MEMORY: {name: counts.tolist() for name, counts in self._done.items()}} if self._done else {}

    def take(self, columns: Mapping[str, Any]) -> tuple[NDArray[np.int64], dict[int, str]]:
        """Return the codes of all cells, a column for each demand, and which records have a cell without one."""
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
        """Tell whether some of the tuples that wait would be a class that holds all demands, now that all came."""
        for at, one in enumerate(self.demands):
            base = np.array(one.base, np.int64)
            if one.model == CLOSE and one.grows:
                base += np.bincount(codes[:, at], minlength=len(base))
            if not held(one, codes[inside, at].tolist(), base.tolist()):
                return False
        return True

    def done(self, codes: NDArray[np.int64]) -> None:
        """Count tuples that do not wait any more."""
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
            "Stream: what the cursor remembers does not fit the recipe: its counts are of other fields or bins. "
            "Begin the stream anew, or go on with the recipe that it was begun with."
        )
    return {name: list(counts) for name, counts in so_far.items()}
