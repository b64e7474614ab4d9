"""A release of cells that were there before: each quasi-identifier's cells are taken from records of the table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.types import Partition, Release, Role, Schema, Table, with_columns


def taken(
    table: Table,
    rows: Mapping[str, NDArray[np.int64]],
    classes: Mapping[str, NDArray[np.int64]] | None = None,
) -> Release:
    """Release a table whose quasi-identifiers have the cells of other records.

    Parameters
    ----------
    table
        As it came: cells leave as they were written.
    rows
        For each quasi-identifier the record that each cell comes from.
    classes
        For each quasi-identifier the class of every record, for an audit that cannot see it in what leaves. With
        it the release also keeps the quasi-identifiers as they were.
    """
    import pyarrow as pa

    schema, subjects = table.schema, table.schema.names(Role.SUBJECT)
    data = table.data.select([name for name in table.data.column_names if schema[name].role.leaves])
    return Release(
        with_columns(data, {name: table.data.column(name).take(pa.array(where)) for name, where in rows.items()}),
        Schema(tuple(column for column in schema.columns if column.role.leaves)),
        table.dialect,
        table.data.column(subjects[0]) if subjects else None,
        origins=rows,
        original=None if classes is None else table.data.select(list(rows)),
        classes=classes or {},
    )


def refuse_values(owner: object, partition: Partition) -> None:
    """Refuse the values of a method that makes them itself: they are nobody's cells."""
    if any(block.values is not None for block in partition.blocks):
        raise ParameterError(
            f"{type(owner).__name__}: the method must leave the values to the release, this one makes them itself. "
            f"Take another method, or the release centroid."
        )
