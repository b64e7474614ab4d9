"""Method of a plan, block by block: the same classes as in memory."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.flow.classes.improve import canonical, improved
from shoal.flow.engines.blockwise.plan import Engine, refuse_one_block
from shoal.flow.plan.plan import Plan
from shoal.kernels.refine.blockwise import Blockwise
from shoal.parameters import build
from shoal.partition.auto import in_blocks
from shoal.partition.blocks import Blocks
from shoal.types import Coded, Points


def way_to_partition(
    plan: Plan, like: NDArray[np.float64] | Coded, records: int, rng: np.random.Generator, engine: Engine
) -> tuple[Blockwise, str]:
    """Return how records like these are partitioned, as the plan's method would in memory, and a note on it."""
    method, recipe = plan.method, plan.recipe
    if isinstance(method, Blocks):
        return method.blockwise(records, int(rng.integers(1 << 60))), ""
    if not in_blocks(like, records):
        refuse_one_block(plan, records, engine)
        return Blockwise(1, 1, Whole(plan, rng), _as_it_is, 0), ""
    effort = "fast" if recipe.t is not None else recipe.effort or "default"  # t unites several classes anyway
    chosen = replace(build(Blocks, {"k": method.k, "effort": effort}), whole=recipe.attacker == "algorithm")
    size = f"{records:,} records of {like.shape[1]} {'columns' if isinstance(like, Coded) else 'coordinates'}"
    demanding = recipe.t is not None or bool(plan.requirements) or recipe.subject is not None
    united = f", with classes united with effort {recipe.effort or 'default'}" if demanding else ""
    note = f"auto chose blocks with effort {effort}{united}: {size}"
    return chosen.blockwise(records, int(rng.integers(1 << 60))), note


class Whole:
    """The partition of a table of one block, as in memory."""

    def __init__(self, plan: Plan, rng: np.random.Generator) -> None:
        recipe, method = plan.recipe, plan.method
        way = improved(method, recipe.t, recipe.refinement, recipe.attacker, more=plan.repairs)
        self._way, self._rng = canonical(way, method, recipe.method, recipe.attacker), rng
        self.notes: list[str] = []

    def __call__(
        self, number: int, x: NDArray[np.float64] | Coded, people: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Form the classes of the only block."""
        rng = copy.deepcopy(self._rng)  # a worker may partition several strata, each as if it were the first
        part = self._way.partition(Points(x, subjects=people), rng)
        self.notes.append(part.note)
        return part.labels


def _as_it_is(
    turn: int,
    number: int,
    x: NDArray[np.float64] | Coded,
    people: NDArray[np.int64] | None,
    labels: NDArray[np.int32],
) -> NDArray[np.int64]:
    return labels.astype(np.int64)
