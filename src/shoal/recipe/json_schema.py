"""JSON Schema of a recipe, derived from its field declarations, for completion and checks in editors."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from shoal.parameters import UNSET, Declared, alternatives, declarations
from shoal.recipe.settings import plain

_NAMES = {int: "integer", float: "number", str: "string", bool: "boolean"}


def json_schema(cls: type, title: str) -> dict[str, Any]:
    """Return the schema of a declared dataclass as a JSON object.

    >>> from shoal.recipe.fields import RecipeFields
    >>> json_schema(RecipeFields, "Recipe")["properties"]["k"]["minimum"]
    2
    """
    needed = [one.name for one in declarations(cls) if one.required]
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": title, "required": needed, **_object(cls)}


def _object(cls: type) -> dict[str, Any]:
    properties = {one.name: _property(one) for one in declarations(cls)}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _property(declared: Declared) -> dict[str, Any]:
    param = declared.param
    found = _of(declared.kind) if param.inner is None else _object(param.inner)
    if param.each is not None:
        found["additionalProperties"] = _object(param.each)
    limits = {"minimum": param.low, "exclusiveMinimum": param.above, "maximum": param.high}
    limits["exclusiveMaximum"] = param.below
    found |= {name: limit for name, limit in limits.items() if limit is not None}
    if param.choices:
        texts = found if "anyOf" not in found else next(one for one in found["anyOf"] if one["type"] == "string")
        texts["enum"] = [*declared.choices, *(short for short, _ in param.short if short is not None)]
        if any(not isinstance(short, str) for short in texts["enum"]):
            del texts["type"]
    found["description"] = f"{param.description}. {param.more}".rstrip()
    if declared.default not in (None, UNSET) and not declared.required:
        found["default"] = plain(declared.default)
    found["examples"] = [tomllib.loads(f"value = {param.example}")["value"]]
    return found


def _of(kind: Any) -> dict[str, Any]:
    """Return the schema of a type. TOML has no null: a value that may be None is omitted."""
    options = [_of_one(option) for option in alternatives(kind) if option is not type(None)]
    return options[0] if len(options) == 1 else {"anyOf": options}


def _of_one(kind: Any) -> dict[str, Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _of(inner[1])}
    if origin is not None:  # tuples and sequences
        return {"type": "array", "items": _of(inner[0])}
    return {"type": _NAMES[kind]}
