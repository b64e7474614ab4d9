"""shoal makes microdata safe to share: every record swims in a shoal of at least k.

>>> import pyarrow as pa, shoal
>>> people = pa.table({"name": list("abcdef"), "age": [31, 33, 62, 60, 35, 61], "income": [20, 22, 9, 8, 21, 10]})
>>> done = shoal.protect(people, quasi=["age", "income"], identifier=["name"], k=3)
>>> done.data.to_pydict()["age"]
[33, 33, 61, 61, 33, 61]
>>> done.audit.to_dict()["k"]
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal import errors
from shoal.errors import DataError, EngineError, GuaranteeError, ParameterError, SchemaError, ShoalError

if TYPE_CHECKING:
    from shoal.api.attack import attack
    from shoal.api.audit import audit, audit_file
    from shoal.api.compare import compare, compare_files
    from shoal.api.demo import demo, survey
    from shoal.api.explore import explore, explore_file
    from shoal.api.inspect import inspect, inspect_file
    from shoal.api.microaggregate import lower_bound, microaggregate
    from shoal.api.plan import plan
    from shoal.api.protect import protect, protect_file
    from shoal.api.recipe import recipe_schema, save_recipe
    from shoal.api.stream import replay, run_stream
    from shoal.api.verify import verify
    from shoal.api.warm import warm
    from shoal.api.write import write_table
    from shoal.flow.demo import Demonstration
    from shoal.flow.protect.protected import Protected
    from shoal.recipe.recipe import Recipe
    from shoal.stream.recipe.recipe import StreamRecipe
    from shoal.stream.replay import Replayed
    from shoal.stream.run import Streamed
    from shoal.types import (
        Attempts,
        Audit,
        Certificate,
        Explored,
        Inspection,
        Kind,
        Partition,
        Planned,
        Readings,
        Role,
        Schema,
        Verification,
    )

__version__ = "0.1.0"

__all__ = ["protect", "plan", "audit", "attack", "compare", "explore", "inspect", "verify"]
__all__ += ["microaggregate", "lower_bound"]
__all__ += ["protect_file", "audit_file", "compare_files", "explore_file", "inspect_file"]
__all__ += ["run_stream", "replay", "demo", "survey", "recipe_schema", "save_recipe", "write_table", "warm"]
__all__ += ["Recipe", "StreamRecipe", "Kind", "Role", "Schema"]
__all__ += ["Attempts", "Audit", "Certificate", "Demonstration", "Explored", "Inspection", "Partition", "Planned"]
__all__ += ["Protected", "Readings", "Replayed", "Streamed", "Verification"]
__all__ += ["errors", "ShoalError", "DataError", "EngineError", "GuaranteeError", "ParameterError", "SchemaError"]

#: Names that are imported when they are first used, by module: ``import shoal`` loads no library.
_MODULES = {
    "api.attack": ("attack",),
    "api.audit": ("audit", "audit_file"),
    "api.compare": ("compare", "compare_files"),
    "api.demo": ("demo", "survey"),
    "api.explore": ("explore", "explore_file"),
    "api.inspect": ("inspect", "inspect_file"),
    "api.microaggregate": ("lower_bound", "microaggregate"),
    "api.plan": ("plan",),
    "api.protect": ("protect", "protect_file"),
    "api.recipe": ("recipe_schema", "save_recipe"),
    "api.stream": ("replay", "run_stream"),
    "api.verify": ("verify",),
    "api.warm": ("warm",),
    "api.write": ("write_table",),
    "flow.demo": ("Demonstration",),
    "flow.protect.protected": ("Protected",),
    "recipe.recipe": ("Recipe",),
    "stream.recipe.recipe": ("StreamRecipe",),
    "stream.replay": ("Replayed",),
    "stream.run": ("Streamed",),
}

if not TYPE_CHECKING:  # which would take every name for an existing one
    from importlib import import_module

    import_module("shoal.attack")  # an import binds the package's name here, but only the first one does
    del globals()["attack"]  # so the name stays free for the function

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'shoal' has no attribute {name!r}")
        module = next((module for module, names in _MODULES.items() if name in names), "types")
        found = globals()[name] = getattr(import_module(f"shoal.{module}"), name)
        return found


def __dir__() -> list[str]:
    """List the public names, whether they have been used or not; Tab completes these."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
