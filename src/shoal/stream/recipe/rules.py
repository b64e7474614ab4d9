"""Rules between fields of a stream recipe, with kinds and domains; faults are sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.parameters import shown
from shoal.recipe.contents import are_values, is_real
from shoal.recipe.rules import one_role, rounded, some_quasi, weighted_quasi
from shoal.recipe.settings import Rule
from shoal.stream.points._cells import Steps
from shoal.stream.points.datetime import Datetime, is_counted, is_date, moment
from shoal.types import UNITS, Kind, called
from shoal.types.stream import Known

if TYPE_CHECKING:
    from shoal.stream.recipe.recipe import StreamRecipe


_ENDS = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)  # kinds that have bounds
_TO_GIVE = {
    Kind.ORDINAL: "its categories from the lowest to the highest in orders",
    Kind.NOMINAL: "its categories, or a taxonomy",
}
_MOST = 1e300  # keeps sums of numbers between bounds finite


def resolution(recipe: StreamRecipe, name: str) -> list[str]:
    """Return the faults in the resolution of a field whose domain is known."""
    step, kind = recipe.resolution[name], kind_of(recipe, name)
    if name not in recipe.quasi:
        return [f"resolution names {name!r}, which is not a quasi-identifier. Remove it."]
    if kind not in _ENDS:
        return [f"resolution names {name!r}, which is {kind}: only numbers and dates have one. Remove it."]
    check = _unit if kind is Kind.DATETIME else _step
    return [f"the resolution of {name!r} {fault}" for fault in check(kind, step, recipe.bounds[name])]


def _unit(kind: Kind, unit: Any, bounds: tuple[Any, Any]) -> list[str]:
    if unit not in UNITS:
        return [f"must be one of {', '.join(UNITS)}, because the field is {kind}; got {shown(unit)}."]
    own = Datetime.of(Known("", kind, *bounds, resolution=unit))
    lies = own.calendar or own.ends[0] <= own.ends[1]
    return [] if lies else [f"must not be {unit}, because no whole {unit} lies between its bounds. Choose a finer one."]


def _step(kind: Kind, step: Any, bounds: tuple[Any, Any]) -> list[str]:
    if not is_real(step) or not float(step) > 0:
        return [f"must be a number > 0, because the field is {kind}; got {shown(step)}."]
    if kind is Kind.INTEGER and not float(step).is_integer():
        return [f"must be a whole number, because the field is {kind}; got {shown(step)}."]
    fault = Steps.between(step, *bounds).fault
    return [] if fault is None else [f"must not be {shown(step)}: {fault}"]


def kind_of(recipe: StreamRecipe, name: str) -> Kind:
    """Return the kind of a field: as declared, or inferred from its domain."""
    if name in recipe.kinds:
        return Kind(recipe.kinds[name])
    if name in recipe.orders:
        return Kind.ORDINAL
    if name in recipe.categories or name in recipe.taxonomies:
        return Kind.NOMINAL
    ends = recipe.bounds.get(name, ())
    return Kind.DATETIME if ends and all(moment(end) is not None for end in ends) else Kind.CONTINUOUS


def domain(recipe: StreamRecipe, name: str) -> list[str]:
    """Return the faults in the domain of a field."""
    kind = kind_of(recipe, name)
    said = [table for table in ("bounds", "orders", "categories", "taxonomies") if name in getattr(recipe, table)]
    fitting = {Kind.ORDINAL: ("orders",), Kind.NOMINAL: ("categories", "taxonomies")}.get(kind, ("bounds",))
    if len(said) > 1:
        return [f"the domain of {name!r} is given in {' and in '.join(said)}. Give it once."]
    if not said and kind in _ENDS:
        return [f"bounds must name the two ends of {name!r}, got none. Add them: {name}=0:100."]
    if not said:
        return [f"the domain of {name!r}, which is {kind}, must be known, got none. Give {_TO_GIVE[kind]}."]
    if said[0] not in fitting:
        return [f"{said[0]} names {name!r}, which is {kind}. Give its {' or '.join(fitting)} instead."]
    return _ends(kind, name, *recipe.bounds[name]) if kind in _ENDS else _different(recipe, name)


def _ends(kind: Kind, name: str, low: Any, high: Any) -> list[str]:
    if kind is Kind.DATETIME:
        ends = [moment(low), moment(high)]
        if (
            None in ends
            or not all(map(is_counted, ends))
            or len({end.tzinfo is None for end in ends if end is not None}) > 1
        ):
            return [
                f"the bounds of {name!r} must be two dates or times in ISO 8601, with a zone or without, of "
                "the years 1 to 9999. Correct them."
            ]
        mixed = is_date(low) is not is_date(high)
        if mixed:
            return [f"the bounds of {name!r} must be two dates or two times, got one of each."]
        holds = ends[0] < ends[1]  # type: ignore[operator]
    elif not (is_real(low) and is_real(high) and abs(low) <= _MOST and abs(high) <= _MOST):
        return [f"the bounds of {name!r} must be two numbers, got {shown(low)} and {shown(high)}. Correct them."]
    elif kind is Kind.INTEGER and not (float(low).is_integer() and float(high).is_integer()):
        return [f"the bounds of {name!r} must be two integers, got {shown(low)} and {shown(high)}. Correct them."]
    elif kind is Kind.INTEGER and not (float(low) == low and float(high) == high):
        return [f"the bounds of {name!r} must be integers that floats hold exactly, got others. Round them outwards."]
    else:
        holds = float(low) < float(high)
    return [] if holds else [f"the lower bound of {name!r} must be below the upper one. Swap them."]


def _different(recipe: StreamRecipe, name: str) -> list[str]:
    given = recipe.orders.get(name, recipe.categories.get(name, ()))
    if not are_values(given):
        return [f"the categories of {name!r} must be values, got one that is a list, a table or missing."]
    if not all(called(category).strip() for category in given):
        return [f"the categories of {name!r} must have names, got a blank one. Remove it."]
    if len({called(category) for category in given}) < len(given):
        return [f"the categories of {name!r} must be different, got one twice. Name it once."]
    return []


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
            yield f"keep names {name!r}, which is {seen[name]} and cannot be released unchanged. Remove it."


def _told(recipe: StreamRecipe) -> Iterator[str]:
    """Require that only fields which need a domain have one."""
    told = {*recipe.quasi, *recipe.confidential}
    for table in ("bounds", "kinds", "orders", "categories", "taxonomies"):
        for name in getattr(recipe, table):
            if name not in told:
                yield (f"{table} names {name!r}, which is neither a quasi-identifier nor confidential. Remove it.")


def _domains(recipe: StreamRecipe) -> Iterator[str]:
    for name in recipe.quasi:
        yield from domain(recipe, name)


def _confidential(recipe: StreamRecipe) -> Iterator[str]:
    needing = [name for name, given in (("require", recipe.require), ("t", recipe.t is not None)) if given]
    if needing and not recipe.confidential:
        yield (
            f"{needing[0]} needs at least one confidential field, got none. Name the fields to keep confidential, "
            f"or leave out {needing[0]}."
        )


def _order(recipe: StreamRecipe) -> Iterator[str]:
    """Refuse settings that would reorder tuples whose order is to be kept."""
    if recipe.order_weight != "keep":
        return
    keeps = registry.says("stream.partition", recipe.method, "keeps_order")
    against = {
        "require": bool(recipe.require) and _FARTHER,
        "t": recipe.t is not None and _FARTHER,
        f"method {recipe.method}": not keeps and "it may skip tuples in between",
    }
    for what, why in against.items():
        if why:
            yield (
                f"order_weight 'keep' cannot be promised with {what}, because {why}. Give a number, or leave out "
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
