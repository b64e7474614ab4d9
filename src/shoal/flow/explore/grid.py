"""Grid of settings to try: methods × t × k, or with noise methods × divisions of ε × k, from coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple

from shoal import registry
from shoal.errors import ParameterError, raise_all
from shoal.flow.plan.components import of_values, required_in
from shoal.flow.plan.feasibility import demands, shortfall
from shoal.flow.stages.encode import confidential_columns
from shoal.parameters import Checked, Param, declarations, shown, unknown
from shoal.recipe.fields import EFFORTS
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import resolve
from shoal.types import Setting, Table

RISK = "dld"  #: the default risk measure
_K = (3, 5, 10, 25)
_LAST = 1_000  # level of settings that are weaker than the recipe
_PLAIN = ("mdav", "v_mdav", "tour")
_AUTO = "auto"  # with the recipe's effort
_UNITED = (("t_close_anneal", (("effort", "fast"),)), ("t_close_merge", ()))  # and parameters that save time
_RANKED = ("t_first", "k_first", "t_close_merge", "steered")  # these need an order on all confidential columns
_ANY = ("t_close_merge", "k_first")


@dataclass(frozen=True)
class Explore(Checked):
    """Settings of an exploration: values to try, time limit and measures; see :func:`shoal.explore`."""

    k: Annotated[tuple[int, ...] | None, Param("Class sizes to try; default: 3, 5, 10, 25 and the recipe's.")] = None
    t: Annotated[tuple[float, ...] | None, Param("Values of t to try; default: the recipe's.")] = None
    methods: Annotated[tuple[str, ...] | None, Param("Methods to try; default: those that suit the recipe.")] = None
    refine: Annotated[tuple[str, ...] | None, Param("Refinement efforts to try; may include none.")] = None
    seconds: Annotated[float, Param("Time limit of the whole search, in seconds.", low=0)] = 60.0
    sample: Annotated[int, Param("Largest number of records to try settings on.", low=10)] = 20_000
    loss: Annotated[str, Param("The measure of utility by which settings are compared.")] = "il_sse"
    risk: Annotated[str | None, Param("The measure of risk by which settings are compared; default: dld.")] = None
    max_loss: Annotated[float | None, Param("Largest loss, in percent.", low=0)] = None
    max_risk: Annotated[float | None, Param("Largest risk, in percent.", low=0)] = None
    jobs: Annotated[int, Param("Settings that run in parallel.", low=1, high=64)] = 2
    target: Annotated[str | None, Param("Column that a model trained on the release predicts.")] = None
    releases: Annotated[tuple[str, ...] | None, Param("Releases to rank by what a model keeps.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        faults = [
            f"Explore: {name} must hold at least one value, got none." for name in _LISTS if getattr(self, name) == ()
        ]
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
        releases = [key for key in registry.keys("release") if key != "laplace"]
        faults += [
            unknown("Explore", "release", name, releases) for name in self.releases or () if name not in releases
        ]
        if self.releases is not None and self.target is None:
            faults.append("Explore: releases must be given with target, got no target. Add it, or leave out releases.")
        efforts = ("none", *EFFORTS)
        faults += [unknown("Explore", "effort", name, efforts) for name in self.refine or () if name not in efforts]
        for room, name in (("utility", self.loss), ("risk", self.risk or RISK)):
            names = percentages(room)
            faults += [] if name in names else [unknown("Explore", f"measure of {room} in percent", name, names)]
        raise_all(ParameterError, faults)


_LISTS = ("k", "t", "methods", "refine", "releases")


def percentages(room: str) -> list[str]:
    """Return the names of a family's measures that are percentages to be minimised.

    >>> percentages("utility")
    ['il_sse', 'il']
    """
    lowered = [key for key in registry.keys(room) if registry.says(room, key, "goal") == "low"]
    return [registry.says(room, key, "short") or key for key in lowered if registry.says(room, key, "unit") == "%"]


class Way(NamedTuple):
    """How classes are formed, which attacker they withstand, how ε is divided among blocks; None: no choice."""

    method: str
    refine: str | None
    split: str | None = None
    attacker: str | None = None
    variant: str = ""  #: tells it apart from a way with the same method and refinement
    given: tuple[tuple[str, Any], ...] = ()  #: parameters of the method, unless the recipe sets them


class Candidate(NamedTuple):
    """A setting to try: its recipe, or the reason why it cannot run; and its priority."""

    values: Mapping[str, Any]
    recipe: Recipe | None
    fault: ParameterError | None
    level: int  #: 0 is tried first
    shortfall: str  #: how it is weaker than the recipe demands, in words
    sized: bool  #: whether k sets the class size
    variant: str = ""  #: tells it apart from a setting with the same method, refinement, k and t

    @property
    def setting(self) -> Setting:
        """The setting before it is tried."""
        return Setting(self.values, 0.0, sized=self.sized, meets=not self.shortfall, variant=self.variant)

    @property
    def name(self) -> str:
        """The setting in words."""
        return self.setting.name


def candidates(
    recipe: Recipe,
    ways: Sequence[Way],
    ks: Sequence[int],
    ts: Sequence[float | None] = (None,),
    sized: Callable[[str, Mapping[str, Any]], bool] | None = None,
) -> list[Candidate]:
    """Return every setting to try, by method, t and k; a method that chooses its class sizes is tried with one k."""
    told = told_to_sinks(recipe, [way.method for way in ways])
    demanded = demands(recipe)
    of_t = coarse_first([not shortfall(demanded, recipe.k, t) for t in ts])
    of_k = coarse_first([not shortfall(demanded, k) for k in ks])
    found = []
    for way in ways:
        own = {**dict(way.given), **set_for(way.method, recipe), **({} if way.split is None else {"split": way.split})}
        by_size = sized is None or sized(way.method, own)
        sizes = list(zip(ks, of_k, strict=True)) if by_size else [(recipe.k, 0)]
        for (t, by_t), (k, by_k) in product(zip(ts, of_t, strict=True), sizes):
            said = {**recipe.to_dict(), "k": k, "t": t, "method": way.method, "effort": way.refine, "set": own}
            said["attacker"] = way.attacker or recipe.attacker
            values = {name: value for name, value in said.items() if value is not None and value != {}}
            rest = (max(by_t, by_k), shortfall(demanded, k, t), by_size, way.variant)
            try:
                made = Recipe.from_dict(values)
                run = replace(made, set={name: value for name, value in made.set.items() if name not in told})
                found.append(Candidate(made.to_dict(), run, None, *rest))
            except ParameterError as error:
                found.append(Candidate(values, None, error, *rest))
    return found


def risk_candidates(table: Table, recipe: Recipe, asked: Explore, d: int) -> list[Candidate]:
    """Return the settings to compare by loss and risk; `d` is the number of coordinates."""
    ks = sorted({int(k) for k in asked.k or (*_K, recipe.k)})
    ts = sorted({float(t) for t in asked.t}) if asked.t else [recipe.t]
    ways = list(_ways(table, recipe, asked, d, close=ts != [None]))
    if two_attackers(recipe, asked):
        ways = list(_for_both(ways, recipe, asked, close=ts != [None]))
    return candidates(recipe, ways, ks, ts)


def two_attackers(recipe: Recipe, asked: Explore) -> bool:
    """Tell whether requirements look at confidential values, so that the attacker to withstand makes a difference."""
    return recipe.t is not None or asked.t is not None or bool(of_values(required_in(recipe)))


def _for_both(ways: Sequence[Way], recipe: Recipe, asked: Explore, *, close: bool) -> Iterator[Way]:
    """Yield ways that withstand someone who knows the algorithm, where possible, then those for the table only.

    A way that gives the same classes against both is tried once.
    """
    strong = [way for way in ways if registry.says("partition", way.method, "exchangeable")]
    if close and asked.methods is None:
        efforts = dict.fromkeys(way.refine for way in ways if way.refine is not None)
        strong = [Way(method, None, given=given) for method, given in _UNITED]
        strong += [Way(_PLAIN[0], effort) for effort in efforts]
        strong += [Way(_AUTO, effort) for effort in efforts_of(recipe, asked, _AUTO)]
    for way in strong:
        yield way._replace(attacker="algorithm")
    for way in ways:
        if way not in strong:
            yield way._replace(attacker="table")
        elif not _alike(way, recipe):
            yield way._replace(attacker="table", variant="table")


def _alike(way: Way, recipe: Recipe) -> bool:
    """Tell whether a way forms the same classes, whomever they must withstand: nothing is repaired or refined."""
    alone = way.refine is None and not recipe.require and recipe.subject is None
    return alone and way.method != "auto" and bool(registry.says("partition", way.method, "promises_t"))


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


def efforts_of(recipe: Recipe, asked: Explore, method: str) -> list[str | None]:
    """Return the efforts to try with a method: those requested, or the recipe's.

    If the recipe names a method that searches, its effort is that of searches; other methods are not refined with it.
    """
    if asked.refine:
        return list(dict.fromkeys(None if effort == "none" else effort for effort in asked.refine))
    named = recipe.searches and "method" not in recipe.unset
    other = named and not registry.says("partition", method, "searches")
    return [None if other or "effort" in recipe.unset else recipe.effort]


def _ways(table: Table, recipe: Recipe, asked: Explore, d: int, *, close: bool) -> Iterator[Way]:
    """Yield methods with their refinement effort: those requested, or those that suit the requirements."""
    methods = asked.methods or tuple(_suiting(table, recipe, d, close=close))
    given = "effort" not in recipe.unset and recipe.effort in efforts_of(recipe, asked, methods[0])
    usual = asked.methods is None and asked.refine is None and not given
    both = usual and (close or bool(recipe.require))
    for method in dict.fromkeys(methods):
        for effort in (None, "fast") if both else efforts_of(recipe, asked, method):
            yield Way(method, effort)
    if usual and not both and d > 1:  # after refinement they differ little, where nothing else is required
        yield Way(methods[0], "fast")
    if asked.methods is None and not close and "optimal_univariate" not in methods:
        for effort in efforts_of(recipe, asked, _AUTO):
            yield Way(_AUTO, effort)


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
        promises = registry.says("partition", key, "promises")
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
    known = {declared.name for maker in tried for declared in declarations(maker)} - {"k", "t", "attacker"}
    others = {name for name in recipe.set if name not in known}
    strange = sorted(others - _declared("sinks")) if others else []
    raise_all(ParameterError, [unknown("Explore", "parameter (in set)", name, known) for name in strange])
    return others


def _declared(room: str) -> set[str]:
    """Return the parameters of all methods, or of all sinks."""
    makers = [registry.load(room, key) for key in registry.keys(room)] if room == "partition" else _sinks()
    return {declared.name for maker in makers for declared in declarations(maker)}


def _sinks() -> list[Any]:
    keys = {key for claim in ("suffixes", "schemes") for key in registry.declared("io.sinks", claim).values()}
    return [registry.load("io.sinks", key) for key in keys]


_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)  # round numbers, about evenly spaced on a log scale
_EVEN, _BY_WIDTH, _LEAST = "even", "expression1", "least"


def refuse_options(recipe: Recipe, asked: Explore) -> None:
    """Refuse options that cannot be weighed against noise."""
    error = "settings are compared by their expected error"
    said = {
        "t": (asked.t is not None or recipe.t is not None, error),
        "require": (bool(recipe.require), error),
        "risk": (asked.risk is not None, "nothing is drawn, so no risk can be measured"),
        "max_risk": (asked.max_risk is not None, "nothing is drawn, so no risk can be measured"),
        "loss": (asked.loss != "il_sse", "only il_sse has a known expectation"),
        "target": (asked.target is not None, "nothing is drawn, so no model can be trained"),
    }
    raise_all(
        ParameterError,
        [
            f"Explore: {name} cannot be given with epsilon, because {why}. Leave out one of them."
            for name, (given, why) in said.items()
            if given
        ],
    )


def noise_candidates(recipe: Recipe, asked: Explore, n: int, d: int) -> list[Candidate]:
    """Return every setting to try on n records of d coordinates, by method and k.

    A method that chooses its own class sizes is tried once, whatever the list of k.
    """
    ks = sorted({int(k) for k in asked.k}) if asked.k else usual_sizes(n, recipe.k)
    return candidates(recipe, list(_noise_ways(recipe, asked, d)), ks, sized=sized)


def usual_sizes(n: int, k: int) -> list[int]:
    """Return class sizes from 2 to half the records, about evenly spaced on a log scale, then all records; and k
    itself.

    >>> usual_sizes(100, 5)
    [2, 3, 5, 7, 10, 15, 20, 30, 50, 100]
    """
    powers = range(len(str(n)))
    rounds = {int(step * 10**power) for power, step in product(powers, _STEPS)}
    return sorted({size for size in (*rounds, k) if 2 <= size <= n // 2} | {max(n, 2)})


def sized(method: str, given: Mapping[str, Any]) -> bool:
    """Tell whether k sets the class size of a method; a method with its own size parameter names it."""
    switch = registry.says("partition", method, "k_counts_with")
    return not switch or bool(given.get(switch))


def _noise_ways(recipe: Recipe, asked: Explore, d: int) -> Iterator[Way]:
    for method in dict.fromkeys(asked.methods or _suiting_noise(recipe, d)):
        for effort, split in product(efforts_of(recipe, asked, method), _splits(method, recipe, d)):
            yield Way(method, effort, split)


def _suiting_noise(recipe: Recipe, d: int) -> Sequence[str]:
    if recipe.claim == "original":
        return ("insensitive",)
    if d == 1:
        return ("optimal_univariate", "least_error")
    if recipe.block_count > 1:  # least_error forms blocks itself, and would spend all of ε on each of these
        return ("mdav",)
    return ("mdav", "individual_ranking", "least_error")


def _splits(method: str, recipe: Recipe, d: int) -> Sequence[str | None]:
    """Return the possible divisions of ε, where they differ and the recipe does not choose one."""
    if "split" in recipe.set or isinstance(recipe.epsilon, Mapping) or d == 1:
        return (None,)
    both = (_EVEN, _BY_WIDTH) if recipe.claim == "original" or _widths_differ(recipe) else (_EVEN,)
    if recipe.claim == "original":
        return both
    maker = registry.load("partition", method)
    if any(declared.name == "split" for declared in declarations(maker)):  # the method weighs the noise itself
        return (*both, _LEAST)
    return both if recipe.block_count > 1 or maker.forms_blocks else (None,)


def _widths_differ(recipe: Recipe) -> bool:
    if isinstance(recipe.bounds, str):
        return True
    return len({float(high) - float(low) for low, high in recipe.bounds.values()}) > 1
