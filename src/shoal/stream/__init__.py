"""Streams: tuples arrive one by one, and classes are released within a bounded delay."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.stream.anonymizer import StreamAnonymizer
    from shoal.stream.engine.bodies import Released
    from shoal.stream.recipe.recipe import StreamRecipe

__all__ = ["Released", "StreamAnonymizer", "StreamRecipe"]

_WHERE = {"Released": "engine.bodies", "StreamAnonymizer": "anonymizer", "StreamRecipe": "recipe.recipe"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
