"""Prometheus metrics of a running stream over HTTP: counts, delays and loss."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shoal.errors import EngineError, ParameterError
from shoal.stream.engine.counters import Snapshot

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
