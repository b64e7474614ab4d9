"""Recoded columns of a release: no cell lies beyond a declared limit, or is a finer category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import GuaranteeError
from shoal.flow.stages.values import as_values
from shoal.schema.roles import without_user_missing
from shoal.types import Release, Role, Schema, Table, called


def check_recoded(
    release: Release, recode: Mapping[str, Mapping[str, Any]], schema: Schema, *, as_written: bool
) -> None:
    """Refuse a release, of one table or two, in which a cell was not recoded.

    Parameters
    ----------
    release
        Its tables, as they were read back.
    recode
        The recodings of the recipe, by column.
    schema
        The columns as recoded: categories are the leaves of their taxonomies.
    as_written
        Whether quasi-identifiers are released as cells of records; class values and noise are not checked.

    Raises
    ------
    GuaranteeError
        If a number or date lies beyond the limits, or a category is not a declared group.
    """
    for one in (release, release.apart):
        if one is None:
            continue
        table = Table(one.data, schema, one.dialect)
        for name, how in recode.items():
            checked = name in one.data.column_names and (as_written or schema[name].role is not Role.QUASI)
            if checked and (_strays(table, name) if "level" in how else _exceeds(table, name, how)):
                raise GuaranteeError(f"Column {name!r} holds values that were not recoded. Nothing was written.")


def _strays(table: Table, name: str) -> bool:
    """Tell whether a column has a category that is not a leaf of its taxonomy."""
    tree = table.schema[name].taxonomy
    known = () if tree is None else tree.paths.keys()
    return any(called(one) not in known for one in _values(table, name).unique().drop_null().to_pylist())


def _exceeds(table: Table, name: str, how: Mapping[str, Any]) -> bool:
    """Tell whether a column has a number or date beyond its limits, and beyond the values in place of such."""
    breaks = how.get("breaks", ())
    low, high = (breaks[0], breaks[-1]) if breaks else (how.get("bottom"), how.get("top"))
    instead = [how[end] for end in ("bottom_as", "top_as") if end in how]
    ends = pc.min_max(_values(table, name))
    least, most = ends["min"], ends["max"]
    if not least.is_valid:
        return False
    below = low is not None and all(pc.less(least, _as(least, one)).as_py() for one in (low, *instead))
    return below or (high is not None and all(pc.greater(most, _as(most, one)).as_py() for one in (high, *instead)))


def _values(table: Table, name: str) -> pa.ChunkedArray:
    found = without_user_missing(table.data.schema.field(name), as_values(name, table))
    return found.cast(found.type.value_type) if pa.types.is_dictionary(found.type) else found


def _as(value: pa.Scalar, limit: Any) -> pa.Scalar:
    """Return a limit in a type that compares with a value."""
    if not isinstance(limit, str):
        return pa.scalar(limit)
    kind = value.type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return pa.scalar(limit).cast(kind)
    try:
        return pa.scalar(limit).cast(kind)
    except pa.ArrowInvalid:  # without an offset, it is in UTC
        return pc.assume_timezone(pa.scalar(limit).cast(pa.timestamp(kind.unit)), "UTC").cast(kind)
