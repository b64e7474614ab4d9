"""Rules between several fields of a stream recipe: each function returns sentences about what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal import registry
from shoal.parameters import shown, unknown
from shoal.types import Kind

if TYPE_CHECKING:
    from shoal.stream.recipe.recipe import StreamRecipe


_OWNER = "StreamRecipe"


def shapes(recipe: StreamRecipe) -> list[str]:
    """Check names that are empty, what tables hold, and numbers that depend on each other."""
    faults = [
        f"{_OWNER}: {name} must hold field names, got an empty one. Take it out."
        for name in ("quasi", "identifier", "confidential", "keep", "subject", "class_field")
        if "" in _names(getattr(recipe, name))
    ]
    faults += [
        f"{_OWNER}: the bounds of {name!r} must be two values, got {shown(ends)}. Write for example (0, 100)."
        for name, ends in recipe.bounds.items()
        if not isinstance(ends, (list, tuple)) or len(ends) != 2
    ]
    faults += [
        f"{_OWNER}: the {table} of {name!r} must be a list of its categories, got {shown(given)}."
        for table in ("orders", "categories")
        for name, given in getattr(recipe, table).items()
        if not isinstance(given, (list, tuple)) or not given
    ]
    if recipe.delay < recipe.k - 1:
        faults.append(
            f"{_OWNER}: delay must be at least k − 1 = {recipe.k - 1}, got {recipe.delay}. Raise delay, or lower k."
        )
    if recipe.round_integers is False:
        faults.append(
            f"{_OWNER}: round_integers must be true, got {shown(recipe.round_integers)}: integers stay integers. For "
            "their means with all digits, say exact_means = true."
        )
    return faults


def kinds(recipe: StreamRecipe) -> list[str]:
    """Check the names of kinds."""
    known = [kind.value for kind in Kind]
    return [
        unknown(f"{_OWNER}: field {name!r}", "kind", kind, known)
        for name, kind in recipe.kinds.items()
        if kind not in known
    ]


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def roles(recipe: StreamRecipe) -> list[str]:
    """Return which fields have no role, or several."""
    faults = []
    if not recipe.quasi:
        faults.append(f"{_OWNER}: quasi must name at least one field, got none. Name what an intruder may know.")
    seen: dict[str, str] = {recipe.class_field: "class_field"}
    for role in ("quasi", "confidential", "identifier", "subject"):
        for name in _names(getattr(recipe, role)):
            if seen.get(name) == role:
                faults.append(f"{_OWNER}: field {name!r} is named twice as {role}. Name it once.")
            elif name in seen:
                faults.append(f"{_OWNER}: field {name!r} is both {seen[name]} and {role}. Give it one role.")
            seen[name] = role
    for name in dict.fromkeys(recipe.keep or ()):
        if seen.get(name, "confidential") != "confidential":
            faults.append(
                f"{_OWNER}: keep names {name!r}, which is {seen[name]} and cannot be released unchanged. Take it out."
            )
        if (recipe.keep or ()).count(name) > 1:
            faults.append(f"{_OWNER}: field {name!r} is named twice in keep. Name it once.")
    return faults


def promises(recipe: StreamRecipe) -> list[str]:
    """Return which promises cannot be made together."""
    faults = []
    needing = [name for name, given in (("require", recipe.require), ("t", recipe.t is not None)) if given]
    if needing and not recipe.confidential:
        faults.append(
            f"{_OWNER}: {needing[0]} needs at least one confidential field, got none. Name what must not be learnt, "
            f"or leave out {needing[0]}."
        )
    if recipe.order_weight == "keep":
        keeps = registry.says("stream.partition", recipe.method, "keeps_order")
        against = {
            "require": bool(recipe.require) and "a class may need a tuple that is farther away",
            "t": recipe.t is not None and "a class may need a tuple that is farther away",
            f"method {recipe.method}": not keeps and "it may leave out tuples in between",
        }
        faults += [
            f"{_OWNER}: order_weight 'keep' cannot be promised with {what}, for {why}. Give a number, or leave out "
            f"{what.partition(' ')[0]}."
            for what, why in against.items()
            if why
        ]
    return faults
