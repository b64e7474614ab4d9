"""Share of rejected records: a stream that rejects too many stops before they are committed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter

from shoal.errors import DataError

WINDOW = 1000  #: records that are judged at once
_number = itemgetter(0)


class Rejections:
    """Counts the records of all lanes in the order in which they are read, and judges every 1,000 of them.

    Rejected records are committed only after they were judged, so that a stream that stops here reads them again when
    it is resumed with a corrected recipe. Tuples are committed without waiting for that.

    >>> rejections = Rejections(0.5)
    >>> rejections.add(600, [(3, "the record is not JSON.")])
    >>> rejections.judged  # 599 good ones: whatever follows, at most half of 1,000 are rejected
    600
    """

    def __init__(self, most: float) -> None:
        self.most = most  #: largest share that may be rejected
        self.came = 0  #: how many records were read
        self.judged = 0  #: so many of them were judged
        self._begin = 0  # of the 1,000 that are being read
        self._bad: list[tuple[int, str]] = []  # rejected records, and why

    def add(self, count: int, faults: Sequence[tuple[int, str]]) -> None:
        """Count records; `faults` are the rejected ones among them, in order, each with its reason.

        Raises
        ------
        DataError
            If more than the allowed share of 1,000 records was rejected.
        """
        self._bad += [(self.came + index, reason) for index, reason in faults]
        self.came += count
        while self._begin + WINDOW <= self.came:
            self._judge(self._begin, self._begin + WINDOW, WINDOW)
            self._begin += WINDOW
        bad = self._judge(self._begin, self.came, WINDOW)  # it may have too many before it is full
        certain = WINDOW - (self.came - self._begin - bad) <= self.most * WINDOW
        self.judged = self.came if certain else self._begin
        del self._bad[: self._before(self._begin - WINDOW)]

    def end(self) -> None:
        """Judge the last 1,000 records, or all if there are fewer: nothing follows."""
        if self.came:
            first = max(self.came - WINDOW, 0)
            self._judge(first, self.came, self.came - first)
        self.judged = self.came

    def _before(self, record: int) -> int:
        return bisect_left(self._bad, record, key=_number)

    def _judge(self, first: int, end: int, count: int) -> int:
        """Return how many records were rejected, if that is not too large a part of `count`."""
        found = self._bad[self._before(first) : self._before(end)]
        if len(found) <= self.most * count:
            return len(found)
        reason, times = Counter(reason for _, reason in found).most_common(1)[0]
        raise DataError(
            f"Stream: {len(found):,} of {end - first:,} records were rejected, more than max_rejected = {self.most:g} "
            f"allows. Most frequent reason ({times:,}): {reason.rstrip('.')}. They were not committed: correct the "
            "input or the recipe and run it again, or raise max_rejected."
        )
