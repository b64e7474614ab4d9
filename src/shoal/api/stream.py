"""Protection of a stream, and a trial of it on a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api._given import is_place
from shoal.errors import ParameterError
from shoal.stream import run as flow
from shoal.stream.engine.counters import Snapshot
from shoal.stream.formats import Dialect, read_table
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.stream.replay import Replayed, replay_table
from shoal.stream.run import Streamed, Streaming

__all__ = ["Snapshot", "replay", "run_stream"]

AnyStreamRecipe = StreamRecipe | Mapping[str, Any] | str | Path


def run_stream(
    source: str | Path,
    target: str | Path,
    recipe: AnyStreamRecipe,
    *,
    form: str | None = None,
    delimiter: str = ",",
    quote: str = '"',
    dead: str | Path | None = None,
    dead_payload: bool = False,
    longest: int = 1 << 20,
    rate: float | None = None,
    drain_seconds: float = 10.0,
    metrics: str | None = None,
    force: bool = False,
    watch: Callable[[Snapshot], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Streamed:
    """Protect a stream of tuples until it ends or a signal stops the process.

    Parameters
    ----------
    source, target
        Where tuples come from and go to: files, ``-``, or URLs of a broker; the source may be any table.
    recipe
        What to do: a stream recipe, a mapping with its fields, or the path of a TOML file.
    form, delimiter, quote
        ``csv`` or ``jsonl``; by default, as the names of the files say. The format of CSV.
    dead, dead_payload
        Where to report rejected records, with position, place and reason; whether to keep their contents there, too.
    longest
        Largest size of a record in bytes.
    rate
        Records to read each second. None: as fast as possible.
    drain_seconds
        Seconds within which the stream stops after SIGTERM, SIGINT or SIGHUP.
    metrics
        ``[HOST]:PORT`` at which to answer Prometheus; port 0 takes a free one.
    force
        Rename an output that exists and has no journal.
    watch, say
        Called several times a second with the counts so far; called with a sentence worth a line.

    Returns
    -------
    Streamed
        ``counts``, ``finished`` (whether it ended; otherwise the next run continues it), ``to_dict()``.
    """
    letters = None if dead is None else str(dead)
    how = Streaming(
        form, Dialect(delimiter, quote), letters, dead_payload, longest, rate, drain_seconds, metrics, force
    )
    return flow.run_stream(str(source), str(target), _recipe(recipe), how, watch, say)


def replay(table: Any, recipe: AnyStreamRecipe, *, delays: Sequence[int] | None = None) -> list[Replayed]:
    """Replay a table as a stream, row by row, and measure the loss; nothing is written.

    Parameters
    ----------
    table
        A frame of pandas, polars or pyarrow, the path of a file of any known format, or the URL of a table.
    recipe
        As in :func:`run_stream`.
    delays
        Largest delays to try, each from the beginning. Default: the recipe's.

    Returns
    -------
    list of Replayed
        One for each delay: ``loss``, ``mse``, ``labels``, ``delays``, ``to_dict()``.

    >>> from shoal.api.demo import survey
    >>> recipe = {"quasi": ["income"], "bounds": {"income": (0, 200_000)}, "k": 3, "delay": 10}
    >>> short, long = replay(survey(300), recipe, delays=[10, 100])
    >>> short.loss > long.loss
    True
    """
    if is_place(table):
        return replay_table(read_table(str(table)), _recipe(recipe), delays)
    from shoal.io.sources._arrow_stream import in_memory
    from shoal.io.sources.frame import Frame

    return replay_table(Frame().read(in_memory(table))[0], _recipe(recipe), delays)


def _recipe(given: AnyStreamRecipe) -> StreamRecipe:
    if isinstance(given, StreamRecipe):
        return given
    if isinstance(given, Mapping):
        return StreamRecipe.from_dict(given)
    if isinstance(given, (str, Path)):
        return StreamRecipe.load(given)
    raise ParameterError(f"stream: recipe must be a StreamRecipe, a mapping or a path, got a {type(given).__name__}.")
