"""Delimited text files, written like the input."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from shoal.errors import DataError, ParameterError, listing
from shoal.io.sinks._file import FileSink, suppressed
from shoal.scratch import writing
from shoal.types import Dialect
from shoal.types.protocols import Fresh

if TYPE_CHECKING:
    import pyarrow as pa


_TAB_SUFFIXES = (".tsv", ".tab")
_CELLS = 1 << 19
_ROWS = 1 << 12
_BYTES = 1 << 28


@dataclass(frozen=True)
class Csv(FileSink):
    """Delimited text files, written like the input.

    Only cells that need quotes get them: those that contain a delimiter, a quote or a line end, and the empty text,
    which is written as two quotes because a null is written as nothing. In a table of one column a null is therefore a
    blank line, which shoal reads as a null again.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt", ".tab", ".data")
    textual: ClassVar[bool] = True
    batched: ClassVar[bool] = True

    @staticmethod
    def dialect_for(path: Path, dialect: Dialect | None = None) -> Dialect:
        """Return the dialect for a file name: that of its table, but with tabs if the name says so.

        A table that did not come from a text file is written with commas, in UTF-8.

        >>> Csv.dialect_for(Path("a.tsv"), Dialect(delimiter=";", decimal=",")).delimiter
        '\\t'
        """
        tabs = path.name.lower().endswith(_TAB_SUFFIXES)
        dialect = dialect or Dialect()
        if tabs or (dialect.delimiter == "\t" and path.name.lower().endswith(".csv")):
            plain = ";" if dialect.decimal == "," else ","
            return replace(dialect, delimiter="\t" if tabs else plain)
        return dialect

    def write(self, table: pa.Table, path: Path, dialect: Dialect | None) -> None:
        """Write the table; without a dialect, as :meth:`dialect_for` says."""
        from shoal.io.sinks._text_cells import to_text

        dialect = dialect or self.dialect_for(path)
        text = to_text(table, dialect)
        encode, plain = _encoder(dialect.encoding)
        with writing(path), path.open("wb") as file:
            try:
                for piece in _pieces(text, dialect):
                    file.write(piece if plain else encode(str(piece, "utf-8")))
            except UnicodeEncodeError:
                raise DataError(_unencodable(text, dialect.encoding)) from None

    @contextmanager
    def writer(
        self, path: Path, schema: pa.Schema, dialect: Dialect | None, fresh: Fresh | None = None
    ) -> Iterator[CsvWriter]:
        """Open a file to be written in batches: its bytes are those of the whole table written at once.

        Text has no metadata, so that `fresh` has nothing to do.

        Raises
        ------
        DataError
            If columns hold lists, records, bytes or other values that a text cell cannot.
        EngineError
            If the disk rejects it.
        """
        dialect = dialect or self.dialect_for(path)
        with writing(path):
            file = path.open("wb")
        with suppressed(file.close):
            made = CsvWriter(path, file, dialect)
            made.begin(schema)
            yield made
            with writing(path):
                file.close()


class CsvWriter:
    """A text file that is written in batches."""

    def __init__(self, path: Path, file: BinaryIO, dialect: Dialect) -> None:
        self._path, self._file, self._dialect = path, file, dialect
        self._encode, self._plain = _encoder(dialect.encoding)

    def begin(self, schema: pa.Schema) -> None:
        """Write the header."""
        self._append(schema.empty_table(), header=True)

    def write(self, table: pa.Table) -> None:
        """Append the rows of a table."""
        self._append(table, header=False)

    def _append(self, table: pa.Table, *, header: bool) -> None:
        from shoal.io.sinks._text_cells import to_text

        text = to_text(table, self._dialect)
        with writing(self._path):
            try:
                for piece in islice(_pieces(text, self._dialect), 0 if header else 1, None):
                    self._file.write(piece if self._plain else self._encode(str(piece, "utf-8")))
            except UnicodeEncodeError:
                raise DataError(_unencodable(text, self._dialect.encoding, counted=False)) from None


def _encoder(encoding: str) -> tuple[Callable[[str], bytes], bool]:
    """Return an encoder for successive texts, and whether it is a no-op because the encoding is UTF-8."""
    try:
        codec = codecs.lookup(encoding)
        return codecs.getincrementalencoder(encoding)().encode, codec.name == "utf-8"
    except LookupError:
        raise ParameterError(
            f"Csv: encoding must be one that Python knows, such as utf-8 or cp1252, got {encoding!r}. Correct its name."
        ) from None


def _pieces(text: pa.Table, dialect: Dialect) -> Iterator[memoryview]:
    """Yield the file piece by piece, in UTF-8."""
    yield memoryview(_header(text.column_names, dialect).encode())
    if text.num_rows < _ROWS * max(column.num_chunks for column in text.columns):
        text = text.combine_chunks()  # every piece has a cost per column
    for batch in text.to_batches(max_chunksize=max(_ROWS, _CELLS // text.num_columns)):
        parts = max(1, -(-batch.nbytes // _BYTES))  # the text of one Arrow array is limited to 2 GiB
        rows = -(-batch.num_rows // parts)
        for start in range(0, batch.num_rows, max(1, rows)):
            yield _joined(batch.slice(start, rows), dialect)


def _header(names: list[str], dialect: Dialect) -> str:
    quote = dialect.quote
    marks = (dialect.delimiter, quote, "\r", "\n", "\ufeff")  # the last would be read as a byte order mark
    cells = [
        quote + name.replace(quote, quote * 2) + quote if not name or any(m in name for m in marks) else name
        for name in names
    ]
    return dialect.delimiter.join(cells) + dialect.newline


def _joined(batch: Any, dialect: Dialect) -> memoryview:
    """Return the rows of a batch as they appear in the file."""
    import pyarrow.compute as pc

    cells = [_quoted(column, dialect) for column in batch.columns]
    cells[-1] = pc.binary_join_element_wise(cells[-1], "", dialect.newline, null_handling="replace")
    rows = pc.binary_join_element_wise(*cells, dialect.delimiter, null_handling="replace") if cells[1:] else cells[0]
    return _values(rows)


def _values(texts: Any) -> memoryview:
    """Return the concatenated texts of an array, within its offset and slice."""
    import numpy as np

    _, offsets, values = texts.buffers()
    if values is None or len(texts) == 0:
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int32)
    return memoryview(values)[int(ends[texts.offset]) : int(ends[texts.offset + len(texts)])]


def _quoted(cells: Any, dialect: Dialect) -> Any:
    """Return the cells with quotes around those that need them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    marks = (dialect.delimiter, dialect.quote, "\r", "\n")
    needs: Any = pc.equal(cells, pa.scalar(""))
    held = bytes(_values(cells))
    for mark in marks:
        if mark.encode() in held:  # most columns contain none, and searching the bytes is fast
            needs = pc.or_(needs, pc.match_substring(cells, mark))
    needs = pc.fill_null(needs, False)
    if not pc.any(needs).as_py():
        return cells
    inner = pc.replace_substring(cells.filter(needs), dialect.quote, dialect.quote * 2)
    return pc.replace_with_mask(cells, needs, pc.binary_join_element_wise(dialect.quote, inner, dialect.quote, ""))


def _unencodable(text: pa.Table, encoding: str, *, counted: bool = True) -> str:
    """Return the sentence that names the columns with characters that the encoding lacks."""

    def lacks(cell: str | None) -> bool:
        try:
            (cell or "").encode(encoding)
        except UnicodeEncodeError:
            return True
        return False

    counts = {name: sum(map(lacks, text.column(name).to_pylist())) for name in text.column_names}
    found = [f"{name!r} ({count:,} cells)" if counted else repr(name) for name, count in counts.items() if count]
    names = [repr(name) for name in text.column_names if lacks(name)]
    where = [f"columns {listing(found)}"] * bool(found) + [f"the names of columns {listing(names)}"] * bool(names)
    return f"Csv: {encoding} lacks some characters of {' and of '.join(where)}. Choose utf-8 as encoding."
