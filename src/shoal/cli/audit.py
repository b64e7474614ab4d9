"""``shoal audit``: audit of any table, whether or not shoal made it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._tables import print_audit, print_json, progress_bar

_HELPS = {
    "confidential": "Confidential columns, for the models that look at them.",
    "weight": "Column of sampling weights; the smallest class is also weighed.",
    "require": "What must hold, e.g. k=5,l_entropy=3,e:pay=900; else exit code 4.",
}


@o.settings(
    "quasi", "confidential", "subject", "subject_exact", "weight", "require", "kinds", needed=("quasi",), helps=_HELPS
)
def audit(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to audit, or the URL of a table.")],
    threads: o.Threads = None,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Find what really holds of a file as it is written: the smallest class over its quasi-identifiers, and for each
    confidential column how much its classes give away, in every model there is (shoal list models).

    Exit code 4 if something required does not hold.
    """
    import shoal

    with progress_bar(quiet=json):
        found = shoal.audit(file, **{"quasi": (), **o.read(given)})
    if json:
        print_json(found.to_dict())
    else:
        print_audit(found)
    if not found.holds:
        raise typer.Exit(4)
