"""Release → Readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal import registry
from shoal.types import Attribute, Comparison, Reading, Readings

if TYPE_CHECKING:
    import pyarrow as pa


def measure(attributes: Sequence[Attribute], masked: pa.Table) -> Readings:
    """Read every measure of a masked table."""
    from shoal.points.encoding import compare

    return _readings(compare(attributes, [a.like(masked.column(a.name)) for a in attributes]))


def _readings(comparison: Comparison) -> Readings:
    measures = [registry.load("utility", key)() for key in registry.keys("utility")]
    readings: list[Reading] = [measure.measure(comparison) for measure in measures]
    return Readings(tuple(readings))
