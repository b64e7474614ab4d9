"""Workbooks of Excel: one sheet, written cell by cell as what it is."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from shoal.errors import DataError, ParameterError, raise_all
from shoal.parameters import Checked, Param
from shoal.registry import package
from shoal.sinks._disk import writing
from shoal.sinks._excel_cells import as_text, cells, faults_of
from shoal.sinks._undated import MOMENT, UndatedZip
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS, _COLUMNS = 1_048_576, 16_384
_PART = 1 << 13
_NOT_IN_NAMES = "[]:*?/\\"


@dataclass(frozen=True)
class Excel(Checked):
    """Workbooks of Excel with one sheet; text stays text, also where it begins with ``=``.

    What Excel cannot hold is refused: more than 1,048,576 rows with the header, texts of more than 32,767 characters,
    zones, days before March 1900, moments finer than a millisecond, integers of more than 15 digits.

    Parameters
    ----------
    sheet
        The name of the sheet.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)
    textual: ClassVar[bool] = False  #: cells become values

    sheet: Annotated[str, Param("The name of the sheet.")] = "Sheet1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.sheet) <= 31 or any(sign in self.sheet for sign in _NOT_IN_NAMES):
            raise ParameterError(
                f"Excel: sheet must have 1 to 31 characters, none of {' '.join(_NOT_IN_NAMES)}, got {self.sheet!r}. "
                "Choose another name."
            )

    def write(self, table: pa.Table, path: Path, dialect: Dialect | None) -> None:
        """Write the table; a dialect is for text files and has no say here.

        Raises
        ------
        DataError
            If it has what Excel cannot hold: the column and the rows, never the value.
        EngineError
            If the disk does not take it.
        """
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
    """Save a workbook whose properties name nobody and no time; its own `save` writes the current one."""
    from openpyxl.packaging.core import DocumentProperties
    from openpyxl.writer.excel import ExcelWriter

    book.properties = DocumentProperties(creator="shoal", created=dt.datetime(*MOMENT), modified=dt.datetime(*MOMENT))
    ExcelWriter(book, UndatedZip(path)).save()  # which closes the archive
