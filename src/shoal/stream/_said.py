"""What is wrong with the description of a stream, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.parameters import shown, unknown
from shoal.stream_points.datetime import is_date, moment
from shoal.types import Kind, called

if TYPE_CHECKING:
    from shoal.stream.recipe import StreamRecipe

_OWNER = "StreamRecipe"
_ENDS = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)  # kinds that have bounds
_TO_GIVE = {
    Kind.ORDINAL: "its categories from the lowest to the highest in orders",
    Kind.NOMINAL: "its categories, or a taxonomy",
}
_ONCE = 2**31
_MOST = 1e300  # sums of numbers between bounds stay finite


def lists(recipe: StreamRecipe, names: Sequence[str]) -> list[str]:
    """Return what is wrong with lists of fields, and with single ones."""
    faults = []
    for name in names:
        given = getattr(recipe, name)
        if not isinstance(given, (list, tuple)) or not all(isinstance(one, str) for one in given):
            faults.append(f"{_OWNER}: {name} must be a list of field names, got {shown(given)}.")
    if not isinstance(recipe.subject, str | None):
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
    if not isinstance(recipe.round_integers, bool):
        faults.append(f"{_OWNER}: round_integers must be true or false, got {shown(recipe.round_integers)}.")
    return faults


def names(recipe: StreamRecipe) -> list[str]:
    """Return which names nobody knows."""
    faults = []
    if recipe.method not in registry.keys("stream_partition"):
        faults.append(unknown(_OWNER, "method", recipe.method, registry.keys("stream_partition")))
    if recipe.when_missing != "refuse":
        faults.append(unknown(_OWNER, "when_missing", recipe.when_missing, ["refuse"]))
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
    return faults


def domains(recipe: StreamRecipe) -> list[str]:
    """Return what is wrong with domains of quasi-identifiers, and which are said of fields that are none."""
    faults = []
    told = set(recipe.quasi) | set(recipe.confidential)
    for table in ("bounds", "kinds", "orders", "categories", "taxonomies"):
        faults += [
            f"{_OWNER}: {table} names {name!r}, which is neither quasi-identifier nor confidential. Take it out."
            for name in getattr(recipe, table)
            if name not in told
        ]
    for name, weight in recipe.attribute_weights.items():
        if name not in recipe.quasi:
            faults.append(f"{_OWNER}: attribute_weights names {name!r}, which is no quasi-identifier. Take it out.")
        if not is_real(weight) or not 0 <= float(weight) <= 1e6:
            faults.append(
                f"{_OWNER}: the weight of attribute {name!r} must be a number ≥ 0 and ≤ 1e6, got {shown(weight)}."
            )
    for name in recipe.quasi:
        faults += domain(recipe, name)
    kinds = [recipe.kinds.get(name) for name in recipe.quasi]
    if recipe.round_integers and Kind.INTEGER not in kinds:
        faults.append(
            f"{_OWNER}: round_integers needs a quasi-identifier of kind integer, got none. Say it in kinds, or leave "
            "it out."
        )
    return faults


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
    if recipe.kinds.get(name, Kind.CONTINUOUS) not in list(Kind):
        return []  # which names() says
    kind = kind_of(recipe, name)
    said = [table for table in ("bounds", "orders", "categories", "taxonomies") if name in getattr(recipe, table)]
    fitting = {Kind.ORDINAL: ("orders",), Kind.NOMINAL: ("categories", "taxonomies")}.get(kind, ("bounds",))
    if len(said) > 1:
        return [f"{_OWNER}: the domain of {name!r} is in {' and in '.join(said)}. Say it once."]
    if not said and kind in _ENDS:
        return [f"{_OWNER}: bounds must name the two ends of {name!r}, got none. Add them: {name}=0:100."]
    if not said:
        return [f"{_OWNER}: the domain of {name!r}, which is {kind}, must be known, got none. Give {_TO_GIVE[kind]}."]
    if said[0] not in fitting:
        return [f"{_OWNER}: {said[0]} names {name!r}, which is {kind}. Say {' or '.join(fitting)} of it."]
    return _ends(kind, name, *recipe.bounds[name]) if kind in _ENDS else _different(recipe, name)


def _ends(kind: Kind, name: str, low: Any, high: Any) -> list[str]:
    if kind is Kind.DATETIME:
        ends = [moment(low), moment(high)]
        if None in ends or len({end.tzinfo is None for end in ends if end is not None}) > 1:
            return [f"{_OWNER}: the bounds of {name!r} must be two dates or times in ISO 8601, with a zone or without."]
        mixed = is_date(low) is not is_date(high)
        if mixed:
            return [f"{_OWNER}: the bounds of {name!r} must be two dates or two times, got one of each."]
        holds = ends[0] < ends[1]  # type: ignore[operator]
    elif not (is_real(low) and is_real(high) and abs(low) <= _MOST and abs(high) <= _MOST):
        return [f"{_OWNER}: the bounds of {name!r} must be two numbers, got {shown(low)} and {shown(high)}."]
    elif kind is Kind.INTEGER and not (float(low).is_integer() and float(high).is_integer()):
        return [f"{_OWNER}: the bounds of {name!r} must be two integers, got {shown(low)} and {shown(high)}."]
    else:
        holds = float(low) < float(high)
    return [] if holds else [f"{_OWNER}: the lower bound of {name!r} must be below the upper one. Exchange them."]


def _different(recipe: StreamRecipe, name: str) -> list[str]:
    given = recipe.orders.get(name, recipe.categories.get(name, ()))
    if any(category is None or isinstance(category, (Mapping, list, tuple)) for category in given):
        return [f"{_OWNER}: the categories of {name!r} must be values, got a list, a table or nothing among them."]
    if len({called(category) for category in given}) < len(given):
        return [f"{_OWNER}: the categories of {name!r} must be different, got one twice. Name it once."]
    return []


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
        known = recipe.method in registry.keys("stream_partition")
        keeps = not known or registry.says("stream_partition", recipe.method, "keeps_order")
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


def is_real(value: Any) -> bool:
    """Tell whether a value is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(float(value))
