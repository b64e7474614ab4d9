"""Replay: the classes of a run, formed again from inputs in which members of an atom have exchanged rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.flow.classes.form import Formed, form
from shoal.flow.plan.components import one_block
from shoal.flow.plan.plan import Plan
from shoal.flow.plan.release_traits import in_two_tables
from shoal.flow.stages.values import only_rows
from shoal.recipe.attacker import replays_required
from shoal.recipe.recipe import Recipe
from shoal.types import Block, Role, Table, with_columns

_SAMPLE = 100_000  # records of a larger table that are replayed
_STREAM = 20  # stream of the random generator, so that exchanges are independent of the method's own randomness


def replayed(plan: Plan, table: Table, made: Formed) -> tuple[int, int] | None:
    """Return how many replays gave the same classes, and how many were tried; None: none is required."""
    tried = replays_required(plan.recipe)
    if not tried:
        return None
    one_block(type(plan.method), len(made.partition.blocks))
    rng = np.random.default_rng((plan.recipe.seed, _STREAM))
    if len(table) > _SAMPLE:
        table = only_rows(table, np.sort(rng.choice(len(table), _SAMPLE, replace=False)))
        made = form(plan, table)
    (block,) = made.partition.blocks
    equal = 0
    for _ in range(tried):
        again = form(plan, exchanged(table, plan.recipe, block.atom_labels, rng))
        equal += _same(block, again.partition.blocks[0])
    return equal, tried


def exchanged(table: Table, recipe: Recipe, atoms: NDArray[np.int64], rng: np.random.Generator) -> Table:
    """Return a table in which members of an atom have exchanged their rows, with everything that belongs to a person.

    Confidential and other columns stay in their rows, as does a weight that is released as it is.
    """
    roles = [Role.QUASI, Role.IDENTIFIER, Role.SUBJECT]
    if recipe.release_weight != "record" or in_two_tables(recipe):
        roles.append(Role.WEIGHT)
    order = np.empty(len(atoms), np.int64)
    order[np.argsort(atoms, kind="stable")] = np.lexsort((rng.random(len(atoms)), atoms))
    names = table.schema.names(*roles)
    data = with_columns(table.data, {name: table.data.column(name).take(order) for name in names})
    return table.changed(data, set(names))


def _same(one: Block, other: Block) -> bool:
    """Tell whether two partitions have the same sets of rows as classes and as atoms."""
    pairs = ((one.labels, other.labels), (one.atom_labels, other.atom_labels))
    return len(one) == len(other) and all(_as_many(a, b) == int(a.max()) + 1 == int(b.max()) + 1 for a, b in pairs)


def _as_many(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    return len(np.unique(one * (int(other.max()) + 1) + other))
