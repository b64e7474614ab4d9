"""``shoal list``: the available methods, models, measures, releases, attacks and steerings."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal import registry
from shoal.cli._tables import print_table
from shoal.errors import ParameterError
from shoal.parameters import unknown

SUMMARY = "List methods, models, measures, releases, attacks and steerings."
EXAMPLE = "shoal list methods"


def _completed(incomplete: str) -> list[str]:
    return [room for room in registry.ROOMS if room.startswith(incomplete)]


def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="methods, models, measures, releases, attacks or steerings. Default: all.",
            autocompletion=_completed,
        ),
    ] = None,
) -> None:
    """List methods, privacy models, measures, releases, attacks and steerings, each by the name to use."""
    if what is not None and what not in registry.ROOMS:
        raise ParameterError(unknown("list", "list", what, list(registry.ROOMS)))
    for title, rooms in registry.ROOMS.items():
        if what not in (None, title):
            continue
        rows = [(key, registry.summary(room, key)) for room in rooms for key in registry.keys(room)]
        print_table(title.capitalize(), ("Name", "What it is"), rows)
