"""Bytes as they come → records, each with the byte at which it begins; none is ever held whole that is too long."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

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
