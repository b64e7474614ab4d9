"""Release of existing cells: each quasi-identifier's cells are taken from records of the table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
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
        The original table: cells are released as written.
    rows
        For each quasi-identifier, the record that each cell comes from.
    classes
        For each quasi-identifier, the class of every record, for an audit that cannot see it in the output. If given,
        the
            release also keeps the original quasi-identifiers.
    """
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


def cell_ranks(cells: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the rank of each cell among all that are written differently, by text; missing ones come last.

    >>> import pyarrow as pa
    >>> cell_ranks(pa.chunked_array([["b", None, "a", "b"]])).tolist()
    [1, 2, 0, 1]
    """
    if isinstance(cells.type, pa.BaseExtensionType):
        cells = cells.cast(cells.type.storage_type)
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    coded = cells.combine_chunks().dictionary_encode(null_encoding="mask")
    texts = [str(value) for value in coded.dictionary.to_pylist()]
    places = np.empty(len(texts) + 1, np.int64)
    places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    places[-1] = len(texts)
    return np.asarray(places[coded.indices.fill_null(len(texts)).to_numpy()])


def refuse_values(owner: object, partition: Partition) -> None:
    """Refuse a method that computes values itself, because these are not cells of any record."""
    if any(block.values is not None for block in partition.blocks):
        raise ParameterError(
            f"{type(owner).__name__}: the release computes the values, but this method computes them itself. Choose "
            "another method, or the release centroid."
        )
