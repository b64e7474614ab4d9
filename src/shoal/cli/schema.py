"""``shoal schema``: the JSON Schema of recipes, for editors."""

from __future__ import annotations

from shoal.cli._tables import print_json


def schema() -> None:
    """Print the JSON Schema of recipes, by which editors such as VS Code complete and check TOML files."""
    import shoal

    print_json(shoal.recipe_schema())
