"""Record of a run on disk: exact losses, and a sample of whole classes for every other measure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.engines.disk.output import Output
from shoal.flow.stages.encode import confidential_columns, encode
from shoal.flow.stages.measure import compared, measures
from shoal.flow.stages.versions import versions
from shoal.types import Comparison, Partition, Readings, Release, Role, Run, Table, with_columns


class Sample(NamedTuple):
    """Original records of some whole classes, in the order of the input, and their classes."""

    table: Table
    labels: NDArray[np.int32]

    @classmethod
    def of(cls, output: Output) -> Sample:
        """Return the sample that an output kept when it was written; it keeps it no longer."""
        data = pa.concat_tables([table for table, _ in output.sample]).combine_chunks()
        labels = np.concatenate([own for _, own in output.sample])
        output.sample.clear()
        return cls(Table(data, output.found.schema, output.found.dialect), labels)


def run_of(output: Output, sample: Sample, partition: Partition) -> Run:
    """Return the record of a run; its comparison holds a sample."""
    recipe = output.recipe
    release, comparison = _sampled(output, sample)
    return Run(
        recipe.to_dict(),
        recipe.to_toml(),
        recipe.fingerprint,
        output.found.schema,
        partition,
        comparison,
        _losses(output),
        release,
        versions=versions(),
    )


def _sampled(output: Output, sample: Sample) -> tuple[Release, Comparison]:
    """Return the sample as it is released, and before and after."""
    recipe, found = output.recipe, output.found
    table, labels = sample
    typed, attributes = encode(table, found.schema.names(Role.QUASI), missing=found.missing)
    values = output.values_of(labels)
    after = with_columns(typed.data, values)
    comparison = replace(
        compared(attributes, found.schema, typed.data, after),
        confidential=confidential_columns(table),
        seed=recipe.seed,
    )
    kept = [one.name for one in output.schema.columns]
    released = with_columns(table.data, values).select(kept)
    return Release(_with_names(released, output), output.schema, found.dialect), comparison


def _with_names(sample: pa.Table, output: Output) -> pa.Table:
    """Add rows that hold every confidential category of the table: evidence describes all of them, none by its row."""
    rows = max((len(cells) for cells in output.names.values()), default=0)
    more = {
        one.name: output.names[one.name].take(
            pa.array(range(rows), mask=np.arange(rows) >= len(output.names[one.name]))
        )
        if one.name in output.names
        else pa.nulls(rows, one.type)
        for one in sample.schema
    }
    return pa.concat_tables([sample, pa.table(more, schema=sample.schema)]).unify_dictionaries()


def _losses(output: Output) -> Readings:
    """Return the losses of all records, added up block by block."""
    formed = output.formed
    sse, sst = math.fsum(formed.sse.values()), math.fsum(formed.sst.values())
    found = {"sse": sse, "il_sse": 100.0 * sse / sst if sst > 0 else 0.0}
    chosen = measures(only=tuple(found))
    return Readings(tuple(one.reading(found[one.name()], output.found.schema.names(Role.QUASI)) for one in chosen))


def with_losses(measured: Run, exact: Readings, records: int) -> Run:
    """Return a run whose sample was measured, with the exact losses and a note on the sample."""
    own = {one.name: one for one in exact.readings}
    readings = Readings(tuple(own.get(one.name, one) for one in measured.readings.readings))
    note = (
        f"The audit and the information loss are those of all {records:,} records; every other figure is measured on "
        f"a sample of {len(measured.comparison):,} records in whole classes."
    )
    return replace(measured, readings=readings, notes=(*measured.notes, note))
