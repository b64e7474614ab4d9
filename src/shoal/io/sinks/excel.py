"""Excel workbooks with one sheet of typed cells."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from shoal.errors import DataError, ParameterError, data_rows, raise_all
from shoal.io.sinks._file import MOMENT, FileSink, UndatedZip
from shoal.parameters import Checked, Param
from shoal.registry import package
from shoal.scratch import writing

_LONGEST = 32_767
_FIRST_DAY = dt.date(1900, 3, 1)  # before it, Excel counts a day that never existed
_DIGITS = 15
_LARGEST = 2**53
_CONTROL = r"[\x00-\x08\x0b-\x1f]"  # XML cannot represent them, or changes them


def faults_of(owner: str, table: pa.Table) -> list[str]:
    """Return a sentence for everything that a sheet cannot hold."""
    faults = [
        fault
        for name, column in zip(table.column_names, table.columns, strict=True)
        for fault in _faults(owner, name, column)
    ]
    if rows := _nothing_in(table):
        faults.append(
            f"{owner}: in Excel every row must hold a value; {len(rows):,} are empty, in {data_rows(rows)}. Remove "
            "them, or write another format."
        )
    return faults


def _nothing_in(table: pa.Table) -> list[int]:
    """Return the rows that would be blank, and lost; in a sheet of one column only those at the bottom."""
    if not table.num_columns or not table.num_rows:
        return []
    blank = np.logical_and.reduce([np.asarray(column.is_null().to_numpy()) for column in table.columns])
    if table.num_columns == 1:
        blank[: table.num_rows - int(np.argmin(blank[::-1]))] &= bool(blank.all())
    return [int(row) for row in np.flatnonzero(blank)]


def _faults(owner: str, name: str, column: Any) -> Iterator[str]:
    column, kind = plain(column), plain(column).type
    if types.is_timestamp(kind) and kind.tz is not None:
        yield (
            f"{owner}: column {name!r} has a time zone, which Excel does not support. Write another format, or "
            "remove the zone."
        )
        return
    flags: list[tuple[Any, str]] = []
    if types.is_string(kind):
        flags.append((pc.equal(column, ""), "text that is not empty, because a sheet shows empty text as missing"))
        flags.append((pc.greater(pc.utf8_length(column), _LONGEST), f"text of at most {_LONGEST:,} characters"))
        flags.append((pc.match_substring_regex(column, _CONTROL), "text without line breaks and control characters"))
    elif types.is_integer(kind):
        wide = pa.decimal128(20, 0)
        large = pc.greater(pc.abs(column.cast(wide)), pa.scalar(_LARGEST, wide))
        flags.append((large, f"integers of at most {_DIGITS} digits"))
    elif types.is_decimal(kind):
        flags += [(pc.is_valid(column), f"decimals of at most {_DIGITS} digits")] * (kind.precision > _DIGITS)
    elif types.is_floating(kind):
        flags.append((pc.invert(pc.is_finite(column)), "finite numbers"))
    elif types.is_date(kind) or types.is_timestamp(kind):
        first = pa.scalar(_FIRST_DAY).cast(kind if types.is_date32(kind) else pa.timestamp("us")).cast(kind)
        flags.append((pc.less(column, first), "days from 1 March 1900 on"))
        if types.is_timestamp(kind) and kind.unit in ("us", "ns"):
            whole = pc.floor_temporal(column, unit="millisecond")
            flags.append((pc.not_equal(whole, column), "times of whole milliseconds"))
    elif not (types.is_boolean(kind) or types.is_time(kind) or types.is_null(kind)):
        yield (
            f"{owner}: column {name!r} must hold numbers, text, booleans, dates or times, got {kind}. Drop the column."
        )
    for flag, allowed in flags:
        if pc.any(flag).as_py():
            rows = pc.indices_nonzero(pc.fill_null(flag, False)).to_pylist()
            yield (
                f"{owner}: in Excel column {name!r} must hold {allowed}; {len(rows):,} are not, in "
                f"{data_rows(rows)}. Write another format, or change them."
            )


def plain(column: Any) -> Any:
    """Return a column of plain values: categories decoded, wide texts converted."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(column.cast(kind.storage_type))
    if types.is_dictionary(kind):
        return plain(column.cast(kind.value_type))
    if types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pa.string())
    return column.cast(pa.date32()) if types.is_date(kind) else column


def cells(sheet: Any, column: Any) -> list[Any]:
    """Return openpyxl cells for the values of a column."""
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
    """Return a cell with all digits of a number: openpyxl writes 16, and some need 17."""
    if value is None or float(f"{value:.16g}") == value:
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, repr(value))
    cell.data_type = "n"
    return cell


def as_text(sheet: Any, value: str | None) -> Any:
    """Return a text cell, also for text that openpyxl would read as a formula or an error."""
    if value is None or not value.startswith(("=", "#")):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell


_ROWS, _COLUMNS = 1_048_576, 16_384
_PART = 1 << 13
_NOT_IN_NAMES = "[]:*?/\\"


@dataclass(frozen=True)
class Excel(FileSink, Checked):
    """Excel workbooks with one sheet; text stays text, even if it begins with ``=``.

    Values that Excel cannot hold are refused: more than 1,048,576 rows including the header, texts of more than 32,767
    characters, zones, dates before March 1900, times finer than a millisecond, integers of more than 15 digits.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)

    sheet: Annotated[str, Param("The name of the sheet.")] = "Sheet1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.sheet) <= 31 or any(sign in self.sheet for sign in _NOT_IN_NAMES):
            raise ParameterError(
                f"Excel: sheet must have 1 to 31 characters, none of {' '.join(_NOT_IN_NAMES)}, got {self.sheet!r}. "
                "Choose another name."
            )

    def _write(self, table: pa.Table, path: Path) -> None:
        library = package("openpyxl", "excel", path.name)
        if table.num_rows >= _ROWS or table.num_columns > _COLUMNS:
            raise DataError(
                f"{path.name}: a sheet must have at most {_ROWS - 1:,} rows below the header and {_COLUMNS:,} columns, "
                f"got {table.num_rows:,} and {table.num_columns:,}. Write another format, such as Parquet."
            )
        raise_all(DataError, faults_of(path.name, table))
        book = library.Workbook(write_only=True)
        sheet = book.create_sheet(self.sheet)
        sheet.append([as_text(sheet, name) for name in table.column_names])
        with writing(path):
            for start in range(0, table.num_rows, _PART):
                part = table.slice(start, _PART)
                for row in zip(*(cells(sheet, column) for column in part.columns), strict=True):
                    sheet.append(row)
            _save(book, path)


def _save(book: Any, path: Path) -> None:
    """Save a workbook whose properties hold no author and no time; its own `save` writes the current time."""
    from openpyxl.packaging.core import DocumentProperties
    from openpyxl.writer.excel import ExcelWriter

    book.properties = DocumentProperties(creator="shoal", created=dt.datetime(*MOMENT), modified=dt.datetime(*MOMENT))
    ExcelWriter(book, UndatedZip(path)).save()  # closes the archive
