"""``shoal stream``: protection of tuples as they arrive, within a bounded delay."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._echo import echo
from shoal.cli._tables import print_json, print_table, summary_of
from shoal.errors import ParameterError
from shoal.parameters import declarations
from shoal.stream.recipe.fields import StreamFields

if TYPE_CHECKING:
    from shoal import Replayed, Streamed, StreamRecipe
    from shoal.api.stream import Snapshot

SUMMARY = "Protect records as they arrive."
EXAMPLE = "shoal stream in.csv -o out.csv --recipe stream.toml"


def line(now: Snapshot) -> str:
    """Return the status of a stream in one line."""
    count = now.tally
    half, most, longest = now.delay
    seconds = " / ".join(f"{value:.3g}" for value in now.delay_seconds)
    parts = [
        f"in {count.read:,}",
        f"out {count.released:,}",
        f"dropped {count.dropped:,}",
        f"rejected {count.dead:,}",
        f"pending {now.waiting:,}",
        f"delay {half:,} / {most:,} / {longest:,} tuples, {seconds} s",
        f"loss {now.loss:.2f} %",
        f"{now.rate:,.0f}/s",
    ]
    return " · ".join(parts)


@contextmanager
def live_line(*, quiet: bool = False) -> Iterator[Callable[[Snapshot], None] | None]:
    """Show the line on standard error while the block runs; nothing if that is not a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        yield lambda now: live.update(Text(line(now), overflow="ellipsis", no_wrap=True), refresh=True)


_REASONS = 3  # number of reasons that are printed


@o.settings(of=StreamFields, text=False)
def stream(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="Input: a file, - for standard input, a URL, or any table.")
    ] = "-",
    output: Annotated[str, o.option("OUT", "Output: a file, - for standard output, or a URL.", "--output", "-o")] = "-",
    recipe: Annotated[Path | None, o.option("R.toml", "Recipe file; options override its fields.")] = None,
    form: Annotated[
        str | None,
        o.option("csv|jsonl", "Format of input and output.", "--format", usual="by the file names, else jsonl"),
    ] = None,
    delimiter: Annotated[str, o.option("CHAR", "CSV: delimiter of cells.")] = ",",
    quote: Annotated[str, o.option("CHAR", "CSV: quote character.")] = '"',
    dead: Annotated[str | None, o.option("FILE", "Output for rejected records, each with the reason.")] = None,
    dead_payload: Annotated[bool, o.option("", "Include the rejected records themselves.", "--dead-payload")] = False,
    longest: Annotated[int, o.option("BYTES", "Longest record in bytes; longer ones are rejected.")] = 1 << 20,
    metrics: Annotated[str | None, o.option("[HOST]:PORT", "Serve Prometheus metrics here, at /metrics.")] = None,
    rate: Annotated[float | None, o.option("N", "Records to read per second.")] = None,
    drain_seconds: Annotated[float, o.option("S", "Seconds to finish when asked to stop.")] = 10.0,
    try_delays: Annotated[
        str | None, o.option("A,B,…", "Write nothing; print the loss of a table for these delays.")
    ] = None,
    force: Annotated[bool, o.option("", "Rename an existing output that has no journal.", "--force")] = False,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Protect a stream: release every tuple within the largest delay, in a class of at least k subjects.

    A stream to a file that was stopped or killed continues where it stopped when it is run again: nothing is lost or
    released twice.
    """
    made = _recipe(recipe, o.read(given, StreamFields))
    import shoal

    if try_delays is not None:
        found = shoal.replay(source, made, delays=[int(n) for n in o.numbers("--try-delays", try_delays, int) or ()])
        _print_replayed(found, json=json)
        return
    if output == "-" and json:
        raise ParameterError("stream: --json and tuples cannot both go to standard output. Give -o a file.")
    with live_line(quiet=json) as watch:
        done = shoal.run_stream(
            source,
            output,
            made,
            form=form,
            delimiter={"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter),
            quote=quote,
            dead=dead,
            dead_payload=dead_payload,
            longest=longest,
            rate=rate,
            drain_seconds=drain_seconds,
            metrics=metrics,
            force=force,
            watch=watch,
            say=lambda text: echo(text, err=True),
        )
    _print(done, output, json=json)
    if done.signal is not None:
        signal.signal(done.signal, signal.SIG_IGN)  # another one while Python ends would change the exit code
        raise typer.Exit(128 + done.signal)


def _recipe(path: Path | None, given: dict[str, Any]) -> StreamRecipe:
    """Make the recipe from a file, from options, or from a file with overriding options."""
    from shoal import StreamRecipe

    said = o.both(StreamRecipe, path, given)
    for one in declarations(StreamFields):
        if one.required and one.name not in said:
            raise ParameterError(f"stream: --{one.name} must be given, got nothing. Give it, or --recipe.")
    return StreamRecipe.from_dict(said)


def _print(done: Streamed, output: str, *, json: bool) -> None:
    if json:
        with summary_of(output):
            print_json(done.to_dict())
        return
    count, to_pipe = done.counts.tally, output == "-"
    told = (
        f"{count.read:,} records: {count.released:,} released in {count.classes:,} classes, {count.dropped:,} dropped, "
    )
    told += f"{count.dead:,} rejected, {done.counts.waiting:,} pending; {count.clamped:,} values clamped; "
    told += f"loss {done.counts.loss:.2f} %."
    echo(told, err=to_pipe)
    for reason, times in list(done.counts.reasons.items())[:_REASONS]:
        echo(f"{times:,} rejected: {reason}", err=to_pipe)
    if done.already:
        echo(f"{done.target}: this stream has already finished; nothing was done.", err=to_pipe)
    elif done.signal is not None and not to_pipe:
        echo(f"{done.target}: stopped. Run it again to continue: pending tuples are read again.", err=to_pipe)
    if to_pipe:
        echo("Standard output has no journal: this stream cannot be continued.", err=True)


def _print_replayed(found: list[Replayed], *, json: bool) -> None:
    if json:
        print_json({"delays": [one.to_dict() for one in found]})
        return
    rows = [
        (f"{one.delay:,}", f"{one.loss:.3f} %", f"{one.mse:.3g}", f"{one.tally.classes:,}", f"{one.tally.dropped:,}",
         f"{one.tally.dead:,}", f"{one.to_dict()['waited']['average']:,.1f}")
        for one in found
    ]  # fmt: skip
    heads = ("Delay", "Loss", "MSE", "Classes", "Dropped", "Rejected", "Mean delay")
    print_table("Loss against the largest delay", heads, rows)
