"""Tables written to files and databases."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from shoal.flow.stages import write as flow
from shoal.locations import place


def write_table(table: pa.Table, target: str | Path, *, force: bool = False, keep_metadata: bool = False) -> None:
    """Write a table to a file of any known format, or to a database by URL, whole or not at all.

    As in :func:`shoal.protect`, metadata and unused categories are dropped unless `keep_metadata`.
    """
    flow.write_table(table, place(target), force=force, keep_metadata=keep_metadata)
