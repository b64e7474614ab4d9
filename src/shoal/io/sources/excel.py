"""Excel workbooks: one sheet with a header and rows."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar
from xml.etree import ElementTree

import pyarrow as pa

from shoal.errors import DataError, ParameterError, data_rows, listing
from shoal.io.sources._cell_columns import column
from shoal.io.sources._file import FileSource, check_names, unreadable
from shoal.parameters import Checked, Param
from shoal.registry import package

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*\bref=\"([A-Z]+[0-9]+:[A-Z]+[0-9]+)\"")
_UNCOMPUTED = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)>\s*<(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_SHEET = re.compile(rb"<(?:\w+:)?sheet\s([^>]*)>")
_RELATION = re.compile(rb"<(?:\w+:)?Relationship\s([^>]*)>")
_ATTRIBUTE = re.compile(rb"([\w:]+)=\"([^\"]*)\"")


def hidden_traps(path: Path, place: int) -> tuple[int, int]:
    """Return the numbers of merged ranges and of formulas without a value in the sheet at a position (from 0)."""
    with zipfile.ZipFile(path) as archive:
        sheets = [_attributes(text) for text in _SHEET.findall(archive.read("xl/workbook.xml"))]
        relations = [_attributes(text) for text in _RELATION.findall(archive.read("xl/_rels/workbook.xml.rels"))]
        targets = {one.get("Id"): one.get("Target", "") for one in relations}
        target = targets[next(value for name, value in sheets[place].items() if name.endswith(":id"))]
        text = archive.read(target.lstrip("/") if target.startswith("/") else f"xl/{target}")
    # an empty text is a value
    lacking = [found for found in _UNCOMPUTED.findall(text) if b't="str"' not in found]
    return len(_MERGED.findall(text)), len(lacking)


def _attributes(text: bytes) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in _ATTRIBUTE.findall(text)}


#: Exceptions of openpyxl for damaged files, or files that are not workbooks.
_DAMAGED = (zipfile.BadZipFile, zlib.error, KeyError, IndexError, ValueError, TypeError, AttributeError, SyntaxError)


@dataclass(frozen=True)
class Excel(FileSource, Checked):
    """Excel workbooks: one sheet, whose first row names the columns; ``people.xlsx?sheet=Data`` selects it.

    Cells have Excel's types: a text ``007`` stays text, dates stay dates, empty cells are missing, formulas count as
    the value that Excel computed last. Ambiguous content is refused: a column with cells of several kinds, merged
    cells, errors such as #N/A, formulas without a value, blank rows, several sheets without a selection.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm")

    sheet: Annotated[str | None, Param("The name of the sheet; none: the only one.")] = None

    def _table(self, path: Path) -> pa.Table:
        names, rows = self._cells(path)
        check_names(path.name, names)
        _refuse_errors(path.name, names, rows)
        arrays = [_column(path.name, name, [row[j] for row in rows]) for j, name in enumerate(names)]
        return pa.Table.from_arrays(arrays, names=names)

    def properties(self, path: Path) -> dict[str, str]:
        """Return the names of all parts of the workbook, and its document properties."""
        with zipfile.ZipFile(path) as archive:
            parts = {f"part:{name}": "" for name in archive.namelist()}
            core = ElementTree.fromstring(archive.read("docProps/core.xml"))
        return {**parts, **{one.tag.rpartition("}")[2]: one.text or "" for one in core}}

    def _cells(self, path: Path) -> tuple[list[Any], list[list[Any]]]:
        """Return the header and the cells below it, without empty cells at the right and at the bottom."""
        library = package("openpyxl", "excel", path.name)
        try:
            book = library.load_workbook(path, read_only=True, data_only=True)
            try:
                sheet = self._sheet(path.name, book)
                merged, uncomputed = hidden_traps(path, book.sheetnames.index(sheet.title))
                sheet.reset_dimensions()  # the size that a file declares may be wrong
                cells = [list(row) for row in sheet.iter_rows()]
            finally:
                book.close()
        except OSError as error:
            raise DataError(unreadable(path, error)) from None
        except _DAMAGED:
            raise DataError(
                f"{path.name}: is not an Excel workbook, is damaged, or has a password. Save it again as .xlsx."
            ) from None
        if merged:
            raise DataError(
                f"{path.name}: the sheet must have no merged cells, got {merged:,} merged ranges. Unmerge them, and "
                "give every column one name in the first row."
            )
        if uncomputed:
            raise DataError(
                f"{path.name}: every formula must have a computed value; not computed: {uncomputed:,}. Open the "
                "workbook in Excel, and save it again."
            )
        return _trimmed(path.name, cells)

    def _sheet(self, owner: str, book: Any) -> Any:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if self.sheet is None and len(sheets) == 1:
            return next(iter(sheets.values()))
        if self.sheet in sheets:
            return sheets[self.sheet]
        said = "the sheet must be named" if self.sheet is None else f"no sheet is called {self.sheet!r}"
        raise ParameterError(
            f"{owner}: {said}; there are {listing(list(sheets))}. "
            f"Write for example '{owner}?sheet={next(iter(sheets))}'."
        )


def _trimmed(owner: str, cells: list[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Return names and rows, all of one length."""
    while cells and all(cell.value is None for cell in cells[-1]):
        cells.pop()
    if not cells:
        raise DataError(f"{owner}: must hold a header and rows, got an empty sheet. Check that it is the right one.")
    width = max((j for row in cells for j, cell in enumerate(row, 1) if cell.value is not None), default=0)
    blank = [i for i, row in enumerate(cells[1:]) if all(cell.value is None for cell in row)]
    if blank and width > 1:  # a blank row would count as one more record
        raise DataError(
            f"{owner}: every row must hold a record; {len(blank):,} are empty: {data_rows(blank)}. Delete them."
        )
    header, *rows = ([row[j] if j < len(row) else None for j in range(width)] for row in cells)
    names = ["" if cell is None or cell.value is None else _name(cell.value) for cell in header]
    return names, rows


def _name(value: Any) -> Any:
    """Return the name of a column, which may be a year."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _refuse_errors(owner: str, names: Sequence[str], rows: list[list[Any]]) -> None:
    for j, name in enumerate(names):
        bad = [i for i, row in enumerate(rows) if row[j] is not None and getattr(row[j], "data_type", "n") == "e"]
        if bad:
            raise DataError(
                f"{owner}: column {name!r} holds Excel errors ({len(bad):,}), in {data_rows(bad)}. Correct these "
                "cells, or clear them if the values are missing."
            )


def _column(owner: str, name: str, cells: list[Any]) -> pa.Array:
    """Return cells as a column; datetimes at midnight are dates, unless they are formatted with a time."""
    values = [None if cell is None else _moment(cell.value) for cell in cells]
    if any(value is not None and not isinstance(value, str) for value in values):
        values = [None if value == "" else value for value in values]  # a formula without a result
    moments = [(value, cell) for value, cell in zip(values, cells, strict=True) if isinstance(value, dt.datetime)]
    if moments and all(value.time() == dt.time() and not _has_hours(cell) for value, cell in moments):
        values = [value.date() if isinstance(value, dt.datetime) else value for value in values]
    found = column(owner, name, values)
    return found.cast(pa.timestamp("ms")) if pa.types.is_timestamp(found.type) else found


def _moment(value: Any) -> Any:
    """Round a datetime to the millisecond, Excel's precision."""
    if not isinstance(value, dt.datetime):
        return value
    return dt.datetime.min + dt.timedelta(milliseconds=round((value - dt.datetime.min) / dt.timedelta(milliseconds=1)))


def _has_hours(cell: Any) -> bool:
    return "h" in str(cell.number_format).lower()
