"""Columns of Arrow → cells of a sheet, and what a sheet cannot hold."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shoal.errors import data_rows

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST = 32_767
_FIRST_DAY = dt.date(1900, 3, 1)  # before it, Excel counts a day that never was
_DIGITS = 15
_LARGEST = 2**53
_CONTROL = r"[\x00-\x08\x0b-\x1f]"  # XML has no way to write them, or changes them


def faults_of(owner: str, table: pa.Table) -> list[str]:
    """Return a sentence for everything that a sheet cannot hold."""
    faults = [
        fault
        for name, column in zip(table.column_names, table.columns, strict=True)
        for fault in _faults(owner, name, column)
    ]
    if rows := _nothing_in(table):
        faults.append(
            f"{owner}: every row must hold a value, because of Excel; {len(rows):,} hold none, in {data_rows(rows)}. "
            "Write another format, or leave them out."
        )
    return faults


def _nothing_in(table: pa.Table) -> list[int]:
    """Return the rows that would be blank, and lost; in a sheet of one column only those at the bottom are."""
    import numpy as np

    if not table.num_columns or not table.num_rows:
        return []
    blank = np.logical_and.reduce([np.asarray(column.is_null().to_numpy()) for column in table.columns])
    if table.num_columns == 1:
        blank[: table.num_rows - int(np.argmin(blank[::-1]))] &= bool(blank.all())
    return [int(row) for row in np.flatnonzero(blank)]


def _faults(owner: str, name: str, column: Any) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column, kind = plain(column), plain(column).type
    if types.is_timestamp(kind) and kind.tz is not None:
        yield f"{owner}: column {name!r} has a time zone, which Excel has not. Write another format, or no zone."
        return
    flags: list[tuple[Any, str]] = []
    if types.is_string(kind):
        flags.append((pc.equal(column, ""), "texts that are not empty, which a sheet shows as missing values"))
        flags.append((pc.greater(pc.utf8_length(column), _LONGEST), f"texts of at most {_LONGEST:,} characters"))
        flags.append((pc.match_substring_regex(column, _CONTROL), "texts without returns and control characters"))
    elif types.is_integer(kind):
        wide = column.cast(pa.decimal128(20, 0))
        flags.append(
            (
                pc.greater(pc.abs(wide), pa.scalar(_LARGEST, pa.decimal128(20, 0))),
                f"integers of at most {_DIGITS} digits",
            )
        )
    elif types.is_decimal(kind):
        flags += [(pc.is_valid(column), f"decimals of at most {_DIGITS} digits")] * (kind.precision > _DIGITS)
    elif types.is_floating(kind):
        flags.append((pc.invert(pc.is_finite(column)), "finite numbers"))
    elif types.is_date(kind) or types.is_timestamp(kind):
        first = pa.scalar(_FIRST_DAY).cast(kind if types.is_date32(kind) else pa.timestamp("us")).cast(kind)
        flags.append((pc.less(column, first), "days from 1 March 1900 on"))
        if types.is_timestamp(kind) and kind.unit in ("us", "ns"):
            whole = pc.floor_temporal(column, unit="millisecond")
            flags.append((pc.not_equal(whole, column), "moments of whole milliseconds"))
    elif not (types.is_boolean(kind) or types.is_time(kind) or types.is_null(kind)):
        yield f"{owner}: column {name!r} must be of numbers, texts, truth values or times, got {kind}. Drop the column."
    for flag, allowed in flags:
        if pc.any(flag).as_py():
            rows = pc.indices_nonzero(pc.fill_null(flag, False)).to_pylist()
            yield (
                f"{owner}: column {name!r} must hold {allowed}, because of Excel; {len(rows):,} are others, in "
                f"{data_rows(rows)}. Write another format, or change them."
            )


def plain(column: Any) -> Any:
    """Return a column of values: categories and wider texts as what they stand for."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(column.cast(kind.storage_type))
    if types.is_dictionary(kind):
        return plain(column.cast(kind.value_type))
    if types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pa.string())
    return column.cast(pa.date32()) if types.is_date(kind) else column


def cells(sheet: Any, column: Any) -> list[Any]:
    """Return what openpyxl takes for each value of a column."""
    import pyarrow as pa
    from pyarrow import types

    column = plain(column)
    if types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"))
    if types.is_time(column.type):
        column = column.cast(pa.time64("us"), safe=False)
    found = column.to_pylist()
    if types.is_floating(column.type):
        return [_all_digits(sheet, value) for value in found]
    return [as_text(sheet, value) for value in found] if types.is_string(column.type) else found


def _all_digits(sheet: Any, value: float | None) -> Any:
    """Return a cell with all digits of a number, of which openpyxl writes 16 and some need 17."""
    if value is None or float(f"{value:.16g}") == value:
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, repr(value))
    cell.data_type = "n"
    return cell


def as_text(sheet: Any, value: str | None) -> Any:
    """Return a cell of text, also where openpyxl would take it for a formula or an error."""
    if value is None or not value.startswith(("=", "#")):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell
