"""``shoal attack``: what an attacker learns from a release, compared with guessing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._tables import print_attempts, print_json, progress_bar

SUMMARY = "Find what an attacker learns from a release."
EXAMPLE = "shoal attack people.csv safe.csv --recipe recipe.toml"


@o.settings("quasi", "confidential", "identifier", "subject", "strata", "weight", "reviewed", "k", "kinds")
def attack(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The original file or folder.")],
    released: Annotated[list[str], typer.Argument(metavar="RELEASED…", help="The released table, or both of them.")],
    recipe: Annotated[Path | None, o.option("R.toml", "Recipe of the run; declares the roles of columns.")] = None,
    earlier: Annotated[
        str | None, o.option("FILE", "An earlier release of the same people.", "--earlier", "--with")
    ] = None,
    evidence: Annotated[
        Path | None, o.option("E.json", "Evidence of the run; without a recipe it declares the roles.", group=o.OTHERS)
    ] = None,
    receipt: Annotated[
        Path | None, o.option("R.json", "Receipt of the run; matches rows that were shuffled.", group=o.OTHERS)
    ] = None,
    only: Annotated[
        str | None,
        o.option("A,B,…", "Attacks to run; see shoal list attacks.", usual="all", complete=o.keys_of("attack")),
    ] = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Attack a released file: count the people an attacker is right about, compared with guessing.

    Exit code 4 if an attack succeeds.
    """
    import shoal

    with progress_bar(quiet=json):
        found = shoal.attack(
            original,
            released,
            recipe,
            earlier=earlier,
            evidence=evidence,
            receipt=receipt,
            memory=memory,
            only=o.names(only),
            **o.read(given),
        )
    if json:
        print_json(found.to_dict())
    else:
        print_attempts(found)
    if found.succeeded:
        raise typer.Exit(4)
