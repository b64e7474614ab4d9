"""``shoal schema``: the JSON Schema of recipes, for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli._tables import print_json

SUMMARY = "Print the JSON Schema of recipes, for editors."
EXAMPLE = "shoal schema"


def schema(
    stream: Annotated[bool, typer.Option("--stream", help="Print the schema of stream recipes instead.")] = False,
) -> None:
    """Print the JSON Schema of recipes, for completion and checks in editors such as VS Code."""
    import shoal

    print_json(shoal.recipe_schema(stream=stream))
