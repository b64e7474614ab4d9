"""Columns → attributes and weights; what does not fit is said at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal import registry
from shoal.errors import DataError, SchemaError, data_rows, raise_all
from shoal.flow.values import as_values
from shoal.types import Attribute, Column, Kind, Numbers, Role, Table, with_columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def encode(table: Table, names: Sequence[str], *, missing: str = "refuse") -> tuple[Table, list[Attribute]]:
    """Return the table with cells of these columns as values, and the attributes; raises all faults at once.

    `missing` says what a missing value is: ``category``, ``fill``, or ``refuse``.
    """
    import pyarrow as pa

    from shoal.points.encoding import attribute_of
    from shoal.schema.cells import is_text, moment_sign, without_nan
    from shoal.schema.order import in_order
    from shoal.schema.user_missing import without_user_missing

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
