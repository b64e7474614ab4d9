"""Digests of rows: a 64-bit number for the cells of a row, by which rows are sent to parts or counted.

They are not secret and not cryptographic. Equal cells have equal digests; whether different cells have is decided by
comparing the cells, wherever a guarantee depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_START = np.uint64(0x243F6A8885A308D3)
_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_MISSING = np.uint64(0x94D049BB133111EB)
_LONGEST = 64  # bytes of a text that is digested in bulk


def row_digests(table: pa.Table, names: Sequence[str]) -> NDArray[np.uint64]:
    """Return a digest of some cells of each row; a missing value is a value.

    >>> import pyarrow as pa
    >>> found = row_digests(pa.table({"a": [1.5, 1.5, None], "b": ["x", "x", ""]}), ["a", "b"])
    >>> bool(found[0] == found[1]), bool(found[0] == found[2])
    (True, False)
    """
    found = np.full(table.num_rows, _START)
    for name in names:
        column = table.column(name).combine_chunks()
        parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        at = 0
        for part in parts:
            here = found[at : at + len(part)]
            for words in _words(part):
                here ^= words
                _mix(here)
            at += len(part)
    return found


def _mix(words: NDArray[np.uint64]) -> None:
    """Spread the bits of words, in place."""
    words *= _ODD[0]
    words ^= words >> np.uint64(29)
    words *= _ODD[1]
    words ^= words >> np.uint64(32)


class ColumnDigests:
    """A digest of each column of a table, batch by batch: other cells, or another order of rows, give another digest.

    >>> import pyarrow as pa
    >>> one, other = ColumnDigests(["a"]), ColumnDigests(["a"])
    >>> one.add(pa.table({"a": [1, 2, 3]}))
    >>> for cells in ([1, 2], [3]):
    ...     other.add(pa.table({"a": cells}))
    >>> one.different(other)
    []
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._found = dict.fromkeys(names, 0)
        self._types: dict[str, pa.DataType] = {}
        self._rows = 0

    def add(self, table: pa.Table) -> None:
        """Take in the next rows."""
        odd = (np.arange(self._rows, self._rows + table.num_rows, dtype=np.uint64) << np.uint64(1)) + np.uint64(1)
        for name in self._found:
            kind = table.schema.field(name).type
            self._types[name] = kind.value_type if pa.types.is_dictionary(kind) else kind
            if not pa.types.is_nested(kind):
                self._found[name] += int(np.sum(row_digests(table, [name]) * odd, dtype=np.uint64))
        self._rows += table.num_rows

    def different(self, other: ColumnDigests) -> list[str]:
        """Return the columns that differ from those of another table; columns of another type are not compared."""
        same = [name for name in self._found if self._types.get(name) == other._types.get(name)]
        return [name for name in same if (self._found[name] - other._found[name]) % 2**64]


def occurrences(some: pa.Table, batches: Iterable[pa.Table], names: Sequence[str]) -> NDArray[np.int64]:
    """Return for each of some rows how many rows of a table in batches have the same cells.

    >>> import pyarrow as pa
    >>> occurrences(pa.table({"a": [1, 2]}), [pa.table({"a": [2, 1]}), pa.table({"a": [2, 3]})], ["a"]).tolist()
    [1, 2]
    """
    known, own = np.unique(row_digests(some, names), return_inverse=True)
    counts = np.zeros(len(known), np.int64)
    for table in batches:
        found = row_digests(table, names)
        places = np.minimum(np.searchsorted(known, found), len(known) - 1)
        counts += np.bincount(places[known[places] == found], minlength=len(known))
    return counts[own.reshape(-1)]


def _words(cells: pa.Array) -> Iterator[NDArray[np.uint64]]:
    """Yield the cells as 64-bit words, as many for each cell; what they are must not depend on other cells."""
    kind = cells.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _words(cells.storage)
        return
    if pa.types.is_dictionary(kind):
        yield from _words(cells.dictionary_decode())
        return
    missing = np.asarray(cells.is_null()) if cells.null_count else None
    for words in _plain_words(cells):
        yield words if missing is None else np.where(missing, _MISSING, words)


def _plain_words(cells: pa.Array) -> Iterator[NDArray[np.uint64]]:
    kind = cells.type
    if pa.types.is_null(kind):
        return
    if pa.types.is_boolean(kind):
        cells, kind = cells.cast(pa.uint8()), pa.uint8()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        yield _of_text(cells, np.dtype(np.int32))
    elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        yield _of_text(cells, np.dtype(np.int64))
    elif pa.types.is_nested(kind) or not _is_fixed(kind):
        yield _of_objects([repr(value).encode("utf-8", "surrogatepass") for value in cells.to_pylist()])
    else:
        width = kind.bit_width // 8
        raw = np.frombuffer(cells.buffers()[1], np.uint8)[cells.offset * width : (cells.offset + len(cells)) * width]
        if width in (1, 2, 4, 8):
            yield raw.view(f"u{width}").astype(np.uint64, copy=False)
        else:
            yield from _of_bytes(raw.reshape(len(cells), width))


def _is_fixed(kind: pa.DataType) -> bool:
    try:
        return bool(kind.bit_width % 8 == 0)
    except ValueError:
        return False


def _of_bytes(rows: NDArray[np.uint8]) -> Iterator[NDArray[np.uint64]]:
    """Yield rows of equally many bytes as words."""
    width = -(-rows.shape[1] // 8) * 8
    padded = np.zeros((len(rows), width), np.uint8)
    padded[:, : rows.shape[1]] = rows
    yield from np.ascontiguousarray(padded.view(np.uint64).T)


def _of_text(cells: pa.Array, offset: np.dtype[np.signedinteger]) -> NDArray[np.uint64]:
    """Return a digest of each text, which depends on its own bytes only."""
    n = len(cells)
    ends = np.frombuffer(cells.buffers()[1], offset)[cells.offset : cells.offset + n + 1].astype(np.int64)
    begins, lengths = ends[:-1], np.diff(ends)
    found = lengths.astype(np.uint64)
    if not n or not lengths.any():
        return found
    held = cells.buffers()[2]
    long = np.flatnonzero(lengths > _LONGEST)
    if len(long):
        whole = memoryview(held)
        found[long] = _of_objects([bytes(whole[begins[i] : begins[i] + lengths[i]]) for i in long.tolist()])
    short = np.where(lengths > _LONGEST, 0, lengths)
    data, places = np.frombuffer(held, np.uint8), np.arange(8)
    for first in range(0, int(short.max(initial=0)), 8):
        rows = np.flatnonzero(short > first)
        at = begins[rows, None] + first + places
        inside = at < (begins + short)[rows, None]
        eight = np.where(inside, data[np.minimum(at, len(data) - 1)], np.uint8(0))
        own = found[rows] ^ np.ascontiguousarray(eight).view(np.uint64)[:, 0]
        _mix(own)
        found[rows] = own
    return found


def _of_objects(texts: list[bytes]) -> NDArray[np.uint64]:
    """Return a digest of each text; equal ones are digested once."""
    known = {text: int.from_bytes(blake2b(text, digest_size=8).digest(), "little") for text in set(texts)}
    return np.array([known[text] for text in texts], np.uint64)
