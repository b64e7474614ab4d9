"""Records in blocks on disk: each batch is sorted by block and appended to one file.

A block is read by looking up its part of every batch. So records are written once, one after the other, and no more
than one file is open, however many blocks there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Runs:
    """A file of batches, each sorted by block."""

    def __init__(self, path: Path, schema: pa.Schema, count: int) -> None:
        self.path, self.schema, self.count = path, schema, count
        self.records = np.zeros(count, np.int64)  #: of each block
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(count)]  # offset and length of each part
        self._file = path.open("wb")
        self._end = 0

    def append(self, table: pa.Table, block: NDArray[np.int32]) -> None:
        """Write a batch; `block` is that of each row. If the disk is full, the file is removed."""
        try:
            self._append(table, block)
        except BaseException:
            self.remove()
            raise

    def _append(self, table: pa.Table, block: NDArray[np.int32]) -> None:
        order = np.argsort(block.astype(np.uint16) if self.count <= 1 << 16 else block, kind="stable")
        counts = np.bincount(block, minlength=self.count)
        ordered = table.combine_chunks().take(order).combine_chunks()
        begin = 0
        for number in np.flatnonzero(counts):
            rows = int(counts[number])
            (batch,) = ordered.slice(begin, rows).to_batches()
            held = batch.serialize()
            self._file.write(held)
            self._places[number].append((self._end, held.size))
            self._end += held.size
            begin += rows
        self.records += counts

    def finish(self) -> None:
        """Flush the file; from now on it is read."""
        self._file.close()

    def parts(self, number: int) -> Iterator[pa.RecordBatch]:
        """Yield a block, part by part, in the order in which it was written."""
        with self.path.open("rb") as file:
            for offset, length in self._places[number]:
                held = os.pread(file.fileno(), length, offset)
                yield pa.ipc.read_record_batch(pa.py_buffer(held), self.schema)

    def read(self, number: int) -> pa.Table:
        """Return a block."""
        return pa.Table.from_batches(list(self.parts(number)), self.schema).combine_chunks()

    def remove(self) -> None:
        """Delete the file."""
        with suppress(OSError):  # the rest may not fit on the disk
            self._file.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.remove()
