"""Atomic writing of tables and text: staged first, then renamed when complete."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal import registry
from shoal.errors import ParameterError
from shoal.io.sinks._atomic import atomic
from shoal.locations import Place
from shoal.parameters import build, declarations
from shoal.types.protocols import Sink
from shoal.types.released import released


def open_sink(place: Place, settings: Mapping[str, Any] | None = None) -> Sink:
    """Return the sink for a place, with those settings that it declares."""
    maker = registry.for_place("io.sinks", place.at)
    given = settings or {}
    said = {declared.name: given[declared.name] for declared in declarations(maker) if declared.name in given}
    return build(maker, {**said, **place.options})


def write_table(data: pa.Table, target: Place, *, force: bool, keep_metadata: bool = False) -> None:
    """Write a table to a file of any known format, or to a database."""
    sink = open_sink(target)
    data = released(data, data.column_names, keep=keep_metadata)
    with sink.staged(target.at, force=force) as hidden:
        sink.write(data, hidden, None)


def writes_folder(target: Place, source: Place) -> bool:
    """Tell whether an output is a folder of files rather than one file.

    It is if its name ends in a slash, if it is an existing folder, or if the input is a folder and the name has no
    known suffix. In an object store it always is, and a name with a known suffix must end in a slash.
    """
    if target.stored is not None:
        if not target.folder and target.name.lower().endswith(tuple(registry.declared("io.sinks", "suffixes"))):
            raise ParameterError(
                f"{target}: an output in an object store must be a folder, got the name of a file. End it in a slash."
            )
        return True
    if not isinstance(target.at, Path):
        return False
    if target.folder or target.at.is_dir():
        return True
    known = target.at.name.lower().endswith(tuple(registry.declared("io.sinks", "suffixes")))
    return not known and isinstance(source.at, Path) and source.at.is_dir()


def part_suffix(source: Path) -> str:
    """Return the suffix of the files of an output folder: that of the input's files, if they are text.

    >>> part_suffix(Path("people.csv.gz")), part_suffix(Path("people.tsv")), part_suffix(Path("people.pq"))
    ('.csv', '.tsv', '.parquet')
    """
    if not registry.for_place("io.sources", source).textual:
        return ".parquet"
    suffix = Path(source.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in (".tsv", ".tab") else ".csv"


def write_text(text: str, target: Path, *, force: bool) -> None:
    """Write text to a file."""
    with atomic(target, force=force) as hidden:
        hidden.write_text(text, encoding="utf-8")
