"""Columns of a release: which columns of a table are released, and of what kind they are then."""

from __future__ import annotations

from dataclasses import replace

from shoal.recipe.recipe import Recipe
from shoal.types import Kind, Role, Schema


def released_columns(schema: Schema, recipe: Recipe) -> Schema:
    """Return the schema of the released columns."""
    kept = [one for one in schema.columns if one.role.leaves]
    if recipe.release_weight == "none":
        kept = [one for one in kept if one.role is not Role.WEIGHT]
    elif recipe.release_weight == "class":  # the mean of whole weights is not whole
        kept = [replace(one, kind=Kind.CONTINUOUS) if one.role is Role.WEIGHT else one for one in kept]
    return Schema(tuple(kept))
