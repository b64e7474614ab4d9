"""Attacks on a DataFrame that need no matching of rows, on a sample of whole classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.flow.engines.spark.frames import Rows, arrow_schema, over, quoted
from shoal.flow.engines.spark.input import input_of
from shoal.flow.gate.attacks import as_released, run_attacks, with_parsed
from shoal.flow.stages.row_digests import occurrences
from shoal.recipe.recipe import Recipe
from shoal.types import Attempt, Attempts, Case, Release, Role, Schema, Table
from shoal.types.attack import AllRecords
from shoal.types.sample import SampleSize

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SAMPLE = 100_000  # records, about
_UNMATCHED = (
    "It needs to know which released row belongs to which original, and rows have no order in Spark. shoal protect "
    "runs it on a sample before it publishes."
)


def attack_on_spark(original: DataFrame, released: DataFrame, recipe: Recipe) -> Attempts:
    """Run the attacks that look at the release alone; `original` gives the roles and kinds of its columns."""
    from pyspark.sql import functions as f

    meant = input_of(original, recipe).schema
    there = arrow_schema(released).names
    by = [name for name in meant.names(Role.QUASI) if name in there]
    records = released.count()
    every = max(1, -(-records // _SAMPLE))
    class_ = f.xxhash64(*(f.col(quoted(name)) for name in by)) if by else f.lit(0)
    sample = released.where(f.pmod(class_, f.lit(every)) == 0).toArrow()
    schema = Schema(tuple(one for one in meant.columns if one.name in there))
    before = Table(sample.select(schema.names()), schema)

    def times(names: Sequence[str]) -> NDArray[np.int64]:
        own = sample.select(list(names))
        parts = over(Rows(released.select(*map(quoted, names))), lambda data: occurrences(own, [data], names))
        return np.asarray(np.sum(parts, axis=0), np.int64)

    case = Case(
        with_parsed(before, exact=True),
        (as_released(Release(sample, Schema(())), before),),
        recipe.to_dict(),
        np.arange(len(before)),
        everything=AllRecords(records, lambda: [sample], lambda: [sample], times),
    )
    keys = registry.keys("attack")
    run = {one.attack: one for one in run_attacks(case, [key for key in keys if _looks_at_release(key)])}
    attempts = tuple(run.get(key) or Attempt.not_run(key, _UNMATCHED) for key in keys)
    return Attempts(attempts, SampleSize(len(case), records).stated)


def _looks_at_release(key: str) -> bool:
    """Tell whether an attack compares the release with nothing else."""
    return not {"rows", "replay", "recipe", "evidence"} & set(registry.says("attack", key, "needs") or ())
