"""What is wrong with the description of a stream, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING

from shoal import registry
from shoal.parameters import shown, unknown
from shoal.stream.recipe.domains import is_real
from shoal.types import Kind

if TYPE_CHECKING:
    from shoal.stream.recipe.recipe import StreamRecipe


_OWNER = "StreamRecipe"
_ONCE = 2**31
_UNKNOWN = ("reject", "remove", "keep")


def lists(recipe: StreamRecipe, names: Sequence[str]) -> list[str]:
    """Return what is wrong with lists of fields, and with single ones."""
    faults = []
    for name in names:
        given = getattr(recipe, name)
        if not isinstance(given, (list, tuple)) or not all(isinstance(one, str) and one for one in given):
            faults.append(f"{_OWNER}: {name} must be a list of field names, got {shown(given)}.")
    if recipe.keep is not None and (
        not isinstance(recipe.keep, (list, tuple)) or not all(isinstance(one, str) and one for one in recipe.keep)
    ):
        faults.append(f"{_OWNER}: keep must be a list of field names, got {shown(recipe.keep)}.")
    if not isinstance(recipe.subject, str | None) or recipe.subject == "":
        faults.append(f"{_OWNER}: subject must be a field name, got {shown(recipe.subject)}.")
    if not isinstance(recipe.class_field, str) or not recipe.class_field:
        faults.append(f"{_OWNER}: class_field must be a field name, got {shown(recipe.class_field)}.")
    return faults


def tables(recipe: StreamRecipe, names: Sequence[str]) -> list[str]:
    """Return what is wrong with tables of names and values."""
    faults = [
        f"{_OWNER}: {name} must be a table of names and values, got {shown(getattr(recipe, name))}."
        for name in names
        if not isinstance(getattr(recipe, name), Mapping)
    ]
    if not faults:
        faults += [
            f"{_OWNER}: the bounds of {name!r} must be two values, got {shown(ends)}. Write for example (0, 100)."
            for name, ends in recipe.bounds.items()
            if not isinstance(ends, (list, tuple)) or len(ends) != 2
        ]
        for field in ("orders", "categories"):
            faults += [
                f"{_OWNER}: the {field} of {name!r} must be a list of its categories, got {shown(given)}."
                for name, given in getattr(recipe, field).items()
                if not isinstance(given, (list, tuple)) or not given
            ]
    return faults


def numbers(recipe: StreamRecipe) -> list[str]:
    """Return what is wrong with numbers."""
    faults = []
    for name, low in (("k", 2), ("delay", 1)):
        value = getattr(recipe, name)
        if not isinstance(value, Integral) or isinstance(value, bool):
            faults.append(f"{_OWNER}: {name} must be an integer ≥ {low}, got {shown(value)}.")
        elif not low <= int(value) < _ONCE:
            faults.append(
                f"{_OWNER}: {name} must be an integer ≥ {low} and < 2³¹, got {shown(value)}. "
                f"{'Raise' if int(value) < low else 'Lower'} {name}."
            )
    if not faults and recipe.delay < recipe.k - 1:
        faults.append(
            f"{_OWNER}: delay must be at least k − 1 = {recipe.k - 1}, got {recipe.delay}. Raise delay, or lower k."
        )
    seconds, order = recipe.delay_seconds, recipe.order_weight
    if seconds is not None and not (is_real(seconds) and 0 < seconds < 1e9):
        faults.append(f"{_OWNER}: delay_seconds must be a number > 0, got {shown(seconds)}.")
    if order != "keep" and not (is_real(order) and 0 <= float(order) <= 1e6):
        faults.append(f"{_OWNER}: order_weight must be a number ≥ 0 and ≤ 1e6, or 'keep', got {shown(order)}.")
    if recipe.t is not None and not (is_real(recipe.t) and 0 <= recipe.t <= 1):
        faults.append(f"{_OWNER}: t must be a number ≥ 0 and ≤ 1, got {shown(recipe.t)}.")
    if not (is_real(recipe.max_rejected) and 0 <= recipe.max_rejected <= 1):
        faults.append(f"{_OWNER}: max_rejected must be a number ≥ 0 and ≤ 1, got {shown(recipe.max_rejected)}.")
    if recipe.round_integers is not None and recipe.round_integers is not True:
        faults.append(
            f"{_OWNER}: round_integers must be true, got {shown(recipe.round_integers)}: integers stay integers. For "
            "their means with all digits, say exact_means = true."
        )
    if not isinstance(recipe.subject_exact, bool):
        faults.append(f"{_OWNER}: subject_exact must be true or false, got {shown(recipe.subject_exact)}.")
    if not isinstance(recipe.exact_means, bool):
        faults.append(f"{_OWNER}: exact_means must be true or false, got {shown(recipe.exact_means)}.")
    return faults


def names(recipe: StreamRecipe) -> list[str]:
    """Return which names nobody knows."""
    faults = []
    if recipe.method not in registry.keys("stream.partition"):
        faults.append(unknown(_OWNER, "method", recipe.method, registry.keys("stream.partition")))
    if recipe.when_missing != "refuse":
        faults.append(unknown(_OWNER, "when_missing", recipe.when_missing, ["refuse"]))
    if recipe.unknown not in _UNKNOWN:
        faults.append(f"{_OWNER}: unknown must be one of {', '.join(_UNKNOWN)}, got {shown(recipe.unknown)}.")
    kinds = [kind.value for kind in Kind]
    return faults + [
        unknown(f"{_OWNER}: field {name!r}", "kind", kind, kinds)
        for name, kind in recipe.kinds.items()
        if kind not in kinds
    ]


def roles(recipe: StreamRecipe) -> list[str]:
    """Return which fields have no role, or several."""
    faults = []
    if not recipe.quasi:
        faults.append(f"{_OWNER}: quasi must name at least one field, got none. Name what an intruder may know.")
    seen: dict[str, str] = {recipe.class_field: "class_field"}
    for role in ("quasi", "confidential", "identifier", "subject"):
        given = getattr(recipe, role)
        for name in (given,) if isinstance(given, str) else given or ():
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
        known = recipe.method in registry.keys("stream.partition")
        keeps = not known or registry.says("stream.partition", recipe.method, "keeps_order")
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
