"""Grid of settings to try: methods × t × k, from coarse to fine, each with its estimated time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple

from shoal import registry
from shoal.errors import ParameterError, raise_all
from shoal.flow.plan.floor import demands, shortfall
from shoal.flow.stages.encode import confidential_columns
from shoal.parameters import Checked, Param, declarations, shown, unknown
from shoal.recipe.fields import EFFORTS
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import resolve
from shoal.types import Measure, Table

RISK = "dld"  #: the default risk measure
_K = (3, 5, 10, 25)
_LAST = 1_000  # level of settings that are weaker than the recipe
_PLAIN = ("mdav", "v_mdav", "tour")
_RANKED = ("t_first", "k_first", "t_close_merge", "steered")  # these need an order on all confidential columns
_ANY = ("t_close_merge", "k_first")


@dataclass(frozen=True)
class Explore(Checked):
    """What to try, how long, and what to measure; see :func:`shoal.explore`."""

    k: Annotated[tuple[int, ...] | None, Param("Class sizes to try; left out: 3, 5, 10, 25 and the recipe's.")] = None
    t: Annotated[tuple[float, ...] | None, Param("Closenesses to try; left out: the recipe's.")] = None
    methods: Annotated[tuple[str, ...] | None, Param("Methods to try; left out: those that suit the recipe.")] = None
    refine: Annotated[tuple[str, ...] | None, Param("Efforts of refinement to try, none among them.")] = None
    seconds: Annotated[float, Param("Time at hand, on an ordinary machine.", low=0)] = 60.0
    sample: Annotated[int, Param("Records to look at, at most.", low=10)] = 20_000
    loss: Annotated[str, Param("The measure of utility by which settings are compared.")] = "il_sse"
    risk: Annotated[str | None, Param("The measure of risk by which settings are compared; left out: dld.")] = None
    max_loss: Annotated[float | None, Param("What the loss may be at most, in percent.", low=0)] = None
    max_risk: Annotated[float | None, Param("What the risk may be at most, in percent.", low=0)] = None
    jobs: Annotated[int, Param("Settings that run at once.", low=1, high=64)] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        faults = [f"Explore: {name} must hold at least one, got none." for name in _LISTS if getattr(self, name) == ()]
        faults += [
            f"Explore: k must hold integers ≥ 2, got {shown(k)}."
            for k in self.k or ()
            if not isinstance(k, Integral) or isinstance(k, bool) or k < 2
        ]
        faults += [
            f"Explore: t must hold numbers ≥ 0 and ≤ 1, got {shown(t)}."
            for t in self.t or ()
            if not isinstance(t, Real) or isinstance(t, bool) or not 0 <= t <= 1
        ]
        known = registry.keys("partition")
        faults += [unknown("Explore", "method", name, known) for name in self.methods or () if name not in known]
        efforts = ("none", *EFFORTS)
        faults += [unknown("Explore", "refine", name, efforts) for name in self.refine or () if name not in efforts]
        for room, name in (("utility", self.loss), ("risk", self.risk or RISK)):
            names = percentages(room)
            faults += [] if name in names else [unknown("Explore", f"measure of {room} in percent", name, names)]
        raise_all(ParameterError, faults)


_LISTS = ("k", "t", "methods", "refine")


def percentages(room: str) -> list[str]:
    """Return the names of a family's measures that are percentages to be minimised.

    >>> percentages("utility")
    ['il_sse', 'il']
    """
    makers: list[type[Measure]] = [registry.load(room, key) for key in registry.keys(room)]
    return [maker.name() for maker in makers if maker.unit == "%" and maker.goal == "low"]


class Candidate(NamedTuple):
    """A setting to try: its recipe, or the reason why it has none; and its priority."""

    values: Mapping[str, Any]
    recipe: Recipe | None
    fault: ParameterError | None
    level: int  #: 0 is tried first
    shortfall: str = ""  #: how it is weaker than the recipe demands, in words


def candidates(table: Table, recipe: Recipe, asked: Explore, d: int) -> list[Candidate]:
    """Return every setting to try, by method, t and k; `d` is the number of coordinates."""
    ks = sorted({int(k) for k in asked.k or (*_K, recipe.k)})
    ts = sorted({float(t) for t in asked.t}) if asked.t else [recipe.t]
    ways = list(_ways(table, recipe, asked, d, close=ts != [None]))
    told = told_to_sinks(recipe, [method for method, _ in ways])
    base, demanded = recipe.to_dict(), demands(recipe)
    of_t = coarse_first([not shortfall(demanded, recipe.k, t) for t in ts])
    of_k = coarse_first([not shortfall(demanded, k) for k in ks])
    found = []
    for (method, refine), (t, by_t), (k, by_k) in product(ways, zip(ts, of_t, strict=True), zip(ks, of_k, strict=True)):
        said = {"k": k, "t": t, "method": method, "refine": refine, "set": set_for(method, recipe)}
        values = {name: value for name, value in {**base, **said}.items() if value is not None and value != {}}
        level, short = max(by_t, by_k), shortfall(demanded, k, t)
        try:
            made = Recipe.from_dict(values)
            run = replace(made, set={name: value for name, value in made.set.items() if name not in told})
            found.append(Candidate(made.to_dict(), run, None, level, short))
        except ParameterError as error:
            found.append(Candidate(values, None, error, level, short))
    return found


def coarse_first(meets: Sequence[bool]) -> list[int]:
    """Return the priority of each value in a row: ends before middles, values below the recipe's demands last.

    >>> coarse_first([False, True, True, True])
    [1000, 0, 1, 0]
    """
    levels = iter(coarseness(sum(meets)))
    return [next(levels) if strong else _LAST for strong in meets]


def coarseness(count: int) -> list[int]:
    """Return the priority of each value in a row: ends at 0, then middles, then middles between those.

    >>> coarseness(5), coarseness(1)
    ([0, 2, 1, 2, 0], [0])
    """
    levels, gaps, level = [0] * count, [(0, count - 1)], 1
    while gaps:
        middles = [(low, (low + high) // 2, high) for low, high in gaps if high - low > 1]
        for _, middle, _ in middles:
            levels[middle] = level
        gaps = [gap for low, middle, high in middles for gap in ((low, middle), (middle, high))]
        level += 1
    return levels


def _ways(table: Table, recipe: Recipe, asked: Explore, d: int, *, close: bool) -> Iterator[tuple[str, str | None]]:
    """Yield methods with their refinement effort: those requested, or those that suit the requirements."""
    methods = asked.methods or tuple(_suiting(table, recipe, d, close=close))
    efforts = [None if effort == "none" else effort for effort in asked.refine or ()] or [recipe.refine]
    usual = asked.methods is None and asked.refine is None and recipe.refine is None
    if usual and (close or recipe.require):
        efforts = [None, "fast"]
    yield from product(dict.fromkeys(methods), dict.fromkeys(efforts))
    if usual and len(efforts) == 1 and d > 1:  # after refinement they differ little, where nothing else is required
        yield methods[0], "fast"


def _suiting(table: Table, recipe: Recipe, d: int, *, close: bool) -> Iterator[str]:
    if close:
        yield from _RANKED if all(attribute.ranked for attribute in confidential_columns(table)) else _ANY
        return
    required = {one.key for one in resolve("Recipe", recipe.require)}
    if d == 1 and not required and recipe.together is None and not recipe.steer:
        yield "optimal_univariate"
        return
    yield from _PLAIN
    for key in registry.keys("partition"):
        promises = getattr(registry.load("partition", key), "promises", ())
        if promises and required.issuperset(promises):
            yield key


def set_for(method: str, recipe: Recipe) -> dict[str, Any]:
    """Return the entries of `set` for this method or the release, or for a component that is not a method."""
    makers = (registry.load("partition", method), registry.load("release", recipe.release))
    own = {declared.name for maker in makers for declared in declarations(maker)}
    others = _declared("partition")
    return {name: value for name, value in recipe.set.items() if name in own or name not in others}


def told_to_sinks(recipe: Recipe, methods: Sequence[str]) -> set[str]:
    """Return the entries of `set` that only sinks take, which are not tried; refuse unknown ones."""
    from shoal.points.encoding import Encoding

    release = registry.load("release", recipe.release)
    tried = [*(registry.load("partition", method) for method in methods), release, Encoding]
    known = {declared.name for maker in tried for declared in declarations(maker)} - {"k", "t"}
    others = {name for name in recipe.set if name not in known}
    strange = sorted(others - _declared("sinks")) if others else []
    raise_all(ParameterError, [unknown("Explore", "parameter (in set)", name, known) for name in strange])
    return others


def _declared(room: str) -> set[str]:
    """Return the parameters of all methods, or of all sinks."""
    makers = [registry.load(room, key) for key in registry.keys(room)] if room == "partition" else _sinks()
    return {declared.name for maker in makers for declared in declarations(maker)}


def _sinks() -> list[Any]:
    return [maker for claim in ("suffixes", "schemes") for maker in registry.claims("io.sinks", claim).values()]
