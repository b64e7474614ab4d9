"""The rows of a text file → columns of text, and the numbers of the rows that do not fit."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, listing
from shoal.io.sources._encoding import arrow_buffer, check_utf8

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
            with suppress(pa.ArrowException):  # a row that does not fit or is larger than the block, or no UTF-8
                table = self._parse(data, block, quoted)
                return self._unmarked(table, 0) if quoted else table
        check_utf8(self.owner, self.text)
        for block in self._blocks(len(data)):
            bad: list[int | None] = []
            with suppress(pa.ArrowException):
                table = self._parse(data, block, quoted, bad)
                table = self._unmarked(table, len(bad)) if quoted else table
                if bad:
                    raise DataError(self._ragged(bad))
                return table
        raise DataError(f"{self.owner}: could not be parsed. Check its delimiter and quotes, and save it again.")

    def _parse(self, data: pa.Buffer, block: int, quoted: bool, bad: list[int | None] | None = None) -> pa.Table:
        """Parse the rows, in threads; with a list, skip rows that do not fit and note their numbers, in this thread.

        Arrow's threads go on for a while after one of them has failed. If they called Python then, and the program
        ended, it would be aborted: so only a single thread does.
        """
        import pyarrow as pa
        from pyarrow import csv

        def skip(row: Any) -> str:
            assert bad is not None
            bad.append(row.number)
            return "skip"

        source: Any = pa.BufferReader(data)
        handler: Any = None if bad is None else skip
        threads = bad is None
        return csv.read_csv(
            source,
            read_options=csv.ReadOptions(column_names=list(self.names), block_size=block, use_threads=threads),
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
        lead = BOM_UTF8 if self.text.startswith(BOM_UTF8, self.start) else b""
        ended = self.text.endswith((b"\n", b"\r"))
        mark = self.delimiter.join([_MARK] * len(self.names)) + "\n" if quoted else ""
        end = b"" if ended or not quoted else b"\n"
        return arrow_buffer(lead, memoryview(self.text)[self.start :], end, mark.encode())

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
