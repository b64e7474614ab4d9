"""Digests of rows that do not depend on their order, by which rows that are lost, repeated or changed are noticed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.flow.engines.spark.frames import Rows, over, quoted
from shoal.flow.stages.row_digests import row_digests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def content_of(table: pa.Table, names: Sequence[str]) -> int:
    """Return a digest of some columns: equal rows, each as often, have the same. Those of parts add up modulo 2⁶⁴.

    >>> one = content_of(pa.table({"a": [1, 2, 2]}), ["a"])
    >>> one == content_of(pa.table({"a": [2, 1, 2]}), ["a"]), one == content_of(pa.table({"a": [1, 1, 2]}), ["a"])
    (True, False)
    """
    return int(np.sum(row_digests(table, names), dtype=np.uint64))


class Content(NamedTuple):
    """Number of rows of a DataFrame, and a digest of their content."""

    records: int
    digest: int


def contents(frame: DataFrame, names: Sequence[str]) -> Content:
    """Return the number of rows of a DataFrame, and the digest of some columns."""
    names = list(names)
    parts = over(Rows(frame.select(*map(quoted, names))), lambda data: (data.num_rows, content_of(data, names)))
    return Content(sum(rows for rows, _ in parts), sum(digest for _, digest in parts) % 2**64)
