"""Fields that a stream releases: those of its recipe, and those that a lane has learnt and its cursor remembers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import DataError
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.stream.wire.fields import Fields

_MEMORY = "fields"


def fields_of(recipe: StreamRecipe, memory: Mapping[str, Any] | None = None) -> Fields:
    """Return the fields of a lane; `memory` is that of its cursor.

    >>> recipe = StreamRecipe(quasi=["a"], bounds={"a": (0, 1)}, k=2, delay=9)
    >>> fields_of(recipe).open, sorted(fields_of(recipe, {"fields": ["b"]}).learnt)
    (True, ['b'])
    """
    learns = recipe.keep is None and recipe.unknown != "keep"
    known = (memory or {}).get(_MEMORY)
    if known is not None and not (isinstance(known, list) and all(isinstance(name, str) for name in known)):
        raise DataError(
            "Stream: the cursor must remember the fields that are released as a list of names, got something else. "
            "Name them in keep."
        )
    return Fields(
        frozenset(recipe.quasi),
        frozenset(recipe.removed),
        frozenset(recipe.named),
        recipe.unknown,
        learns,
        frozenset(known or ()) if learns else frozenset(),
        known is not None,
    )


def remembered(fields: Fields) -> dict[str, Any]:
    """Return what a cursor must remember of them: nothing unless they were learnt."""
    return {_MEMORY: sorted(fields.learnt)} if fields.learns and fields.fixed else {}
