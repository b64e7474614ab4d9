"""Receipt of a run: kept by the data owner; opens the commitment in the evidence."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import secret
from shoal.errors import DataError
from shoal.flow.evidence.digests import Digest, of_name
from shoal.types import Partition, called

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


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
    rows
        For each released row the number of its row in the input, from 0; None if order and number are the same.
    classes
        For each class the keyed digests of its subjects, if a subject or group column is declared; with several
        blocks of attributes, the classes of one block follow those of another.
    class_key
        The key of those digests.
    """

    commitment: Commitment
    swap_key: bytes | None = field(default=None, repr=False)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    classes: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False)
    class_key: bytes | None = field(default=None, repr=False)

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
        import numpy as np

        said, key, rows, classes = (values[name] for name in ("commitment", "swap_key", "permutation", "classes"))
        if said["of"] not in ("bytes", "content") or len(said["sha256"]) != _HEX:
            raise ValueError
        return cls(
            Commitment(said["of"], bytes.fromhex(said["nonce"]), said["sha256"]),
            None if key is None else bytes.fromhex(key),
            None if rows is None else np.array(rows, np.int64),
            None if classes is None else tuple(tuple(map(str, one)) for one in classes["members"]),
            None if classes is None else bytes.fromhex(classes["key"]),
        )


def receipt_of(
    source: Digest,
    partition: Partition,
    *,
    swap_key: bytes | None = None,
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
    swap_key
        The key by which values were assigned, if any.
    subjects
        The subject or group of each record of the partition; None if none is declared.
    rows
        For each released row the number of its row in the input, if they differ.
    """
    if subjects is None:
        return Receipt(Commitment.to(source), swap_key, rows)
    key = secret.fresh()
    return Receipt(Commitment.to(source), swap_key, rows, _members(partition, subjects, key), key)


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
