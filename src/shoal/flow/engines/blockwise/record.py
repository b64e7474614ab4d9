"""Record of a run in blocks: exact losses, and a sample of whole classes for every other measure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from shoal.flow.stages.encode import confidential_columns, encode, weights_in
from shoal.flow.stages.measure import compared, measures, of_sample, recoding_readings
from shoal.flow.stages.values import people_in, strata_of
from shoal.flow.stages.versions import versions
from shoal.recipe.recipe import Recipe
from shoal.types import Comparison, Partition, Readings, Release, Role, Run, Schema, Table, with_columns


@dataclass(frozen=True, eq=False)
class Sampled:
    """A release, with a sample of its whole classes in memory.

    Attributes
    ----------
    recipe, missing
        The request, and how a missing quasi-identifier is encoded.
    original
        The original records of the sample.
    columns
        The released columns.
    values
        The released quasi-identifiers of the sample.
    names
        The different cells of each confidential column of categories, of all records.
    sse, sst
        Of each quasi-identifier, of all records.
    """

    recipe: Recipe
    missing: str
    original: Table
    columns: Schema
    values: Mapping[str, pa.ChunkedArray] = field(repr=False)
    names: Mapping[str, pa.ChunkedArray] = field(repr=False)
    sse: Mapping[str, float]
    sst: Mapping[str, float]
    recoding: Mapping[str, float] = field(default_factory=dict)  #: SSE of recoded ones, if they were only recoded
    weighed: bool = True  #: weights are those of the original records, not means of classes

    def run(self, partition: Partition) -> Run:
        """Return the record of the run; its comparison holds the sample."""
        recipe = self.recipe
        return Run(
            recipe.to_dict(),
            recipe.to_toml(),
            recipe.fingerprint,
            self.original.schema,
            partition,
            self._comparison,
            self._losses(),
            self._release(),
            versions=versions(),
        )

    def _comparison(self) -> Comparison:
        """Return the sample before and after."""
        before = self.original.as_read if self.recoding else self.original
        schema = before.schema
        typed, attributes = encode(before, schema.names(Role.QUASI), missing=self.missing)
        counted = self.recipe.counted if self.recipe.counted in self.original.data.column_names else None
        return replace(
            compared(attributes, schema, typed.data, with_columns(typed.data, self.values)),
            strata=strata_of(self.original),
            confidential=confidential_columns(self.original),
            seed=self.recipe.seed,
            sampling=weights_in(self.original) if self.weighed else None,
            people=people_in(self.original, counted, exact=self.recipe.subject_exact),
        )

    def _release(self) -> Release:
        """Return the sample as it is released."""
        kept = [one.name for one in self.columns.columns]
        released = with_columns(self.original.data, self.values).select(kept)
        return Release(self._with_names(released), self.columns, self.original.dialect)

    def _with_names(self, sample: pa.Table) -> pa.Table:
        """Add rows that hold every confidential category: evidence describes all of them, none by its row."""
        rows = max((len(cells) for cells in self.names.values()), default=0)
        more = {
            one.name: self.names[one.name].take(
                pa.array(range(rows), mask=np.arange(rows) >= len(self.names[one.name]))
            )
            if one.name in self.names
            else pa.nulls(rows, one.type)
            for one in sample.schema
        }
        return pa.concat_tables([sample, pa.table(more, schema=sample.schema)]).unify_dictionaries()

    def _losses(self) -> Readings:
        """Return the losses of all records, added up block by block."""
        release = self._readings(self.sse)
        return (
            Readings((*release.readings, *recoding_readings(self._readings(self.recoding))))
            if self.recoding
            else release
        )

    def _readings(self, lost: Mapping[str, float]) -> Readings:
        sse, sst = math.fsum(lost.values()), math.fsum(self.sst.values())
        found = {"sse": sse, "il_sse": 100.0 * sse / sst if sst > 0 else 0.0}
        chosen = measures(only=tuple(found))
        names = self.original.schema.names(Role.QUASI)
        return Readings(tuple(one.reading(found[one.name()], names) for one in chosen))


def with_losses(measured: Run, exact: Readings, records: int) -> Run:
    """Return a run whose sample was measured, with the exact losses and a note on the sample."""
    own = {one.name: one for one in exact.readings}
    whole = len(measured.comparison) == records
    read = measured.readings if whole else of_sample(measured.readings)
    readings = Readings(tuple(own.get(one.name, one) for one in read.readings))
    if whole:
        return replace(measured, readings=readings)
    note = (
        f"The audit and the information loss are those of all {records:,} records; every other figure is measured on "
        f"a sample of {len(measured.comparison):,} records in whole classes."
    )
    return replace(measured, readings=readings, notes=(*measured.notes, note))
