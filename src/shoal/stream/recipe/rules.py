"""Rules between several fields of a stream recipe: each function yields a sentence for everything that does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shoal import registry
from shoal.recipe.rules import one_role, rounded, some_quasi, weighted_quasi
from shoal.recipe.settings import Rule
from shoal.stream.recipe.domains import domain, resolution

if TYPE_CHECKING:
    from shoal.stream.recipe.recipe import StreamRecipe


_FARTHER = "a class may need a tuple that is farther away"


def _delay(recipe: StreamRecipe) -> Iterator[str]:
    if recipe.delay < recipe.k - 1:
        yield f"delay must be at least k − 1 = {recipe.k - 1}, got {recipe.delay}. Raise delay, or lower k."


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _given(recipe: StreamRecipe) -> list[tuple[str, str]]:
    roles = ("class_field", "quasi", "confidential", "identifier", "subject")
    return [(name, role) for role in roles for name in _names(getattr(recipe, role))]


def _roles(recipe: StreamRecipe) -> Iterator[str]:
    return one_role(recipe, _given(recipe))


def _kept(recipe: StreamRecipe) -> Iterator[str]:
    kept = recipe.keep or ()
    for name in sorted({name for name in kept if kept.count(name) > 1}):
        yield f"field {name!r} is named twice in keep. Name it once."
    seen = dict(_given(recipe))
    for name in dict.fromkeys(kept):
        if seen.get(name, "confidential") != "confidential":
            yield f"keep names {name!r}, which is {seen[name]} and cannot be released unchanged. Take it out."


def _told(recipe: StreamRecipe) -> Iterator[str]:
    """Require that domains are of fields which need one."""
    told = {*recipe.quasi, *recipe.confidential}
    for table in ("bounds", "kinds", "orders", "categories", "taxonomies"):
        for name in getattr(recipe, table):
            if name not in told:
                yield (f"{table} names {name!r}, which is neither quasi-identifier nor confidential. Take it out.")


def _domains(recipe: StreamRecipe) -> Iterator[str]:
    for name in recipe.quasi:
        yield from domain(recipe, name)


def _confidential(recipe: StreamRecipe) -> Iterator[str]:
    needing = [name for name, given in (("require", recipe.require), ("t", recipe.t is not None)) if given]
    if needing and not recipe.confidential:
        yield (
            f"{needing[0]} needs at least one confidential field, got none. Name what must not be learnt, "
            f"or leave out {needing[0]}."
        )


def _order(recipe: StreamRecipe) -> Iterator[str]:
    """Refuse what would reorder tuples whose order is to be kept."""
    if recipe.order_weight != "keep":
        return
    keeps = registry.says("stream.partition", recipe.method, "keeps_order")
    against = {
        "require": bool(recipe.require) and _FARTHER,
        "t": recipe.t is not None and _FARTHER,
        f"method {recipe.method}": not keeps and "it may leave out tuples in between",
    }
    for what, why in against.items():
        if why:
            yield (
                f"order_weight 'keep' cannot be promised with {what}, for {why}. Give a number, or leave out "
                f"{what.partition(' ')[0]}."
            )


def _resolutions(recipe: StreamRecipe) -> Iterator[str]:
    for name in recipe.resolution:
        if name not in recipe.quasi or not domain(recipe, name):
            yield from resolution(recipe, name)


def _demands(recipe: StreamRecipe) -> Iterator[str]:
    if recipe.require or recipe.t is not None or recipe.reference:
        from shoal.stream.recipe import demands

        yield from demands.faults(recipe)


_FIRST: tuple[Rule, ...] = (
    _delay, some_quasi, weighted_quasi, rounded, _roles, _kept, _told, _domains, _confidential, _order, _resolutions,
)  # fmt: skip
RULES = (_FIRST, (_demands,))
