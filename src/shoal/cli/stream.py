"""``shoal stream``: protection of tuples as they arrive, within a bounded delay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._live_line import live_line
from shoal.cli._tables import print_json, print_table, summary_of
from shoal.errors import ParameterError
from shoal.parameters import declarations
from shoal.stream.recipe.fields import StreamFields

if TYPE_CHECKING:
    from shoal import Replayed, Streamed, StreamRecipe

_REASONS = 3  # number of reasons that are printed


@o.settings(of=StreamFields, text=False)
def stream(
    source: Annotated[
        str, typer.Argument(metavar="[IN]", help="Tuples: a file, - for standard input, a URL, or any table.")
    ] = "-",
    output: Annotated[str, o.option("OUT", "Where classes go: a file, - or a URL.", "--output", "-o")] = "-",
    recipe: Annotated[Path | None, o.option("R.toml", "Take all of this from a file.")] = None,
    form: Annotated[str | None, o.option("", "csv or jsonl.", "--format", usual="as the names say, else jsonl")] = None,
    delimiter: Annotated[str, o.option("", "CSV: what separates the cells.")] = ",",
    quote: Annotated[str, o.option("", "CSV: what stands around cells.")] = '"',
    dead: Annotated[str | None, o.option("FILE", "Where records go that are no tuples, with the reason.")] = None,
    dead_payload: Annotated[bool, o.option("", "Also keep these records there.", "--dead-payload")] = False,
    longest: Annotated[int, o.option("BYTES", "A longer record is no tuple.")] = 1 << 20,
    metrics: Annotated[str | None, o.option("[HOST]:PORT", "Answer Prometheus there, at /metrics.")] = None,
    rate: Annotated[float | None, o.option("N", "Read so many records each second.")] = None,
    drain_seconds: Annotated[float, o.option("S", "Stop within this time when told to.")] = 10.0,
    try_delays: Annotated[
        str | None, o.option("A,B,…", "Write nothing; say what a table loses with these delays.")
    ] = None,
    force: Annotated[bool, o.option("", "Rename an output that exists and has no journal.", "--force")] = False,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Protect a stream: every tuple leaves within the largest delay, in a class of at least k subjects.

    To a file, a stream that was stopped, or killed, goes on where it was when it is run again. Nothing is lost, and
    nothing leaves twice.
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
            say=lambda text: typer.echo(text, err=True),
        )
    _print(done, output, json=json)
    if done.signal is not None:
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
    told = f"{count.read:,} records: {count.released:,} left in {count.classes:,} classes, {count.dropped:,} dropped, "
    told += f"{count.dead:,} dead, {done.counts.waiting:,} wait; {count.clamped:,} values clamped; "
    told += f"loss {done.counts.loss:.2f} %."
    typer.echo(told, err=to_pipe)
    for reason, times in list(done.counts.reasons.items())[:_REASONS]:
        typer.echo(f"{times:,} dead: {reason}", err=to_pipe)
    if done.already:
        typer.echo(f"{done.target}: this stream is finished already; nothing was done.", err=to_pipe)
    elif done.signal is not None and not to_pipe:
        typer.echo(f"{done.target}: stopped. Run it again to go on: those that wait are read again.", err=to_pipe)
    if to_pipe:
        typer.echo("Standard output has no journal: this stream cannot be gone on with.", err=True)


def _print_replayed(found: list[Replayed], *, json: bool) -> None:
    if json:
        print_json({"delays": [one.to_dict() for one in found]})
        return
    rows = [
        (f"{one.delay:,}", f"{one.loss:.3f} %", f"{one.mse:.3g}", f"{one.tally.classes:,}", f"{one.tally.dropped:,}",
         f"{one.tally.dead:,}", f"{one.to_dict()['waited']['average']:,.1f}")
        for one in found
    ]  # fmt: skip
    heads = ("Delay", "Loss", "MSE", "Classes", "Dropped", "Dead", "Waited")
    print_table("Loss against the largest delay", heads, rows)
