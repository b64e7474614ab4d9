"""Counters of a running stream, and its Prometheus metrics over HTTP."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, EngineError, ParameterError
from shoal.types.stream import Tally

_PARTS = 20  # buckets per power of two of a second: delays in seconds are accurate to within 4 %
_SMALLEST = 1e-4
_SPAN = 10.0  # seconds over which the rate is averaged
_REASONS = 20  # number of different reasons that are counted separately


@dataclass(frozen=True)
class Snapshot:
    """Counters of a stream; counts cover the whole stream, delays and rate this run."""

    tally: Tally
    waiting: int
    lanes: int
    seconds: float  #: since the run began
    rate: float  #: records per second, over the last seconds
    delay: tuple[int, int, int]  #: in tuples: median, 95th percentile, maximum
    delay_seconds: tuple[float, float, float]
    reasons: Mapping[str, int] = field(default_factory=dict)  #: why records were rejected, most frequent first

    @property
    def loss(self) -> float:
        """Squared error in percent of the squared distance from the middle of the domain."""
        return 100.0 * self.tally.lost / self.tally.spread if self.tally.spread else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values."""
        count = self.tally
        names = ("half", "95 %", "longest")
        return {
            **{name: getattr(count, name) for name in ("read", "released", "dropped", "dead", "clamped", "classes")},
            "waiting": self.waiting,
            "loss": round(self.loss, 6),
            "seconds": round(self.seconds, 3),
            "rate": round(self.rate, 1),
            "delay": dict(zip(names, self.delay, strict=True)),
            "delay_seconds": dict(zip(names, (round(s, 4) for s in self.delay_seconds), strict=True)),
            "reasons": dict(self.reasons),
        }


@dataclass
class Gauge:
    """Counts arrivals and releases. Written by the stream, read by others at any time."""

    began: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _came: int = 0
    _marks: deque[tuple[float, int]] = field(default_factory=deque, repr=False)
    _delays: NDArray[np.int64] = field(default_factory=lambda: np.zeros(64, np.int64), repr=False)
    _seconds: NDArray[np.int64] = field(default_factory=lambda: np.zeros(40 * _PARTS, np.int64), repr=False)
    _longest: float = 0.0
    _reasons: Counter[str] = field(default_factory=Counter, repr=False)

    def bad(self, reason: str) -> None:
        """Count a record that is not a tuple."""
        with self._lock:
            known = reason in self._reasons or len(self._reasons) < _REASONS
            self._reasons[reason if known else "other reasons."] += 1

    def came(self, count: int, now: float) -> None:
        """Count records that arrived."""
        with self._lock:
            self._came += count
            self._marks.append((now, self._came))
            while self._marks[0][0] < now - _SPAN and len(self._marks) > 2:
                self._marks.popleft()

    def left(self, delays: NDArray[np.int64], waited: NDArray[np.float64]) -> None:
        """Count released tuples with their delays, in tuples and in seconds."""
        if not len(delays):
            return
        place = np.log2(np.maximum(waited, _SMALLEST) / _SMALLEST) * _PARTS
        with self._lock:
            self._delays = _added(self._delays, np.maximum(delays, 0))
            self._seconds = _added(self._seconds, np.minimum(place.astype(np.int64), len(self._seconds) - 1))
            self._longest = max(self._longest, float(waited.max()))

    def snapshot(self, tallies: Iterable[tuple[Tally, int]], now: float) -> Snapshot:
        """Return the counters, given the lanes' tallies and numbers of pending tuples."""
        known = list(tallies)
        total = Tally(*map(sum, zip(*(astuple(tally) for tally, _ in known), strict=True)))
        with self._lock:
            (then, before), (last, came) = (self._marks[0], self._marks[-1]) if self._marks else ((now, 0), (now, 0))
            if then == last:
                then, before = self.began, 0
            rate = (came - before) / max(now - then, 1e-9)
            delays = _levels(self._delays)
            seconds = [_SMALLEST * 2.0 ** ((level + 1) / _PARTS) for level in _levels(self._seconds)]
            reasons = dict(self._reasons.most_common())
        known_longest = self._longest
        return Snapshot(
            total,
            sum(waiting for _, waiting in known),
            len(known),
            now - self.began,
            rate,
            (delays[0], delays[1], delays[2]),
            (min(seconds[0], known_longest), min(seconds[1], known_longest), known_longest),
            reasons,
        )


def _added(counts: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    more = np.bincount(values, minlength=len(counts))
    more[: len(counts)] += counts
    return more


def _levels(counts: NDArray[np.int64]) -> list[int]:
    """Return the median, the 95th percentile and the maximum of the counted values."""
    upto = np.cumsum(counts)
    if not upto[-1]:
        return [0, 0, 0]
    return [int(np.searchsorted(upto, share * upto[-1])) for share in (0.5, 0.95, 1.0)]


WINDOW = 1000  #: records that are judged at once
_number = itemgetter(0)


class Rejections:
    """Counts the records of all lanes in reading order, and judges every 1,000 of them.

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
        self.judged = 0  #: number of judged records
        self._begin = 0  # of the current 1,000
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
        bad = self._judge(self._begin, self.came, WINDOW)  # there may be too many before it is full
        certain = WINDOW - (self.came - self._begin - bad) <= self.most * WINDOW
        self.judged = self.came if certain else self._begin
        del self._bad[: self._before(self._begin - WINDOW)]

    def end(self) -> None:
        """Judge the last 1,000 records, or all if there are fewer: the input has ended."""
        if self.came:
            first = max(self.came - WINDOW, 0)
            self._judge(first, self.came, self.came - first)
        self.judged = self.came

    def _before(self, record: int) -> int:
        return bisect_left(self._bad, record, key=_number)

    def _judge(self, first: int, end: int, count: int) -> int:
        """Return the number of rejected records; raise if it is too large a part of `count`."""
        found = self._bad[self._before(first) : self._before(end)]
        if len(found) <= self.most * count:
            return len(found)
        reason, times = Counter(reason for _, reason in found).most_common(1)[0]
        raise DataError(
            f"Stream: {len(found):,} of {end - first:,} records were rejected, more than max_rejected = {self.most:g} "
            f"allows. Most frequent reason ({times:,}): {reason.rstrip('.')}. They were not committed: correct the "
            "input or the recipe and run it again, or raise max_rejected."
        )


_COUNTS = {
    "read": "Records received, valid or not.",
    "released": "Tuples released in a class.",
    "dropped": "Tuples for which no class could be formed.",
    "dead": "Records rejected.",
    "clamped": "Values outside their bounds, moved to the nearest bound.",
    "classes": "Classes released.",
}
_QUANTILES = ("0.5", "0.95", "1")


def text(now: Snapshot) -> str:
    """Return a snapshot in the text format of Prometheus."""
    lines = []

    def add(name: str, kind: str, help_: str, values: dict[str, float]) -> None:
        lines.extend([f"# HELP shoal_{name} {help_}", f"# TYPE shoal_{name} {kind}"])
        lines.extend(f"shoal_{name}{labels} {value:.10g}" for labels, value in values.items())

    for name, help_ in _COUNTS.items():
        add(f"{name}_total", "counter", help_, {"": getattr(now.tally, name)})
    add("waiting", "gauge", "Tuples pending.", {"": now.waiting})
    add("lanes", "gauge", "Lanes assigned to this instance.", {"": now.lanes})
    add("loss_percent", "gauge", "Squared error, in percent of that of the domain's middle.", {"": now.loss})
    add("records_per_second", "gauge", "Records read per second, over the last ten seconds.", {"": now.rate})
    quantiles = [f'{{quantile="{share}"}}' for share in _QUANTILES]
    waited = dict(zip(quantiles, map(float, now.delay), strict=True))
    add("delay_tuples", "gauge", "Records received until a tuple was released.", waited)
    seconds = dict(zip(quantiles, now.delay_seconds, strict=True))
    add("delay_seconds", "gauge", "Seconds until a tuple was released.", seconds)
    return "\n".join(lines) + "\n"


def address(given: str) -> tuple[str, int]:
    """Parse ``HOST:PORT``; without a host the server listens on this machine only.

    >>> address(":9100")
    ('127.0.0.1', 9100)
    """
    host, sign, port = given.rpartition(":")
    if not sign or not port.isdecimal() or int(port) > 65535:
        raise ParameterError(f"--metrics: must be :PORT or HOST:PORT, got {given!r}. Write for example :9100.")
    return host or "127.0.0.1", int(port)


@contextmanager
def serving(given: str | None, latest: Callable[[], Snapshot]) -> Iterator[str | None]:
    """Serve ``/metrics`` while the block runs; yield the address, None if metrics are off."""
    if given is None:
        yield None
        return
    host, port = address(given)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path.partition("?")[0] == "/metrics"
            body = text(latest()).encode() if found else b"Ask for /metrics.\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Suppress the request log on standard error."""

    try:
        server = ThreadingHTTPServer((host, port), Answer)
    except OSError as error:
        raise EngineError(f"--metrics: cannot listen at {given} ({error.strerror}). Choose another port.") from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
