"""``shoal stream``: protect tuples as they come, within a bounded delay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._live_line import live_line
from shoal.cli._tables import console, print_json, summary_of
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal import Replayed, Streamed, StreamRecipe

_REASONS = 3  # so many of them are printed
_SHARED = (
    "quasi", "confidential", "identifier", "subject", "subject_exact", "kinds", "orders", "taxonomies", "resolution",
)  # fmt: skip
_JOINED = ("bounds", "kinds", "orders", "categories", "taxonomies", "attribute_weights", "set", "require", "resolution")


@o.settings(*_SHARED, text=False)
def stream(
    source: Annotated[
        str, typer.Argument(metavar="[IN]", help="Tuples: a file, - for standard input, a URL, or any table.")
    ] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where classes go: a file, - or a URL.")
    ] = "-",
    bounds: Annotated[
        str | None, typer.Option(metavar="A=LOW:HIGH,…", help="The ends of each numeric or datetime attribute.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Fewest subjects in a class.")] = None,
    delay: Annotated[int | None, typer.Option(help="Largest delay: how many tuples may come until one leaves.")] = None,
    delay_seconds: Annotated[
        float | None, typer.Option(metavar="S", help="A tuple that waited so long leaves though no other comes.")
    ] = None,
    order_weight: Annotated[
        str | None, typer.Option(metavar="W|keep", help="Weight of the position; keep: nothing is reordered.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Fields released unchanged; default: those of the first tuples.")
    ] = None,
    unknown: Annotated[
        str | None,
        typer.Option(metavar="reject|remove|keep", help="What to do with undeclared fields.", show_default="reject"),
    ] = None,
    max_rejected: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Stop above this share of rejected records.", show_default="0.5"),
    ] = None,
    require: Annotated[
        str | None, typer.Option(metavar="MODEL=LEVEL,…", help="What every class must hold besides, e.g. l_distinct=3.")
    ] = None,
    t: Annotated[
        float | None, typer.Option("--t", help="How far a class may be from what came so far in confidential values.")
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=A,B,…", help="All categories of a nominal attribute.")
    ] = None,
    attribute_weight: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=NUMBER", help="How much distances in an attribute count.")
    ] = None,
    exact_means: Annotated[
        bool, typer.Option("--exact-means", help="Release means of integers with all their digits.")
    ] = False,
    round_integers: Annotated[bool, typer.Option("--round-integers", help="Changes nothing.", hidden=True)] = False,
    method: Annotated[str | None, typer.Option(help="How classes form.", show_default="nearest")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method.")
    ] = None,
    class_field: Annotated[
        str | None, typer.Option(metavar="NAME", help="The field that says the class.", show_default="class")
    ] = None,
    recipe: Annotated[Path | None, typer.Option(metavar="R.toml", help="Take all of this from a file.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="csv or jsonl.", show_default="as the names say, else jsonl")
    ] = None,
    delimiter: Annotated[str, typer.Option(help="CSV: what separates the cells.")] = ",",
    quote: Annotated[str, typer.Option(help="CSV: what stands around cells.")] = '"',
    dead: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where records go that are no tuples, with the reason.")
    ] = None,
    dead_payload: Annotated[bool, typer.Option("--dead-payload", help="Also keep these records there.")] = False,
    longest: Annotated[int, typer.Option(metavar="BYTES", help="A longer record is no tuple.")] = 1 << 20,
    metrics: Annotated[
        str | None, typer.Option(metavar="[HOST]:PORT", help="Answer Prometheus there, at /metrics.")
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="N", help="Read so many records each second.")] = None,
    drain_seconds: Annotated[float, typer.Option(metavar="S", help="Stop within this time when told to.")] = 10.0,
    try_delays: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Write nothing; say what a table loses with these delays.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Rename an output that exists and has no journal.")] = False,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Protect a stream: every tuple leaves within the largest delay, in a class of at least k subjects.

    To a file, a stream that was stopped, or killed, goes on where it was when it is run again. Nothing is lost, and
    nothing leaves twice.
    """
    made = _recipe(
        recipe,
        bounds=o.bounds(bounds),
        k=k,
        delay=delay,
        delay_seconds=delay_seconds,
        order_weight=_weight(order_weight),
        keep=None if keep is None else o.names(keep),
        unknown=unknown,
        max_rejected=max_rejected,
        require=o.requirements(require),
        t=t,
        categories={name: o.names(text) for name, text in o.pairs("--categories", categories).items()},
        attribute_weights=o.typed_settings(o.pairs("--attribute-weight", attribute_weight, last=True)),
        exact_means=exact_means or None,
        round_integers=round_integers or None,
        method=method,
        set=o.typed_settings(o.pairs("--set", set_)),
        class_field=class_field,
        **o.read(given),
    )
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


def _weight(given: str | None) -> float | str | None:
    if given is None or given == "keep":
        return given
    try:
        return float(given)
    except ValueError:
        raise ParameterError(f"--order-weight: must be a number or keep, got {given!r}. Correct it.") from None


def _recipe(path: Path | None, **given: Any) -> StreamRecipe:
    """Make the recipe from a file, from options, or from a file with options that say otherwise."""
    from shoal import StreamRecipe

    said = {name: value for name, value in given.items() if value not in (None, (), {}, [])}
    if given.get("keep") is not None:  # an empty list keeps nothing
        said["keep"] = given["keep"]
    if path is not None:
        said = o.merged(StreamRecipe.values_in(path), said, _JOINED)
    for name in ("quasi", "k", "delay"):
        if name not in said:
            raise ParameterError(f"stream: --{name} must be given, got nothing. Give it, or --recipe.")
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
    from rich.table import Table

    heads = ("Delay", "Loss", "MSE", "Classes", "Dropped", "Dead", "Waited")
    table = Table(*heads, title="Loss against the largest delay", title_justify="left")
    for one in found:
        said = one.to_dict()
        table.add_row(
            f"{one.delay:,}",
            f"{one.loss:.3f} %",
            f"{one.mse:.3g}",
            f"{one.tally.classes:,}",
            f"{one.tally.dropped:,}",
            f"{one.tally.dead:,}",
            f"{said['waited']['average']:,.1f}",
        )
    console().print(table)
