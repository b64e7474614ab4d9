"""Sample of a run on disk: the original records of some whole classes, for measures and quick attacks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.engines.blockwise.record import Sampled
from shoal.flow.engines.disk.output import Output
from shoal.types import Partition, Run, Table


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
    formed, values = output.formed, output.values_of(sample.labels)
    sampled = Sampled(
        output.recipe, output.found.missing, sample.table, output.schema, values, output.names, formed.sse, formed.sst
    )
    return sampled.run(partition)
