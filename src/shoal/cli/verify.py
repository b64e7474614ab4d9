"""``shoal verify``: independent check of a protected file against its evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _options as o
from shoal.cli._tables import print_json, print_verification, progress_bar

SUMMARY = "Check a protected file against its evidence."
EXAMPLE = "shoal verify evidence.json safe.csv --require k=5"


def verify(
    evidence: Annotated[Path, typer.Argument(metavar="E.json", help="The evidence, as protect --evidence wrote it.")],
    output: Annotated[str, typer.Argument(metavar="OUT", help="The protected file or folder, or the URL of a table.")],
    source: Annotated[str | None, o.option("IN", "The file that was protected; needs --receipt.", "--input")] = None,
    receipt: Annotated[
        Path | None, o.option("R.json", "The receipt of the run; opens the commitment to the input.")
    ] = None,
    require: Annotated[
        list[str] | None,
        o.option("MODEL=LEVEL,…", "Levels that must be promised and confirmed, e.g. k=5."),
    ] = None,
    strict: Annotated[
        bool, o.option("", "Exit code 4 if part of the protection cannot be verified.", "--strict")
    ] = False,
    memory: o.Memory = None,
    threads: o.Threads = None,
    json: o.Json = False,
) -> None:
    """Check a protected file against its evidence: that it is the released file, that the recipe's promises hold, and
    that the evidence is correct. The file is audited from scratch.

    Exit code 4 if a check fails. Claims that the output cannot confirm are listed and never assumed to hold; with
    --strict they give exit code 4 as well. Some methods promise no k; then --require k=5 fails.
    """
    import shoal

    with progress_bar(quiet=json):
        asked = o.requirements("--require", None if require is None else ",".join(require))
        found = shoal.verify(evidence, output, source, receipt=receipt, require=asked, strict=strict, memory=memory)
    if json:
        print_json(found.to_dict())
    else:
        print_verification(found)
    if not found.holds:
        raise typer.Exit(4)
