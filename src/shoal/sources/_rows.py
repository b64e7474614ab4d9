"""The rows of a text file → columns of text, and the numbers of the rows that do not fit."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, listing
from shoal.sources._text import check_utf8

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 1 << 22
_LARGEST_BLOCK = (1 << 31) - 1
_ROWS_IN_BLOCK = 512
_MARK = "."


@dataclass(frozen=True)
class Rows:
    """What follows the header.

    Attributes
    ----------
    owner
        The file's name, for messages.
    text
        The file in UTF-8.
    start
        Where the rows begin in it.
    names
        The names of the columns.
    """

    owner: str
    text: bytes = field(repr=False)
    start: int
    names: Sequence[str]
    delimiter: str
    quote: str

    def read(self) -> pa.Table:
        """Return every cell as it is written; a cell with nothing in it, not even quotes, is null.

        Raises
        ------
        DataError
            If rows do not have as many cells as the header, a quote is never closed, or it is not UTF-8.
        """
        import pyarrow as pa

        quoted = self.text.find(self.quote.encode(), self.start) >= 0
        data = self._data(quoted)
        for block in self._blocks(len(data)):
            bad: list[int | None] = []
            table = None
            with suppress(pa.ArrowException):
                table = self._parse(data, bad, block, quoted, use_threads=True)
            if table is None:
                check_utf8(self.owner, self.text)  # else a row was larger than the block
                continue
            if quoted:
                table = self._unmarked(table, len(bad))
            if bad:
                bad.clear()
                self._parse(data, bad, block, quoted, use_threads=False)
                raise DataError(self._ragged(bad))
            return table
        raise DataError(f"{self.owner}: could not be parsed. Check its delimiter and quotes, and save it again.")

    def _parse(
        self, data: pa.Buffer, bad: list[int | None], block: int, quoted: bool, *, use_threads: bool
    ) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv

        def skip(row: Any) -> str:
            bad.append(row.number)
            return "skip"

        source: Any = pa.BufferReader(data)
        handler: Any = skip
        return csv.read_csv(
            source,
            read_options=csv.ReadOptions(column_names=list(self.names), block_size=block, use_threads=use_threads),
            parse_options=csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote,
                newlines_in_values=quoted,  # slower, so only where there are quotes
                ignore_empty_lines=len(self.names) > 1,
                invalid_row_handler=handler,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _blocks(self, size: int) -> Iterator[int]:
        """Give sizes of blocks to try, up to one block for everything: a row must fit into its block."""
        block = min(max(_BLOCK, _ROWS_IN_BLOCK * self.start), _LARGEST_BLOCK)
        yield block
        while block < min(size, _LARGEST_BLOCK):
            block = min(block * 16, _LARGEST_BLOCK)
            yield block

    def _data(self, quoted: bool) -> pa.Buffer:
        """Return what follows the header, for Arrow to parse.

        Where there are quotes it ends with one more row, which a quote that is never closed would swallow. Where
        the first cell begins with U+FEFF there is another before it, which Arrow takes for a byte order mark.
        """
        import pyarrow as pa

        lead = BOM_UTF8 if self.text.startswith(BOM_UTF8, self.start) else b""
        if not quoted and not lead:
            return pa.py_buffer(self.text).slice(self.start)
        ended = self.text.endswith((b"\n", b"\r"))
        mark = self.delimiter.join([_MARK] * len(self.names)) + "\n" if quoted else ""
        end = b"" if ended or not quoted else b"\n"
        return pa.py_buffer(b"".join((lead, memoryview(self.text)[self.start :], end, mark.encode())))

    def _unmarked(self, table: pa.Table, bad: int) -> pa.Table:
        """Return the table without the last row, if that is the one that was added."""
        if table.num_rows and table.column(table.num_columns - 1)[-1].as_py() == _MARK:
            return table.slice(0, table.num_rows - 1)
        raise DataError(
            f"{self.owner}: a quote that opens in row {table.num_rows + bad:,} is never closed. "
            "Close it, or name another quote character."
        )

    def _ragged(self, bad: Sequence[int | None]) -> str:
        count, columns = len(bad), len(self.names)
        rows, do = ("row", "does") if count == 1 else ("rows", "do")
        return (
            f"{self.owner}: {count:,} {rows} {do} not have the header's {columns:,} "
            f"column{'s' * (columns != 1)}: {rows} {listing(bad)}. Correct the {rows}, or name the delimiter."
        )
