"""Sizes of tables in memory, estimated from their files without reading them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from shoal import registry
from shoal.errors import DataError
from shoal.flow.stages.batches import Batches
from shoal.io.sources._file import unreadable
from shoal.io.sources.parquet import reading

_TEXT = 3  # bytes in memory for each byte of a text file, at most: short cells have an offset of four bytes
_PACKED = 10  # bytes of a text for each byte of a compressed file
_HEAD = 1 << 16  # bytes of a text from which the number of its records is estimated
_CELL = 12  # bytes of a short cell in memory


def size_in_memory(files: Sequence[Path]) -> int:
    """Estimate the bytes in memory of a table."""
    return sum(_of_text(file) if _is_textual(file) else _of_parquet(file, None) for file in files)


def size_of_columns(batches: Batches, columns: Sequence[str]) -> tuple[int, int]:
    """Estimate the bytes in memory of some columns of a table, and the number of its records."""
    if batches.records is not None:
        return sum(_of_parquet(file, columns) for file in batches.files), batches.records
    size, width = sum(map(_of_text, batches.files)), len(batches.arrow)
    return size * len(columns) // width, size // (_CELL * width)


def estimate_records(batches: Batches) -> int:
    """Return the number of records: from the footers of Parquet files, or from the first lines of text files."""
    if batches.records is not None:
        return batches.records
    first = batches.files[0]
    try:
        with gzip.open(first) if first.suffix == ".gz" else first.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise DataError(unreadable(first, error)) from None
    lines = max(head.count(b"\n"), head.count(b"\r"), 1)
    return int(float(f"{size_on_disk(batches) * lines / max(len(head), 1):.3g}"))


def size_on_disk(batches: Batches) -> int:
    """Return the bytes of the files, compressed text files unpacked."""
    return sum(map(_size, batches.files))


def _is_textual(file: Path) -> bool:
    return registry.for_place("io.sources", file).textual


def _of_text(file: Path) -> int:
    return _TEXT * _size(file)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size * (_PACKED if file.suffix == ".gz" else 1)
    except OSError as error:
        raise DataError(unreadable(file, error)) from None


def _of_parquet(file: Path, columns: Sequence[str] | None) -> int:
    """Return the larger of the unpacked size of some columns and the size of their cells in memory."""
    with reading(file), file.open("rb") as opened:
        found = parquet.ParquetFile(opened)
        footer, arrow = found.metadata, found.schema_arrow
    names = arrow.names if columns is None else columns
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    unpacked = sum(one.total_uncompressed_size for one in chunks if one.path_in_schema.partition(".")[0] in names)
    return max(int(unpacked), sum(width_of(arrow.field(name).type) for name in names) * int(footer.num_rows))


def width_of(kind: pa.DataType) -> int:
    """Return the bytes of a cell in memory; of text, a guess for short cells that Parquet stores once."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return 16
