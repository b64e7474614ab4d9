"""Stream run: open a stream, run it, and report the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from shoal import registry
from shoal.errors import ParameterError
from shoal.locations import place
from shoal.privacy.stream_gate.gate import Gate
from shoal.progress import listening
from shoal.stream.engine.counters import Gauge, Rejections, Snapshot, serving
from shoal.stream.engine.demands import digits_of
from shoal.stream.engine.lane import How
from shoal.stream.engine.loop import Pace, Running, StoppedError, Stopping
from shoal.stream.formats import FEEDS, FORMATS, Dialect, chosen, format_of, read_table
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.types.stream import Cursor, Journey, Link

_DAY = 86_400.0
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9.-]*)(?:\+[^:]*)?://")


@dataclass(frozen=True)
class Streaming:
    """Run settings of a stream: everything that does not affect its promises."""

    form: str | None = None  #: csv or jsonl; None: by file name
    dialect: Dialect = field(default_factory=Dialect)
    dead: str | None = None  #: destination of dead letters
    dead_payload: bool = False  #: whether they contain the record
    longest: int = 1 << 20  #: maximum size of a record in bytes
    rate: float | None = None  #: records per second; None: full speed
    drain_seconds: float = 10.0  #: time allowed for stopping after a signal
    metrics: str | None = None  #: address of the Prometheus metrics
    force: bool = False  #: set an existing output aside

    def __post_init__(self) -> None:
        if not isinstance(self.longest, int) or not 1 <= self.longest < 1 << 31:
            raise ParameterError(
                f"stream: longest must be an integer ≥ 1 and < 2³¹, got {self.longest!r}. Correct longest."
            )
        if not 0 < self.drain_seconds <= _DAY:
            raise ParameterError(
                f"stream: drain_seconds must be above 0 and at most a day, got {self.drain_seconds:g}. Correct it."
            )


@dataclass(frozen=True)
class Streamed:
    """The result of one run of a stream."""

    target: str  #: without any password
    counts: Snapshot
    finished: bool  #: whether the stream has ended; if not, it resumes when run again
    already: bool = False  #: whether it had ended before this run
    signal: int | None = None  #: the signal that stopped it

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values."""
        return {"output": self.target, "finished": self.finished, "already": self.already, **self.counts.to_dict()}


@dataclass(frozen=True)
class Telling:
    """A listener that forwards sentences, such as that a broker does not answer."""

    say: Callable[[str], None]

    def stage(self, name: str) -> None:
        """Ignore stages, which a stream does not have."""

    def report(self, done: int, total: int) -> None:
        """Ignore progress: the total is unknown."""

    def finished(self, text: str) -> None:
        """Ignore finished parts: a stream has no parts."""


def run_stream(
    source: str,
    target: str,
    recipe: StreamRecipe,
    how: Streaming,
    watch: Callable[[Snapshot], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Streamed:
    """Run a stream until it ends or a signal stops it."""
    journey, form = _journey(source, target, recipe, how)
    with Stopping(how.drain_seconds) as stopping, listening(Telling(say)):
        channel = registry.load("stream.channels", _channel(source, target))()
        try:
            with stopping.at_once():
                opened = channel.open(journey)
        except StoppedError:
            return Streamed(str(place(target)), Gauge().snapshot((), 0.0), finished=False, signal=stopping.asked)
        with closing(opened) as link:
            already = bool(link.finished)
            running = _running(link, recipe, how, form, watch)
            with serving(how.metrics, lambda: running.latest) as address:
                if address is not None:
                    say(f"Metrics: {address}")
                counts = running.run(stopping)
            finished = running.over if link.finished is None else link.finished
    return Streamed(str(place(target)), counts, finished, already, None if finished else stopping.asked)


def _journey(source: str, target: str, recipe: StreamRecipe, how: Streaming) -> tuple[Journey, str]:
    table = _is_table(source)
    form = chosen(how.form, source, target, table=table)
    csv = FORMATS[form].header
    feed: Iterator[bytes] | None = FEEDS[form](read_table(source)) if table else None
    journey = Journey(
        source,
        target,
        {**recipe.promised, **(_columns(recipe) if csv else {}), "format": form},
        recipe.fingerprint,
        how.dead,
        how.force,
        how.longest,
        csv,
        how.dialect.quote.encode() if csv else None,
        feed,
    )
    return journey, form


def _columns(recipe: StreamRecipe) -> dict[str, Any]:
    """Return the settings that determine the columns of a CSV file: its header is written once."""
    stored = recipe.stored
    return {name: stored[name] for name in ("keep", "unknown") if name in stored}


def _running(
    link: Link, recipe: StreamRecipe, how: Streaming, form: str, watch: Callable[[Snapshot], None] | None
) -> Running:
    made = FORMATS[form]
    wire = made.wire(link.header, recipe, how.dialect)
    link.preface(wire.head)
    reader, digits = made.reader(link.header, wire.head, recipe, how.dialect), digits_of(recipe)

    def gate(cursor: Cursor) -> Gate:
        return Gate(
            reader,
            recipe.k,
            cursor.tally.classes,
            cursor.position,
            cursor.done,
            digits,
            subject_exact=recipe.subject_exact,
        )

    shared = How(recipe, wire, how.longest, how.dead_payload, Rejections(recipe.max_rejected))
    return Running(link, shared, gate, Pace(how.rate), watch)


def _is_table(source: str) -> bool:
    """Tell whether an input must be read whole before its rows can arrive: a Parquet file, a database table."""
    scheme = _scheme(source)
    if scheme is not None:
        return scheme not in registry.keys("stream.channels")
    if source == "-" or format_of(source) is not None:
        return False
    name = source.lower().partition("?")[0]
    return any(name.endswith(suffix) for suffix in registry.declared("io.sources", "suffixes"))


def _scheme(given: str) -> str | None:
    found = _SCHEME.match(given)
    return None if found is None else found[1].lower()


def _channel(source: str, target: str) -> str:
    """Return the channel that both ends belong to."""
    ends = [_scheme(target) or "files", "files" if _is_table(source) else _scheme(source) or "files"]
    if ends[0] not in registry.keys("stream.channels"):
        raise ParameterError(f"{ends[0]}://: a stream cannot be written there. Write it to a file.")
    if ends[0] != ends[1]:
        raise ParameterError(
            f"stream: input and output must be of one kind, got {ends[1]} and {ends[0]}, because output and progress "
            "are stored together. Use a pipe between them."
        )
    return ends[0]
