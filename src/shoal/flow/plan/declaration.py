"""What a recipe must declare where ε is claimed for original records.

Then everything about the output other than the noisy values comes from the recipe, never from the data: which columns
there are and in which order, their kinds and digits, their categories, the number of rows, and how text is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shoal.recipe.recipe import Recipe
from shoal.types import FROM_THE_DATA, Kind, Role, Table

_NUMERIC = (Kind.INTEGER, Kind.CONTINUOUS)


def covers_originals(recipe: Recipe) -> bool:
    """Tell whether ε is claimed for original records."""
    return recipe.epsilon is not None and recipe.claim == "original"


def whole_lists(recipe: Recipe, table: Table) -> dict[str, list[str]]:
    """Return the columns whose categories are all of their taxonomy, whether or not a record has them."""
    if not covers_originals(recipe):
        return {}
    trees = {column.name: column.taxonomy for column in table.schema.columns}
    return {name: sorted(tree.paths) for name, tree in trees.items() if tree is not None}


def undeclared(recipe: Recipe) -> list[str]:
    """Return what the recipe lacks, as one sentence to copy from, and what it declares that cannot hold.

    >>> noise = {"release": "laplace", "epsilon": 1.0, "claim": "original"}
    >>> undeclared(Recipe(quasi=["age"], bounds={"age": [0, 120]}, **noise))[0].partition("Add ")[2]
    'kinds = { age = "integer" } (--kind age=integer; or continuous, for decimals).'
    """
    found = [
        f"Laplace: with claim = original the kind of {name!r} must be integer, continuous, or nominal with a taxonomy; "
        f"the recipe says {kind}. Change it, or remove the column from quasi."
        for name in recipe.quasi
        if (kind := _kind(recipe, name)) is not None and kind not in (*_NUMERIC, Kind.NOMINAL)
    ]
    if lacking := [part for part in (_kinds(recipe), _bounds(recipe), _taxonomies(recipe)) if part]:
        found.append(
            "Laplace: with claim = original the recipe must declare what the output looks like, because nothing but "
            f"the noisy values may depend on the data. Add {'; '.join(lacking)}."
        )
    if recipe.when_missing == "fill" and recipe.bounds == FROM_THE_DATA:
        found.append(
            "Laplace: with claim = original when_missing = fill needs bounds, got those of the data: missing values "
            "become the middle of the bounds. Declare bounds."
        )
    return found + _roles(recipe)


def completed(recipe: Recipe) -> Recipe:
    """Return the recipe with the kinds that it lacks, by the bounds: whole numbers bound integers.

    >>> noise = {"release": "laplace", "epsilon": 1.0, "claim": "original"}
    >>> completed(Recipe(quasi=["pay"], bounds={"pay": [0, 99.5]}, **noise)).kinds["pay"].value
    'continuous'
    """
    kinds = {name: _by_bounds(recipe, name) for name in recipe.quasi if _kind(recipe, name) is None}
    return recipe.override(kinds={**recipe.kinds, **kinds}) if kinds else recipe


def _kind(recipe: Recipe, name: str) -> Kind | None:
    implied = Kind.NOMINAL if name in recipe.taxonomies else Kind.ORDINAL if name in recipe.orders else None
    kind: Kind | None = recipe.kinds.get(name, implied)
    return kind


def _by_bounds(recipe: Recipe, name: str) -> Kind:
    ends = recipe.bounds.get(name, (0, 1)) if isinstance(recipe.bounds, Mapping) else (0, 1)
    return Kind.INTEGER if all(float(end).is_integer() for end in ends) else Kind.CONTINUOUS


def _kinds(recipe: Recipe) -> str:
    lacking = {n: _by_bounds(recipe, n).value for n in recipe.quasi if _kind(recipe, n) is None}
    said = " ".join(f"--kind {name}={kind}" for name, kind in lacking.items())
    kinds = _table("kinds", {name: f'"{kind}"' for name, kind in lacking.items()})
    return f"{kinds} ({said}; or continuous, for decimals)" if lacking else ""


def _bounds(recipe: Recipe) -> str:
    if not isinstance(recipe.bounds, Mapping):
        return ""
    numbers = [name for name in recipe.quasi if _kind(recipe, name) in (None, *_NUMERIC)]
    return _table("bounds", {name: "[LOW, HIGH]" for name in numbers if name not in recipe.bounds})


def _taxonomies(recipe: Recipe) -> str:
    nominal = [name for name in recipe.quasi if _kind(recipe, name) is Kind.NOMINAL]
    return _table("taxonomies", {name: '"FILE.csv"' for name in nominal if name not in recipe.taxonomies})


def _table(field: str, entries: Mapping[str, str]) -> str:
    """Return a field of the recipe as TOML has it."""
    inner = ", ".join(f"{_key(name)} = {value}" for name, value in entries.items())
    return f"{field} = {{ {inner} }}" if entries else ""


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _roles(recipe: Recipe) -> list[str]:
    """Return what is wrong with columns that would be released without noise, or that make records differ."""
    found: list[str] = []
    kept: list[Any] = [*recipe.confidential, *recipe.strata]
    if kept:
        found.append(
            f"Laplace: with claim = original only quasi-identifiers are released, got {', '.join(map(repr, kept))} as "
            f"confidential or strata. Remove them from the recipe: other columns are removed from the output."
        )
    found += [
        f"Laplace: there must be no column of role {role}, got one: ε is for single records, all of the same weight. "
        f"Remove it from the recipe."
        for role in (Role.WEIGHT, Role.SUBJECT)
        if recipe.columns(role)
    ]
    return found
