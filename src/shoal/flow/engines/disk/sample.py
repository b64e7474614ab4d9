"""Sample of a run on disk: the original records of some whole classes, for measures and quick attacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.engines.blockwise.facts import ROW
from shoal.flow.engines.blockwise.recoding_losses import Part, recoding_losses
from shoal.flow.engines.blockwise.record import Sampled
from shoal.flow.engines.disk.output import Output
from shoal.types import Partition, Run, Table, with_columns


class Sample(NamedTuple):
    """Original records of some whole classes, in the order of the input, and their classes."""

    table: Table
    labels: NDArray[np.int32]

    @classmethod
    def of(cls, output: Output) -> Sample:
        """Return the sample that an output kept when it was written; it keeps it no longer."""
        data, earlier = (pa.concat_tables(some).combine_chunks() for some in list(zip(*output.sample, strict=True))[:2])
        labels = np.concatenate([own for _, _, own in output.sample])
        output.sample.clear()
        before = None
        if output.example is not None:
            read = output.example.as_read
            columns = {name: earlier.column(name) for name in earlier.column_names}
            before = Table(with_columns(data, columns), read.schema, read.dialect)
        return cls(Table(data, output.found.schema, output.found.dialect, before), labels)


def run_of(output: Output, sample: Sample, partition: Partition) -> Run:
    """Return the record of a run; its comparison holds a sample."""
    formed, found, values = output.formed, output.found, output.values_of(sample.labels)
    sampled = Sampled(
        output.recipe, found.missing, sample.table, output.schema, values, output.names, formed.sse, formed.sst
    )
    if found.before:
        lost = recoding_losses(found, found.before, found.over_before, _parts(output))
        sse, sst = {**formed.sse, **lost.sse}, {**formed.sst, **lost.sst}
        sampled = replace(sampled, sse=sse, sst=sst, recoding=lost.recoding)
    return sampled.run(partition)


def _parts(output: Output) -> Iterator[Part]:
    """Yield all records before and after recoding, and as they are released."""
    found, names = output.found, [one.name for one in output.found.before]
    recoded = [one for one in found.columns if one.name in names]
    for stored, before in zip(found.parts(), found.parts_before(), strict=True):
        labels = pa.array(output.formed.labels[stored.column(ROW).to_numpy()])
        released = {name: output.formed.values.column(name).take(labels) for name in names}
        yield Part(before, {one.name: one.restored(stored.column(one.name)) for one in recoded}, released)
