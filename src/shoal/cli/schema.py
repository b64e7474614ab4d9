"""``shoal schema``: the JSON Schema of recipes, for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli._tables import print_json


def schema(stream: Annotated[bool, typer.Option("--stream", help="Schema of stream recipes.")] = False) -> None:
    """Print the JSON Schema of recipes, by which editors such as VS Code complete and check TOML files."""
    import shoal

    print_json(shoal.recipe_schema(stream=stream))
