"""Receipt of a run, which opens the commitment in the evidence, and digests of files, tables and names."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import secret
from shoal.errors import DataError
from shoal.io.sources._file import unreadable
from shoal.types import Partition, called

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


def of_folder(folder: Path) -> Digest:
    """Return the SHA-256 of the names and the SHA-256 of a folder's files, in order of their names.

    The digest is that of the lines ``<sha256>  <name>`` in UTF-8, as ``sha256sum * | sha256sum`` computes it where the
    shell sorts names by bytes. Hidden files, and those that begin with an underscore, do not count. The size is that
    of all files.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_bytes(b"abc")
    ...     of_folder(Path(folder)).size
    3
    """
    from shoal.flow.stages.batches import files_of

    files = [(path.name, of_file(path)) for path in files_of(folder)]
    counted = hashlib.sha256("".join(f"{one.hex}  {name}\n" for name, one in files).encode("utf-8", "surrogateescape"))
    return Digest("bytes", counted.hexdigest(), sum(one.size or 0 for _, one in files))


def of_path(path: Path) -> Digest:
    """Return the digest of a file, or of all files of a folder."""
    return of_folder(path) if path.is_dir() else of_file(path)


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
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.cast(pa.large_string())
    except pa.ArrowException:
        texts = [None if value is None else repr(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])


FORMAT = 1
_HEX = 64


@dataclass(frozen=True, slots=True)
class Commitment:
    """SHA-256 of a nonce and of the SHA-256 of an input: without the nonce a guess of the input cannot be tested.

    >>> made = Commitment.to(Digest("bytes", "ab" * 32, 7))
    >>> made.opens(Digest("bytes", "ab" * 32, 7)), made.opens(Digest("bytes", "ac" * 32, 7))
    (True, False)
    """

    of: str  #: ``bytes`` of a file, or ``content`` of a table
    nonce: bytes = field(repr=False)
    sha256: str

    @classmethod
    def to(cls, source: Digest) -> Commitment:
        """Commit to an input by its plain digest, with a fresh nonce."""
        nonce = secret.fresh()
        return cls(source.of, nonce, _committed(nonce, source))

    def opens(self, source: Digest) -> bool:
        """Tell whether an input is the one committed to."""
        return self.of == source.of and self.sha256 == _committed(self.nonce, source)


def _committed(nonce: bytes, source: Digest) -> str:
    return hashlib.sha256(nonce + bytes.fromhex(source.hex)).hexdigest()


@dataclass(frozen=True, eq=False)
class Receipt:
    """The record that the data owner keeps.

    Attributes
    ----------
    commitment
        Opens the commitment in the evidence.
    swap_key
        The key by which the release `swap` assigned values; None for other releases.
    choice_key
        The key by which one of several partitions was chosen; None if nothing was chosen.
    rows
        For each released row the number of its row in the input, from 0; None if order and number are the same.
    classes
        For each class the keyed digests of its subjects, if a subject or group column is declared; with several
        blocks of attributes, the classes of one block follow those of another.
    class_key
        The key of those digests.
    holdout_key
        The key by which the people of the holdout were drawn; None without a holdout.
    """

    commitment: Commitment
    swap_key: bytes | None = field(default=None, repr=False)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    classes: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False)
    class_key: bytes | None = field(default=None, repr=False)
    choice_key: bytes | None = field(default=None, repr=False)
    holdout_key: bytes | None = field(default=None, repr=False)

    def render(self) -> str:
        """Return the receipt as JSON."""
        values: dict[str, Any] = {
            "format": FORMAT,
            "commitment": {
                "of": self.commitment.of,
                "nonce": self.commitment.nonce.hex(),
                "sha256": self.commitment.sha256,
            },
            "swap_key": None if self.swap_key is None else self.swap_key.hex(),
            "choice_key": None if self.choice_key is None else self.choice_key.hex(),
            **({} if self.holdout_key is None else {"holdout_key": self.holdout_key.hex()}),
            "permutation": None if self.rows is None else self.rows.tolist(),
            "classes": None
            if self.classes is None or self.class_key is None
            else {"key": self.class_key.hex(), "members": [list(one) for one in self.classes]},
        }
        return json.dumps(values, indent=None, separators=(",", ":")) + "\n"

    @classmethod
    def read(cls, path: Path) -> Receipt:
        """Read a receipt from its file.

        Raises
        ------
        DataError
            If it cannot be read, or is not a receipt.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{path.name}: cannot be read ({error.strerror}). Check the path of the receipt.") from None
        except (ValueError, RecursionError):
            raise DataError(
                f"{path.name}: must be a receipt of shoal, but it is not JSON. Give the file of --receipt."
            ) from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise DataError(
                f"{path.name}: must be a receipt of shoal in format {FORMAT}, but it is not. Give the file "
                "of --receipt."
            )
        try:
            return cls._of(values)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise DataError(
                f"{path.name}: a section of the receipt is missing or damaged. Give the file of --receipt as it was "
                f"written."
            ) from None

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Receipt:
        said, key, rows, classes = (values[name] for name in ("commitment", "swap_key", "permutation", "classes"))
        if said["of"] not in ("bytes", "content") or len(said["sha256"]) != _HEX:
            raise ValueError
        choice, holdout = (values.get(name) for name in ("choice_key", "holdout_key"))  # absent from earlier versions
        return cls(
            Commitment(said["of"], bytes.fromhex(said["nonce"]), said["sha256"]),
            None if key is None else bytes.fromhex(key),
            None if rows is None else np.array(rows, np.int64),
            None if classes is None else tuple(tuple(map(str, one)) for one in classes["members"]),
            None if classes is None else bytes.fromhex(classes["key"]),
            None if choice is None else bytes.fromhex(choice),
            None if holdout is None else bytes.fromhex(holdout),
        )


def receipt_of(
    source: Digest,
    partition: Partition,
    *,
    subjects: pa.ChunkedArray | None = None,
    rows: NDArray[np.int64] | None = None,
) -> Receipt:
    """Make the receipt of a run.

    Parameters
    ----------
    source
        The plain digest of the input.
    partition
        The classes.
    subjects
        The subject or group of each record of the partition; None if none is declared.
    rows
        For each released row the number of its row in the input, if they differ.
    """
    if subjects is None:
        return Receipt(Commitment.to(source), rows=rows)
    key = secret.fresh()
    return Receipt(Commitment.to(source), rows=rows, classes=_members(partition, subjects, key), class_key=key)


def _members(partition: Partition, subjects: pa.ChunkedArray, key: bytes) -> tuple[tuple[str, ...], ...]:
    """Return the sorted keyed digests of each class's subjects; records without a subject share one."""
    encoded = subjects.combine_chunks().dictionary_encode(null_encoding="encode")
    names = [of_name(key, "" if value is None else called(value)) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_pylist()
    found = []
    for block in partition.blocks:
        members: list[set[str]] = [set() for _ in range(len(block))]
        for label, code in zip(block.labels.tolist(), codes, strict=True):
            members[label].add(names[code])
        found += [tuple(sorted(one)) for one in members]
    return tuple(found)
