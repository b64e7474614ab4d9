"""Digests of files, tables and names: only someone who has the original can match them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.io.sources._file import unreadable

if TYPE_CHECKING:
    import pyarrow as pa


_PIECE = 1 << 20
_ROWS = 1 << 16
_NAME = 32  # hexadecimal digits in the digest of a name: 128 bits


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of a file's bytes, or of a table's content if there is no file."""

    of: str  #: ``bytes`` or ``content``
    hex: str
    size: int | None  #: in bytes; None for a table's content


def of_file(path: Path) -> Digest:
    """Return the SHA-256 of a file's bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a").write_bytes(b"abc")
    ...     of_file(Path(folder, "a")).hex[:8]
    'ba7816bf'
    """
    counted = hashlib.sha256()
    size = 0
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                counted.update(piece)
                size += len(piece)
    except OSError as error:
        raise DataError(unreadable(path, error)) from None
    return Digest("bytes", counted.hexdigest(), size)


def of_table(data: pa.Table) -> Digest:
    """Return the SHA-256 of a table's content, independent of its storage.

    Column names and cells are written as text, each preceded by its length and a colon, a missing cell as ``-``. Rows
    are sorted, because a database has no row order. Only the text counts, not the types.

    >>> import pyarrow as pa
    >>> one, other = pa.table({"a": [1, None], "b": ["x", "y"]}), pa.table({"a": [None, 1], "b": ["y", "x"]})
    >>> of_table(one) == of_table(other), of_table(one) == of_table(one.slice(1))
    (True, False)
    """
    counted = hashlib.sha256()
    counted.update("".join(_written(name) for name in data.column_names).encode("utf-8", "surrogatepass") + b"\n")
    for piece in _sorted_rows(data):
        counted.update(piece)
    return Digest("content", counted.hexdigest(), None)


def of_name(key: bytes, name: str) -> str:
    """Return the keyed digest of a category name: only someone with both name and key can match it.

    >>> of_name(b"salt", "flu") == of_name(b"salt", "flu"), of_name(b"salt", "flu") == of_name(b"salt", "ulcer")
    (True, False)
    """
    message = b"name\0" + name.encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()[:_NAME]


def _written(text: str) -> str:
    return f"{len(text.encode('utf-8', 'surrogatepass'))}:{text}"


def _sorted_rows(data: pa.Table) -> Iterator[bytes]:
    """Yield the rows as text, sorted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not data.num_rows or not data.num_columns:
        return
    parts = []
    for name in data.column_names:
        text = _text(data.column(name))
        lengths = pc.binary_length(text).cast(pa.large_string())
        parts.append(pc.fill_null(pc.binary_join_element_wise(lengths, text, pa.scalar(":", pa.large_string())), "-"))
    rows = pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string())).combine_chunks()
    rows = rows.take(pc.array_sort_indices(rows))
    for start in range(0, len(rows), _ROWS):
        yield "".join(f"{row}\n" for row in rows.slice(start, _ROWS).to_pylist()).encode()


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells as text; types without an Arrow text form are written as Python writes them."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.cast(pa.large_string())
    except pa.ArrowException:
        texts = [None if value is None else repr(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])
