"""Losses of recoded quasi-identifiers against the values before: those of the release, and of recoding alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.engines.blockwise.class_values import owners_of, plain_values, variation_of
from shoal.flow.engines.blockwise.columns import QuasiColumn
from shoal.flow.engines.blockwise.encoding import Encoded
from shoal.flow.engines.blockwise.facts import Facts
from shoal.flow.engines.blockwise.scaling import Over, Skeleton, scalings_for
from shoal.kernels.arithmetic.sums import orderless_total
from shoal.points.template import Template
from shoal.types import distances


class RecodingLosses(NamedTuple):
    """Losses of each recoded quasi-identifier, in units of its deviation before recoding."""

    sse: dict[str, float]  #: of the release
    sst: dict[str, float]  #: of the values before
    recoding: dict[str, float]  #: as if every record were released as recoded


class Part(NamedTuple):
    """Some records: their recoded quasi-identifiers as they were read, as recoded, and as released."""

    before: pa.Table  #: as stored
    recoded: Mapping[str, pa.ChunkedArray]
    released: Mapping[str, pa.ChunkedArray]


def recoding_losses(found: Facts, before: Sequence[QuasiColumn], over: Over, parts: Iterable[Part]) -> RecodingLosses:
    """Return the losses of recoded columns: two passes over the values before, and one over all parts.

    `before` tells what the values before recoding are, `over` passes over these as they are stored.
    """
    skeleton = Skeleton.of(before, found.missing)
    template = Template.of(skeleton.attributes, scalings_for("standard", skeleton, before, over))
    encoded = Encoded(list(before), skeleton, template, template, {})
    lost: list[NDArray[np.float64]] = [
        _lost(before, template, part.before, after) for part in parts for after in (part.released, part.recoded)
    ]
    owners = owners_of(encoded)

    def by_column(pieces: Sequence[NDArray[np.float64]]) -> dict[str, float]:
        return {
            one.name: math.fsum(piece[at] for piece in pieces for at, owner in enumerate(owners) if owner == one.name)
            for one in before
        }

    return RecodingLosses(by_column(lost[::2]), variation_of(encoded, found), by_column(lost[1::2]))


def _lost(
    columns: Sequence[QuasiColumn], template: Template, before: pa.Table, after: Mapping[str, pa.ChunkedArray]
) -> NDArray[np.float64]:
    """Return what some records lose, by summand of the distance; a value may be a group of a taxonomy."""
    cells = {one.name: one.restored(before.column(one.name)) for one in columns}
    pair = template.pair(cells, {one.name: plain_values(after[one.name]) for one in columns})
    return np.array([orderless_total(np.ascontiguousarray(column)) for column in distances(*pair).T])
