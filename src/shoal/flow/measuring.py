"""Release → Readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal import registry
from shoal.types import Attribute, Readings

if TYPE_CHECKING:
    import pyarrow as pa


def measure(attributes: Sequence[Attribute], masked: pa.Table) -> Readings:
    """Read every measure of a masked table."""
    import numpy as np

    from shoal.points.encoding import compare

    measures = [registry.load("utility", key)() for key in registry.keys("utility")]
    with np.errstate(all="ignore"):  # a masked value may lie so far off that its square is infinite
        comparison = compare(attributes, [masked.column(a.name) for a in attributes])
        return Readings(tuple(measure.measure(comparison) for measure in measures))
