"""What classes of a stream must hold of confidential fields: the fields as codes, and what came so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal import registry, requirements
from shoal.errors import DataError, ParameterError
from shoal.parameters import shown
from shoal.stream import _bins_said
from shoal.stream._held import held
from shoal.stream._identity import identities
from shoal.stream.bins import Bins
from shoal.types.stream import Demand

if TYPE_CHECKING:
    from shoal.stream.recipe import StreamRecipe

MODELS = (
    "p_sensitivity", "distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity", "t_closeness",
)  # fmt: skip
CLOSE = "t_closeness"
_OWNER = "StreamRecipe"
_MOST = 100  # counts that a cursor remembers, each of up to ten digits: about a kilobyte
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


def asked(recipe: StreamRecipe) -> tuple[Demand, ...]:
    """Return what a recipe demands of confidential fields, field by field and model by model."""
    required = requirements.resolve(_OWNER, recipe.require)
    if recipe.t is not None:
        required += requirements.resolve(_OWNER, {CLOSE: recipe.t})
    found = []
    for one in required:
        for name in one.columns or recipe.confidential:
            levels = tuple((level, value) for level, value in one.levels if value is not None)
            found.append(Demand(one.key, name, levels))
    return tuple(found)


def faults(recipe: StreamRecipe) -> list[str]:
    """Return what is wrong with what a recipe demands."""
    if not recipe.require and recipe.t is None:
        return [_unused(name) for name in recipe.reference]
    try:
        required = requirements.resolve(_OWNER, recipe.require)
    except ParameterError as error:
        return [str(error)]
    if found := [*_impossible(recipe, required), *requirements.misplaced(_OWNER, required, recipe.confidential)]:
        return found
    close = [one.attribute for one in asked(recipe) if one.model == CLOSE]
    found = [_unused(name) for name in recipe.reference if name not in close]
    found += [fault for name in close for fault in _bins_said.faults(recipe, name)]
    return found or _too_many(recipe, close)


def _unused(name: str) -> str:
    return f"{_OWNER}: reference names {name!r}, in which nothing must be close. Demand t of it, or take it out."


def _impossible(recipe: StreamRecipe, required: Sequence[requirements.Required]) -> list[str]:
    found = []
    if registry.says("stream_partition", recipe.method, "only_k"):
        what = "require" if recipe.require else "t"
        found.append(
            f"{_OWNER}: {what} cannot be held by the method {recipe.method}, which promises only k. Take nearest or "
            f"look_ahead, or leave out {what}."
        )
    found += [
        f"{_OWNER}: classes of a stream can hold {', '.join(MODELS)}, got {one.key}. Leave it out."
        for one in required
        if one.key not in MODELS
    ]
    if recipe.t is not None and any(one.key == CLOSE for one in required):
        found.append(f"{_OWNER}: t is given, and required too. Say it once.")
    most = recipe.delay + 1  # so many wait at once
    found += [
        f"{_OWNER}: {name} must be at most delay + 1 = {most:,}, for no class holds more tuples of different values, "
        f"got {shown(level)}. Lower {name}, or raise delay."
        for one in required
        for name, level in one.levels
        if name in ("p", "l") and level > most
    ]
    return found


def _too_many(recipe: StreamRecipe, close: Sequence[str]) -> list[str]:
    counted = [one for one in (Bins.of(recipe, name) for name in close) if not one.given]
    many = sum(one.count for one in counted)
    if many <= _MOST:
        return []
    return [
        f"{_OWNER}: t counts {many} categories and bins of what came so far, at most {_MOST} can be remembered. "
        "Give some fields a reference with shares, or fewer cuts."
    ]


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
