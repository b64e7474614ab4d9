"""Checks of written DataFrames: their number of rows, and a digest of all cells that does not depend on their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from shoal.flow.engines.spark.frames import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Content(NamedTuple):
    """The rows of a DataFrame, as far as a digest tells: equal rows, each as often, have equal contents."""

    records: int
    digest: int


def content_of(frame: DataFrame, names: Sequence[str]) -> Content:
    """Return the content of some columns of a DataFrame: one aggregation, in which rows have no order."""
    from pyspark.sql import functions as f

    one = f.xxhash64(*(f.col(quoted(name)) for name in names)) if names else f.lit(0)
    wide = f.sum(one.cast("decimal(38,0)"))
    found = frame.agg(f.count(f.lit(1)).alias("records"), wide.alias("digest")).toArrow()
    return Content(found.column(0)[0].as_py(), int(found.column(1)[0].as_py() or 0))
