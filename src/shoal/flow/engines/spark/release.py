"""Released rows of a block on a worker, with hidden columns for the audit and a sample of the originals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.flow.engines.blockwise.block import CLASS
from shoal.flow.engines.blockwise.class_values import Released, release_block
from shoal.flow.engines.blockwise.encoding import Encoded, skeleton_rows
from shoal.flow.engines.blockwise.facts import SUBJECT, WEIGHT, Facts
from shoal.flow.engines.blockwise.released_columns import released_columns
from shoal.flow.plan.plan import Plan
from shoal.types import Schema

ORIGINAL = "\0original_"  #: prefix of the original values of a sample, which are not released
_SAMPLE = 100_000  # records, about, of the whole classes on which measures other than the loss are taken


@dataclass(frozen=True)
class ReleaseBlock:
    """Replaces the quasi-identifiers of a block with the values of its classes."""

    plan: Plan
    facts: Facts
    encoded: Encoded

    @property
    def columns(self) -> Schema:
        """The released columns."""
        return released_columns(self.facts.schema, self.plan.recipe)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that the audit needs and that are not released."""
        recipe = self.plan.recipe
        weighted = recipe.weight is not None and recipe.release_weight != "record"
        return (*((SUBJECT,) if recipe.subject is not None else ()), *((WEIGHT,) if weighted else ()))

    @property
    def every(self) -> int:
        """Interval between sampled classes."""
        return max(1, -(-self.facts.records // _SAMPLE))

    def example(self, arrow: pa.Schema) -> pa.Schema:
        """Return the columns of released rows and the hidden ones, by releasing a few records that need not occur."""
        rows, recipe = skeleton_rows(self.encoded), self.plan.recipe
        n = rows.num_rows
        for name in (one.name for one in self.columns.columns if one.name not in rows.column_names):
            rows = rows.append_column(name, pa.nulls(n, arrow.field(name).type))
        if recipe.weight is not None:
            rows = rows.append_column(WEIGHT, pa.array(np.ones(n)))
        if recipe.subject is not None:
            rows = rows.append_column(SUBJECT, pa.array([b""] * n, pa.binary()))
        return self(0, rows.append_column(CLASS, pa.array(np.zeros(n, np.int64))))[0].schema

    def __call__(self, number: int, block: pa.Table) -> tuple[pa.Table, Released]:
        """Return the released rows of a block, and the values of its classes."""
        labels = block.column(CLASS).to_numpy().astype(np.int64)
        found = release_block(self.plan, self.facts, self.encoded, 0, block, labels)
        fresh = {one.name: found.values.column(one.name).take(pa.array(labels)) for one in self.encoded.columns}
        weight = self.plan.recipe.weight
        if weight is not None and self.plan.recipe.release_weight == "class":
            fresh[weight] = found.values.column(WEIGHT).take(pa.array(labels))
        names = self.columns.names()
        shown = {name: fresh[name] if name in fresh else block.column(name) for name in names}
        beside = {name: block.column(name) for name in self.hidden}
        return pa.table({**shown, **beside, **self._sample(number, block, labels)}), found

    def _sample(self, number: int, block: pa.Table, labels: NDArray[np.int64]) -> dict[str, pa.ChunkedArray]:
        """Return the original quasi-identifiers and the class of records in the sample; null for others."""
        inside = pa.array((labels + number) % self.every == 0)
        found = {CLASS: pc.if_else(inside, pa.array((number << 32) + labels), pa.scalar(None, pa.int64()))}
        for one in self.encoded.columns:
            column = one.restored(block.column(one.name))
            found[ORIGINAL + one.name] = pc.if_else(inside, column, pa.scalar(None, column.type))
        return found
