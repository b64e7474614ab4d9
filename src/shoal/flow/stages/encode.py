"""Columns → attributes and weights; what does not fit is said at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal import registry
from shoal.errors import DataError, SchemaError, data_rows, raise_all
from shoal.flow.stages.values import as_values
from shoal.points.confidential import confidential_of, with_spellings
from shoal.types import Attribute, Column, Confidential, Kind, Numbers, Role, Table, with_columns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def confidential_columns(table: Table, names: Sequence[str] | None = None) -> tuple[Confidential, ...]:
    """Return the confidential attributes of a table, or some columns as such."""
    chosen = table.schema.names(Role.CONFIDENTIAL) if names is None else names
    return tuple(confidential_of(table.schema[name], as_values(name, table)) for name in chosen)


def confidential_arrays(given: ArrayLike, n: int) -> tuple[Confidential, ...]:
    """Return the confidential attributes of bare points: one for each column; numbers are ordered, text is not."""
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
        ordered, alike = numbers is not None, None
        if column.dtype.kind == "U":
            codes, alike = with_spellings(codes, pa.array(values.tolist(), pa.string()))
        counts = np.bincount(codes)
        found.append(Confidential(str(j), codes.astype(np.int64), counts, ordered, values=numbers, alike=alike))
    return tuple(found)


def encode(table: Table, names: Sequence[str], *, missing: str = "refuse") -> tuple[Table, list[Attribute]]:
    """Return the table with cells of these columns as values, and the attributes; raises all faults at once.

    `missing` says what a missing value is: ``category``, ``fill``, or ``refuse``.
    """
    import pyarrow as pa

    from shoal.points.encoding import attribute_of
    from shoal.schema.cells import is_text, moment_sign, without_nan
    from shoal.schema.order import in_order, without_user_missing

    faults: list[str] = []
    attributes: list[Attribute] = []
    typed = {}
    moment = "T"
    encoders = registry.claims("points", "kinds")
    for name in names:
        meant, given = table.schema[name], table.data.column(name)
        kind = meant.kind
        try:
            _refuse_commas(meant, table)
            column = without_user_missing(table.data.schema.field(name), given)
            if column is not given:
                typed[name] = column
            if is_text(column):
                moment = moment_sign(column) if kind is Kind.DATETIME else moment
                column = typed[name] = as_values(name, table, exact=True)
            if missing != "refuse":
                column = typed[name] = without_nan(column)
            attributes.append(attribute_of(meant, in_order(meant, column), encoders[kind], missing, given.type))
        except (DataError, SchemaError) as error:
            faults.append(str(error))
        except pa.ArrowException:  # whose message may hold a value
            faults.append(f"Column {name!r}: {column.type} cannot be {kind.value}. Give it another kind or role.")
    raise_all(DataError, faults)
    dialect_out = replace(table.dialect, moment=moment) if table.dialect is not None else None
    return replace(table, data=with_columns(table.data, typed), dialect=dialect_out), attributes


def numbers_in(table: Table, name: str, what: str) -> NDArray[np.float64]:
    """Return the values of a column of numbers or moments."""
    (attribute,) = encode(table, [name])[1]
    if not isinstance(attribute, Numbers):
        raise SchemaError(f"Column {name!r}: {what} must be of numbers or moments. Name another column.")
    return attribute.values


def _refuse_commas(column: Column, table: Table) -> None:
    """Refuse numbers that would pass for categories, because nobody said that they have a decimal comma."""
    from shoal.schema.cells import has_decimal_comma, is_text

    cells = table.data.column(column.name)
    if column.kind is not Kind.NOMINAL or column.taxonomy is not None or not is_text(cells) or table.dialect is None:
        return
    if has_decimal_comma(cells, table.dialect):
        raise DataError(
            f"Column {column.name!r}: its cells look like numbers with a decimal comma, and would be categories. Give "
            f"--decimal , then."
        )


def weights_in(table: Table) -> NDArray[np.float64] | None:
    """Return the sampling weight of each record; None if there are none."""
    names = table.schema.names(Role.WEIGHT)
    if not names:
        return None
    if table.schema[names[0]].kind not in (Kind.CONTINUOUS, Kind.INTEGER):
        raise SchemaError(f"Column {names[0]!r}: a weight must be a number, this one is {table.schema[names[0]].kind}.")
    weights = numbers_in(table, names[0], "a weight")
    negative = (weights < 0).nonzero()[0].tolist()
    if negative:
        raise DataError(f"Column {names[0]!r}: weights must be ≥ 0; negative in {data_rows(negative)}. Correct them.")
    if not weights.any():
        raise DataError(f"Column {names[0]!r}: some weight must be > 0, all are 0. Name the right column.")
    return weights
