"""Columns → attributes and weights; faults are collected and raised together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from shoal import registry
from shoal.errors import DataError, SchemaError, data_rows, raise_all
from shoal.flow.stages.values import as_values
from shoal.points.codes import confidential_of, with_spellings
from shoal.types import Attribute, Column, Confidential, Kind, Numbers, Role, Table, with_columns


def confidential_columns(table: Table, names: Sequence[str] | None = None) -> tuple[Confidential, ...]:
    """Return the confidential attributes of a table, or the named columns as such."""
    chosen = table.schema.names(Role.CONFIDENTIAL) if names is None else names

    def of(name: str) -> Confidential:
        return table.once(
            ("confidential", (name,), None), lambda: confidential_of(table.schema[name], as_values(name, table))
        )

    return tuple(map(of, chosen))


def confidential_arrays(given: ArrayLike, n: int) -> tuple[Confidential, ...]:
    """Return the confidential attributes of bare points, one per column; numbers are ordered, text is not."""
    array = np.asarray(given)
    columns = array.T if array.ndim == 2 else [array]
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise DataError(
            f"microaggregate: confidential must have one value, or one row, for each of the {n:,} points, "
            f"got the shape {array.shape}."
        )
    found = []
    for j, column in enumerate(columns):
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise DataError("microaggregate: confidential must be finite. Fill or remove these rows.")
        values, codes = np.unique(column, return_inverse=True)
        numbers = values.astype(np.float64) if column.dtype.kind in "biuf" else None
        ordered, merged = numbers is not None, None
        if column.dtype.kind == "U":
            codes, merged = with_spellings(codes, pa.array(values.tolist(), pa.string()))
        counts = np.bincount(codes)
        found.append(Confidential(str(j), codes.astype(np.int64), counts, ordered, values=numbers, merged=merged))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Encoded:
    """A column as an attribute, its values if they differ from its cells, and its datetime format."""

    attribute: Attribute
    typed: pa.ChunkedArray | None
    moment: str | None


def encode(table: Table, names: Sequence[str], *, missing: str = "refuse") -> tuple[Table, list[Attribute]]:
    """Return the table with parsed cells in these columns, and the attributes; raises all faults at once.

    `missing` says how a missing value is treated: ``category``, ``fill``, or ``refuse``.
    """
    faults: list[str] = []
    found: dict[str, _Encoded] = {}
    for name in names:
        try:
            found[name] = table.once(("attribute", (name,), missing), partial(_encoded, table, name, missing))
        except (DataError, SchemaError) as error:
            faults.append(str(error))
    raise_all(DataError, faults)
    typed = {name: one.typed for name, one in found.items() if one.typed is not None}
    moments = [one.moment for one in found.values() if one.moment is not None]
    dialect = None if table.dialect is None else replace(table.dialect, moment=moments[-1] if moments else "T")
    values = replace(table, data=with_columns(table.data, typed), dialect=dialect)
    return values, [one.attribute for one in found.values()]


def values_of(table: Table, name: str, missing: str) -> tuple[pa.ChunkedArray, str | None]:
    """Return a quasi-identifier's values, parsed if it is text, and the format of its dates and times if it has one.

    A category −0 is 0.
    """
    from shoal.schema.cells import is_text, moment_sign, without_nan
    from shoal.schema.conventions import refusal as unread_refusal
    from shoal.schema.roles import without_user_missing

    meant = table.schema[name]
    if said := unread_refusal(meant, table.data.column(name), table.dialect):
        raise DataError(said)
    column, moment = without_user_missing(table.data.schema.field(name), table.data.column(name)), None
    try:
        if is_text(column):
            moment = moment_sign(column) if meant.kind is Kind.DATETIME else None
            column = as_values(name, table, exact=meant.role is Role.QUASI)
        _refuse_far_dates(name, column)
        if meant.kind in (Kind.NOMINAL, Kind.ORDINAL) and pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0, column.type))
        return column if missing == "refuse" else without_nan(column), moment
    except pa.ArrowException:  # its message may contain a value
        raise _wrong_kind(meant, column.type) from None


def _refuse_far_dates(name: str, column: pa.ChunkedArray) -> None:
    """Refuse dates and times that Python, and most formats, cannot represent; nanoseconds never reach that far."""
    kind = column.type
    if not (pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.unit != "ns")):
        return
    try:
        pc.min_max(column).as_py()
    except (OverflowError, ValueError):
        raise DataError(
            f"Column {name!r}: dates must be in the years 1 to 9999, some are not. Correct them, or give the column "
            "another role."
        ) from None


def _encoded(table: Table, name: str, missing: str) -> _Encoded:
    from shoal.points.encoding import attribute_of
    from shoal.schema.roles import in_order

    meant, given = table.schema[name], table.data.column(name)
    column, moment = values_of(table, name, missing)
    encoder = registry.for_kind("points", meant.kind)
    try:
        attribute = attribute_of(meant, in_order(meant, column), encoder, missing, given.type)
    except pa.ArrowException:  # its message may contain a value
        raise _wrong_kind(meant, column.type) from None
    return _Encoded(attribute, None if column is given else column, moment)


def _wrong_kind(column: Column, found: pa.DataType) -> DataError:
    return DataError(f"Column {column.name!r}: {found} cannot be {column.kind.value}. Give it another kind or role.")


def numbers_in(table: Table, name: str, what: str) -> NDArray[np.float64]:
    """Return the values of a numeric or datetime column."""
    (attribute,) = encode(table, [name])[1]
    if not isinstance(attribute, Numbers):
        raise SchemaError(f"Column {name!r}: {what} must hold numbers, dates or times. Name another column.")
    return attribute.values


def weights_in(table: Table) -> NDArray[np.float64] | None:
    """Return each record's sampling weight; None without a weight column."""
    names = table.schema.names(Role.WEIGHT)
    return table.once(("weights", names, None), lambda: _weights(table, names[0])) if names else None


def _weights(table: Table, name: str) -> NDArray[np.float64]:
    if table.schema[name].kind not in (Kind.CONTINUOUS, Kind.INTEGER):
        raise SchemaError(f"Column {name!r}: a weight must be a number, this one is {table.schema[name].kind}.")
    weights = numbers_in(table, name, "a weight")
    negative = (weights < 0).nonzero()[0].tolist()
    if negative:
        raise DataError(f"Column {name!r}: weights must be ≥ 0; negative in {data_rows(negative)}. Correct them.")
    if not weights.any():
        raise DataError(f"Column {name!r}: some weight must be > 0, all are 0. Name the right column.")
    return weights
