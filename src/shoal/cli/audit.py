"""``shoal audit``: audit of any table, whether or not shoal made it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._tables import print_audit, print_json, progress_bar

SUMMARY = "Check which privacy levels a file really has."
EXAMPLE = "shoal audit safe.csv --quasi birth,income --require k=5"
_HELPS = {
    "confidential": "Confidential columns, for the models that use them.",
    "weight": "Column of sampling weights; reports the smallest class's weight.",
    "require": "Required levels, e.g. k=5,l_entropy=3,e:pay=900; else exit code 4.",
}


@o.settings(
    "quasi", "confidential", "subject", "subject_exact", "weight", "require", "kinds", needed=("quasi",), helps=_HELPS
)
def audit(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file or folder to audit, or the URL of a table.")],
    population: o.PopulationFile = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Audit a file as it is written: the size of its smallest class over the quasi-identifiers and, for every privacy
    model, the level that each confidential column achieves (shoal list models).

    Exit code 4 if a requirement does not hold.
    """
    import shoal

    with progress_bar(quiet=json):
        found = shoal.audit(file, **{"quasi": (), **o.read(given)}, memory=memory, population=population)
    if json:
        print_json({**found.to_dict(), "sentences": list(found.sentences)})
    else:
        print_audit(found)
    if not found.holds:
        raise typer.Exit(4)
