"""``shoal warm``: all kernels compiled in advance, for container images and clusters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shoal.cli import _options as o
from shoal.cli._echo import echo
from shoal.cli._tables import print_table, progress_bar

if TYPE_CHECKING:
    from shoal.types.warming import Warmed

SUMMARY = "Compile all kernels in advance."
EXAMPLE = "shoal warm"


def warm(
    cache: Annotated[
        Path | None, o.option("DIR", "Folder for the kernels; SHOAL_CACHE=DIR uses it.", usual="the installation's")
    ] = None,
    cpu: Annotated[
        str | None, o.option("generic", "Compile for any processor of the architecture.", usual="this machine's")
    ] = None,
    only: Annotated[str | None, o.option("A,B,…", "Features to compile, e.g. 'method mdav'.", usual="all")] = None,
) -> None:
    """Compile all kernels, so that no later run has to, and print how long each feature takes to compile."""
    import shoal

    with progress_bar():
        found = shoal.warm(cache, cpu=cpu, only=o.names(only))
    rows = [(one.feature, str(one.kernels), _seconds(one)) for one in found.features]
    print_table("Cold start", ("Feature", "Kernels", "CPU seconds to compile"), rows, right=(1, 2))
    echo(f"{found.kernels:,} kernels, compiled in {found.seconds:,.1f} s of CPU time, are in {found.folder}.")
    if cache is not None:
        echo(f"To use them, set SHOAL_CACHE={found.folder}.")


def _seconds(one: Warmed) -> str:
    if one.refusal:
        return "not run"
    return "compiled before" if one.seconds is None else f"{one.seconds:.1f}"
