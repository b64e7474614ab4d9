"""What a stream is read from: a file, a pipe, or something that makes bytes; with a digest of what was read."""

from __future__ import annotations

import hashlib
import os
import select
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from shoal.channels._lines import Lines
from shoal.errors import DataError

_PIECE = 1 << 18
_GZIP = b"\x1f\x8b"


class Bytes(Protocol):
    """Where bytes come from."""

    def read(self, seconds: float) -> bytes | None:
        """Return some, none (the end), or None if nothing came in time."""

    def close(self) -> None:
        """Let go of it."""


class Handle:
    """A file or a pipe."""

    def __init__(self, path: str) -> None:
        self._own = path != "-"
        try:
            self.number = os.open(path, os.O_RDONLY) if self._own else sys.stdin.fileno()
            if self._own and Path(path).is_dir():
                raise IsADirectoryError
        except (OSError, ValueError, AttributeError) as error:
            raise DataError(_unreadable(path, error)) from None
        self._path = path

    def read(self, seconds: float) -> bytes | None:
        """Wait for bytes."""
        try:
            if not select.select([self.number], [], [], seconds)[0]:
                return None
            return os.read(self.number, _PIECE)
        except OSError as error:
            raise DataError(_unreadable(self._path, error)) from None

    def close(self) -> None:
        """Close what was opened here."""
        if self._own:
            os.close(self.number)


class Made:
    """Bytes that something makes, piece after piece."""

    number = -1

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, seconds: float) -> bytes | None:
        """Make some."""
        return next(self._pieces, b"")

    def close(self) -> None:
        """Nothing is open."""


class Input:
    """Records of an input from some place on, and the digest of what stands before any place that was read.

    The input is read from its beginning, also after a restart: what stands before the place is compared with the
    digest that was kept, and goes nowhere.
    """

    def __init__(self, source: Bytes, name: str, *, longest: int, header: bool, quote: bytes | None) -> None:
        self._source, self._name = source, name
        self._lines = Lines(0, longest, quote)
        self._digest = hashlib.blake2b(digest_size=16)
        self._unseen = bytearray()  # what was read, and is not in the digest yet
        self._seen = 0
        self._records: list[bytes] = []
        self._places: list[int] = []
        self._awaited: tuple[int, bytes] | None = None  # up to where it was read before, and the digest of that
        self.ended = False
        self.header = self._first() if header else b""

    def _first(self) -> bytes:
        """Return the first record."""
        while not self._records and not self.ended:
            self._more(None)
        if not self._records:
            raise DataError(
                f"{self._name}: must begin with a line that names the columns, got nothing. Check the input."
            )
        self._places.pop(0)
        return self._records.pop(0)

    def _more(self, seconds: float | None) -> None:
        """Read a piece."""
        piece = self._source.read(3600.0 if seconds is None else seconds)
        if piece is None:
            return
        if not self._seen and not self._unseen and piece.startswith(_GZIP):
            raise DataError(
                f"{self._name}: is compressed with gzip, which streams do not read. Decompress it first: "
                "gzip -dc FILE | shoal stream - …"
            )
        self._unseen += piece
        records, places = self._lines.take(piece) if piece else self._lines.end()
        self._records += records
        self._places += places
        self.ended = not piece

    def skip(self, place: int, digest: bytes) -> None:
        """Let `fetch` leave out what stands before a place, if it is what it was."""
        self._awaited = place, digest

    def _skip(self, place: int, digest: bytes, seconds: float) -> None:
        """Go towards a place for so long; a pipe may take its time."""
        until = time.monotonic() + seconds
        while not self.ended and (self._places[0] if self._places else self._lines.place) < place:
            self._drop_before(place)
            if not self._places:
                if time.monotonic() > until:
                    return
                self._until(min(place, self._lines.place))
                self._more(seconds)
        self._drop_before(place)
        if len(self._unseen) + self._seen < place or self.digest(place) != digest:
            raise DataError(
                f"{self._name}: is not the input that this stream was begun with. Give it again from its beginning, "
                "or choose another output."
            )
        self._awaited = None

    def _drop_before(self, place: int) -> None:
        first = bisect_left(self._places, place)
        del self._records[:first], self._places[:first]

    def fetch(self, most: int, seconds: float) -> tuple[list[bytes], list[int]]:
        """Return records and where they begin; none may have come in time.

        Raises
        ------
        DataError
            If what is left out is not what stood there before.
        """
        if self._awaited is not None:
            self._skip(*self._awaited, seconds)
            if self._awaited is not None:
                return [], []
        if not self._records and not self.ended:
            self._more(seconds)
        records, places = self._records[:most], self._places[:most]
        del self._records[:most], self._places[:most]
        return records, places

    def ends_as_before(self, seconds: float) -> bool:
        """Tell whether the input ended where `skip` says; False: not known yet.

        Raises
        ------
        DataError
            If it is another input, or more follows.
        """
        if self._awaited is not None:
            self._skip(*self._awaited, seconds)
        if self._awaited is not None:
            return False
        if self._unseen.strip(b"\r\n"):
            raise DataError(
                f"{self._name}: has grown since this stream finished, and what was added was not released. Stream the "
                "new records as an input of their own, to another output."
            )
        if not self.ended:
            self._more(seconds)
        return self.ended and not self._unseen.strip(b"\r\n")

    @property
    def over(self) -> bool:
        """Whether nothing comes any more."""
        return self.ended and not self._records and self._awaited is None

    @property
    def after(self) -> int:
        """The place after what was fetched."""
        return self._places[0] if self._places else self._lines.place

    def digest(self, place: int) -> bytes:
        """Return the digest of what stands before a place that was read."""
        self._until(place)
        return self._digest.digest()

    def _until(self, place: int) -> None:
        if (more := place - self._seen) > 0:
            with memoryview(self._unseen) as unseen:
                self._digest.update(unseen[:more])
            del self._unseen[:more]
            self._seen += more

    def close(self) -> None:
        """Let go of the source."""
        self._source.close()


def _unreadable(path: str, error: Exception) -> str:
    name = "Standard input" if path == "-" else path
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"{name}: there is no such file. Check the path."
    if isinstance(error, IsADirectoryError):
        return f"{name}: must be a file, got a folder. Name a file in it."
    if isinstance(error, PermissionError):
        return f"{name}: may not be read by this user. Ask its owner for permission to read it."
    reason = getattr(error, "strerror", None) or "it is closed"
    return f"{name}: could not be read ({reason}). Check where it comes from."
