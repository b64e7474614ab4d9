"""Live status line of a running stream."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.api.stream import Snapshot


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
