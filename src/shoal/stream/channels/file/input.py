"""What a stream is read from: a file, a pipe, or something that makes bytes; with a digest of what was read."""

from __future__ import annotations

import hashlib
import os
import select
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from shoal.errors import DataError
from shoal.io.sources._file import unreadable

_BOM = b"\xef\xbb\xbf"


class Lines:
    """Takes pieces of a text, gives back records without their line ends.

    Line ends are LF or CR LF; blank lines hold no record; a byte order mark at the beginning is skipped. With a quote
    a record may hold line ends between quotes; if they do not close within `longest` bytes, its first line is the
    record. Of a record of more than `longest` bytes so many and one more are kept, and the rest is thrown away as it
    comes.

    **Guarantee.** The records and their places do not depend on where the text is cut into pieces.

    >>> lines = Lines(0, 99)
    >>> [lines.take(piece) for piece in (b"a\\nb", b"c\\r\\n\\nd")], lines.end()
    ([([b'a'], [0]), ([b'bc'], [2])], ([b'd'], [7]))
    """

    def __init__(self, place: int, longest: int, quote: bytes | None = None) -> None:
        self.place = place  #: where what is left over begins
        self.longest = longest
        self.quote = quote
        self._rest = b""
        self._head: bytes | None = None  # the beginning of a record that is too long, while the rest of it comes
        self._returns = False  # whether there is a CR in what is at hand
        self._thrown = 0  # how many bytes of it were thrown away

    def take(self, piece: bytes) -> tuple[list[bytes], list[int]]:
        """Return the records that are whole now, and where they begin."""
        return self._take(self._rest + piece if self._rest else piece, last=False)

    def end(self) -> tuple[list[bytes], list[int]]:
        """Return the record that has no line end, if there is one."""
        return self._take(self._rest, last=True)

    def _take(self, text: bytes, *, last: bool) -> tuple[list[bytes], list[int]]:
        records: list[bytes] = []
        begins: list[int] = []
        self._returns = self._returns or b"\r" in text
        if self.place == 0 and self._head is None:
            if len(text) < len(_BOM) and _BOM.startswith(text) and not last:
                self._rest = text
                return records, begins
            if text.startswith(_BOM):
                text, self.place = text[len(_BOM) :], len(_BOM)
        if self._head is not None:
            end = text.find(b"\n") + 1
            if not end and not last:
                self._thrown += len(text)
                self._rest = b""
                return records, begins
            records, begins = [self._head], [self.place]
            self.place += len(self._head) + self._thrown + (end or len(text))
            self._head, text = None, text[end or len(text) :]
        cut = self._plain if self.quote is None or self.quote not in text else self._quoted
        more, where = cut(text, last)
        self._shorten()
        return self._clean(records + more, begins + where)

    def _plain(self, text: bytes, last: bool) -> tuple[list[bytes], list[int]]:
        """Cut text at its line ends."""
        end = len(text) if last else text.rfind(b"\n")
        if end <= 0 and not (last and text) and not text.startswith(b"\n"):
            self._rest = text
            return [], []
        records = text[:end].split(b"\n")
        begins = list(accumulate([len(record) + 1 for record in records[:-1]], initial=self.place))
        self._rest = text[end + 1 :]
        self.place += min(end + 1, len(text))
        return records, begins

    def _shorten(self) -> None:
        """Begin to throw away a record that is too long; two bytes more are kept, for one may be a CR."""
        if len(self._rest) > self.longest + 2 and b"\n" not in self._rest:
            self._head, self._rest = self._rest[: self.longest + 2], self._rest[self.longest + 2 :]
            self._thrown, self._rest = len(self._rest), b""

    def _clean(self, records: list[bytes], begins: list[int]) -> tuple[list[bytes], list[int]]:
        """Return records without CR and blank ones, and none of them too long."""
        if self._returns:
            self._returns = False
            records = [record.removesuffix(b"\r") for record in records]
        if max(map(len, records), default=0) > self.longest:
            records = [record[: self.longest + 1] for record in records]
        if not all(records):
            kept = [index for index, record in enumerate(records) if record]
            return [records[index] for index in kept], [begins[index] for index in kept]
        return records, begins

    def _quoted(self, text: bytes, last: bool) -> tuple[list[bytes], list[int]]:
        """Cut text at its line ends, but not at those between quotes."""
        records, begins, at = [], [], 0
        for end in self._ends(text, last):
            records.append(text[at:end])
            begins.append(self.place + at)
            at = end + 1
        at = min(at, len(text))
        self._rest = text[at:]
        self.place += at
        return records, begins

    def _ends(self, text: bytes, last: bool) -> Iterator[int]:
        """Yield where records end, as far as it can be told."""
        at = 0
        while at < len(text):
            end = self._end(text, at, last)
            if end < 0:
                return
            yield end
            at = end + 1

    def _end(self, text: bytes, at: int, last: bool) -> int:
        """Return where the record that begins at `at` ends; below 0: not known yet."""
        first = end = text.find(b"\n", at)
        counted, quotes = at, 0
        while end >= 0:
            quotes += text.count(self.quote, counted, end)  # type: ignore[arg-type]
            if end - at > self.longest and end != first:
                return first
            if quotes % 2 == 0:
                return end
            if end - at > self.longest:
                return first
            counted, end = end, text.find(b"\n", end + 1)
        if last:
            even = text.count(self.quote, at) % 2 == 0 and len(text) - at <= self.longest  # type: ignore[arg-type]
            return len(text) if even or first < 0 else first
        return first if first >= 0 and len(text) - at > self.longest else -1


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
    if not isinstance(error, OSError):  # Python's own about a stream that has no file any more
        error = OSError(None, "it is closed")
    return unreadable(name, error, "Check where it comes from")
