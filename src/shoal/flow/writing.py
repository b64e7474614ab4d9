"""Write a table or a text, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal import registry
from shoal.sinks.atomic import atomic

if TYPE_CHECKING:
    import pyarrow as pa


def write_table(data: pa.Table, target: Path, *, force: bool) -> None:
    """Write a table to a file of any known format."""
    sink = registry.for_file("sinks", target)()
    with atomic(target, force=force) as staged:
        sink.write(data, staged, None)


def write_text(text: str, target: Path, *, force: bool) -> None:
    """Write a text to a file."""
    with atomic(target, force=force) as staged:
        staged.write_text(text, encoding="utf-8")
