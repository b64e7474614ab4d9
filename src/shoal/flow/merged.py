"""What strata that were merged leave as: who knows the stratum must not find fewer than k."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.flow.categories import categories
from shoal.types import Kind, Role, Table, with_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_AND = " + "


def as_merged(table: Table, strata: NDArray[np.int64]) -> Table:
    """Return a table whose columns of strata are the same in all records of strata that were merged.

    A category in text leaves with the names of all that were merged, in alphabetical order: ``north + south``. Of other
    columns (numbers, dates, ordered categories) there is no such value: they are missing in these records, and so is
    what was missing in one of them.

    **Guarantee.** Records of one stratum, as merged, are equal in all columns of strata; a column in which those that
    were merged do not differ is as it was, and so is every record of a stratum that was not merged.

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Schema
    >>> schema = Schema((Column("region", Role.STRATA, Kind.NOMINAL),))
    >>> as_merged(Table(pa.table({"region": list("abc")}), schema), np.array([0, 1, 0])).data["region"].to_pylist()
    ['a + c', 'b', 'a + c']
    """
    columns = {}
    for name in table.schema.names(Role.STRATA):
        numbers = categories(name, table.data.column(name), "cannot be strata. Give it another role.")
        pairs = np.unique(np.column_stack((strata, numbers)), axis=0)
        differing = np.bincount(pairs[:, 0]) > 1
        if differing.any():
            columns[name] = _one_value(table, name, strata, differing)
    return replace(table, data=with_columns(table.data, columns)) if columns else table


def _one_value(
    table: Table, name: str, strata: NDArray[np.int64], differing: NDArray[np.bool_]
) -> pa.Array | pa.ChunkedArray:
    """Return a column with one value in each stratum in which it has several."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from shoal.schema.cells import is_text, without_missing
    from shoal.schema.user_missing import without_user_missing

    column = table.data.column(name)
    coded = pa.types.is_dictionary(column.type)
    ordered = coded and column.type.ordered
    plain = column.cast(column.type.value_type) if coded else column
    mask = pa.array(differing[strata])
    if ordered or not is_text(plain) or table.schema[name].kind is not Kind.NOMINAL:
        return pc.if_else(mask, pa.scalar(None, plain.type), plain)
    known = without_user_missing(table.data.schema.field(name), plain)
    known = known if table.dialect is None else without_missing(known, table.dialect)
    joined: dict[int, str | None] = {}
    for stratum in np.flatnonzero(differing):
        texts = known.filter(pa.array(strata == stratum)).unique().to_pylist()
        joined[int(stratum)] = None if None in texts else _AND.join(sorted(texts))
    fresh = pa.chunked_array([pa.array([joined.get(int(one)) for one in strata], plain.type)])
    found = pc.if_else(mask, fresh, plain)
    return found.combine_chunks().dictionary_encode() if coded else found
