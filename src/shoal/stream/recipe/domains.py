"""Domains and kinds of the fields of a stream, and sentences about what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.parameters import shown
from shoal.recipe.contents import are_values, is_real
from shoal.stream.points._steps import Steps
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
_MOST = 1e300  # sums of numbers between bounds stay finite


def resolution(recipe: StreamRecipe, name: str) -> list[str]:
    """Return what is wrong with the resolution of a field whose domain is known."""
    step, kind = recipe.resolution[name], kind_of(recipe, name)
    if name not in recipe.quasi:
        return [f"resolution names {name!r}, which is not a quasi-identifier. Remove it."]
    if kind not in _ENDS:
        return [f"resolution names {name!r}, which is {kind}: only numbers and dates have one. Remove it."]
    check = _unit if kind is Kind.DATETIME else _step
    return [f"the resolution of {name!r} {fault}" for fault in check(kind, step, recipe.bounds[name])]


def _unit(kind: Kind, unit: Any, bounds: tuple[Any, Any]) -> list[str]:
    if unit not in UNITS:
        return [f"must be one of {', '.join(UNITS)}, for it is {kind}; got {shown(unit)}."]
    own = Datetime.of(Known("", kind, *bounds, resolution=unit))
    lies = own.calendar or own.ends[0] <= own.ends[1]
    return [] if lies else [f"must not be {unit}, for no whole {unit} lies between its bounds. Take a finer one."]


def _step(kind: Kind, step: Any, bounds: tuple[Any, Any]) -> list[str]:
    if not is_real(step) or not float(step) > 0:
        return [f"must be a number > 0, for it is {kind}; got {shown(step)}."]
    if kind is Kind.INTEGER and not float(step).is_integer():
        return [f"must be a whole number, for it is {kind}; got {shown(step)}."]
    fault = Steps.between(step, *bounds).fault
    return [] if fault is None else [f"must not be {shown(step)}: {fault}"]


def kind_of(recipe: StreamRecipe, name: str) -> Kind:
    """Return the kind of a field: as it was said, or as its domain tells."""
    if name in recipe.kinds:
        return Kind(recipe.kinds[name])
    if name in recipe.orders:
        return Kind.ORDINAL
    if name in recipe.categories or name in recipe.taxonomies:
        return Kind.NOMINAL
    ends = recipe.bounds.get(name, ())
    return Kind.DATETIME if ends and all(moment(end) is not None for end in ends) else Kind.CONTINUOUS


def domain(recipe: StreamRecipe, name: str) -> list[str]:
    """Return what is wrong with the domain of a field."""
    kind = kind_of(recipe, name)
    said = [table for table in ("bounds", "orders", "categories", "taxonomies") if name in getattr(recipe, table)]
    fitting = {Kind.ORDINAL: ("orders",), Kind.NOMINAL: ("categories", "taxonomies")}.get(kind, ("bounds",))
    if len(said) > 1:
        return [f"the domain of {name!r} is in {' and in '.join(said)}. Say it once."]
    if not said and kind in _ENDS:
        return [f"bounds must name the two ends of {name!r}, got none. Add them: {name}=0:100."]
    if not said:
        return [f"the domain of {name!r}, which is {kind}, must be known, got none. Give {_TO_GIVE[kind]}."]
    if said[0] not in fitting:
        return [f"{said[0]} names {name!r}, which is {kind}. Say {' or '.join(fitting)} of it."]
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
    return [] if holds else [f"the lower bound of {name!r} must be below the upper one. Exchange them."]


def _different(recipe: StreamRecipe, name: str) -> list[str]:
    given = recipe.orders.get(name, recipe.categories.get(name, ()))
    if not are_values(given):
        return [f"the categories of {name!r} must be values, got a list, a table or nothing among them."]
    if not all(called(category).strip() for category in given):
        return [f"the categories of {name!r} must have names, got a blank. Take it out."]
    if len({called(category) for category in given}) < len(given):
        return [f"the categories of {name!r} must be different, got one twice. Name it once."]
    return []
