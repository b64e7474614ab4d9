"""The receipt of a run: what its owner keeps to himself, and what opens the commitment in the evidence."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.flow.digests import Digest
from shoal.secret import fresh

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
_HEX = 64


@dataclass(frozen=True, slots=True)
class Commitment:
    """SHA-256 of a nonce and of the SHA-256 of an input: nobody can test a guess of the input without the nonce.

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
        nonce = fresh()
        return cls(source.of, nonce, _committed(nonce, source))

    def opens(self, source: Digest) -> bool:
        """Tell whether an input is the one that was committed to."""
        return self.of == source.of and self.sha256 == _committed(self.nonce, source)


def _committed(nonce: bytes, source: Digest) -> str:
    return hashlib.sha256(nonce + bytes.fromhex(source.hex)).hexdigest()


@dataclass(frozen=True, eq=False)
class Receipt:
    """What the owner of the data keeps.

    Attributes
    ----------
    commitment
        What opens the commitment of the evidence.
    swap_key
        The key by which the release `swap` dealt the values; None for other releases.
    rows
        For each released row the number of its row in the input, from 0; None where order and number are the same.
    classes
        For each class the keyed digests of its subjects, where a subject is declared.
    class_key
        The key of these digests.
    """

    commitment: Commitment
    swap_key: bytes | None = field(default=None, repr=False)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    classes: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False)
    class_key: bytes | None = field(default=None, repr=False)

    def render(self) -> str:
        """Return it as JSON."""
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
                f"{path.name}: must be a receipt of shoal, it is not JSON. Give the file of --receipt."
            ) from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise DataError(
                f"{path.name}: must be a receipt of shoal of format {FORMAT}, it is not. Give the file of --receipt."
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
