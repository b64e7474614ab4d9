"""Files for recipes: TOML, and the JSON Schema that editors read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.flow.stages.write import write_text
from shoal.recipe.fields import RecipeFields
from shoal.recipe.json_schema import json_schema
from shoal.recipe.recipe import Recipe
from shoal.stream.recipe.fields import StreamFields


def save_recipe(recipe: Recipe, target: str | Path, *, force: bool = False) -> None:
    """Write a recipe to a TOML file, whole or not at all."""
    write_text(recipe.to_toml(Path(target).parent), Path(target), force=force)


def recipe_schema(*, stream: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of recipes, or of stream recipes; editors complete and check TOML files by it."""
    return json_schema(*((StreamFields, "Recipe of shoal stream") if stream else (RecipeFields, "Recipe of shoal")))
