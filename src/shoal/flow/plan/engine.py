"""Engine of a run: in memory, or on disk where a table does not fit."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import ParameterError
from shoal.flow.stages.batches import can_be_batched, files_of
from shoal.flow.stages.table_sizes import size_in_memory
from shoal.locations import Place
from shoal.memory import ceiling
from shoal.types.protocols import Sink

ENGINES = ("memory", "disk", "spark")
_NEEDED = 10  # bytes that a run in memory takes at its peak, for each byte of the table; 6 to 8 were measured …
_NEEDED_FOR_REPORT = 25  # … and with a report, whose measures look at all records, 22 to 23


def engine_for(
    source: Place,
    sink: Sink | None,
    engine: str | None,
    memory: str | int | None,
    *,
    report: bool = False,
    in_store: bool = False,
) -> str:
    """Return the engine: as named, or by the memory that a run in memory would take, with or without a report.

    A folder is always protected on disk, and so is a table whose output goes to an object store (`in_store`); a format
    that cannot be read or written in batches always in memory.

    Raises
    ------
    ParameterError
        If there is no such engine, or the place cannot be protected by it.
    """
    if engine is not None and engine not in ENGINES:
        raise ParameterError(
            f"protect: engine must be {', '.join(ENGINES[:-1])} or {ENGINES[-1]}, got {engine!r}. Choose one of these."
        )
    if engine == "spark":
        raise ParameterError("plan: engine must be memory or disk, got 'spark', which has no dry run. Start the run.")
    if in_store and engine == "memory":
        raise ParameterError(
            f"{source.name}: an output in an object store is made by engine = disk, got memory. Leave out engine."
        )
    engine = "disk" if in_store else engine
    limit = ceiling(memory, "memory")
    folder = isinstance(source.at, Path) and source.at.is_dir()
    possible = can_be_batched(source) and (sink is None or sink.batched)
    if engine == "disk" and not possible:
        raise ParameterError(
            f"{source.name}: engine = disk needs Parquet or text files on both sides, or folders of them. Convert the "
            "input, or choose another output."
        )
    if engine == "memory" and folder:
        raise ParameterError(f"{source.name}: a folder is protected by engine = disk. Leave out engine.")
    if engine is not None:
        return engine
    if not possible or not isinstance(source.at, Path):
        return "memory"
    return "disk" if folder or needed_in_memory(source.at, report=report) > limit else "memory"


def needed_in_memory(path: Path, *, report: bool = False) -> int:
    """Estimate the bytes that protecting a file in memory takes at its peak."""
    return (_NEEDED_FOR_REPORT if report else _NEEDED) * size_in_memory(files_of(path))
