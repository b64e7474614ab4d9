"""Exploration: try many settings on a table, and recommend one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shoal import progress
from shoal.errors import GuaranteeError, ParameterError, listing
from shoal.flow.explore.grid import RISK, Explore, risk_candidates, two_attackers
from shoal.flow.explore.noise import by_noise
from shoal.flow.explore.run_setting import (
    Bench,
    Result,
    Strategy,
    of_records,
    protected,
    sampled,
    setting_of,
    stand_ins,
)
from shoal.flow.explore.search import Trial, at_once, deadline, fitting
from shoal.flow.plan.declared_output import completed
from shoal.flow.plan.estimate import counted
from shoal.flow.plan.feasibility import demands, of_demands, unmet
from shoal.flow.plan.release_traits import covers_originals
from shoal.flow.protect.files import keep_apart
from shoal.flow.recoding.recode import recoded
from shoal.flow.stages.read import open_source, read_table, schema_for
from shoal.flow.stages.values import complete_rows, only_rows
from shoal.locations import Place
from shoal.recipe.fields import ATTACKERS
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import refuse_without_population, resolve
from shoal.types import Explored, Reading, Role, Setting, Table

_Value = Callable[[Setting], tuple[float, float]]


def on_frontier(settings: Sequence[Setting], attacker: str = "") -> tuple[Setting, ...]:
    """Mark the settings that no other setting dominates, with less loss or risk and no more of the other.

    Only settings that ran, keep their promise, meet the recipe's demands, and have both figures are compared. If an
    attacker is named, there are two frontiers: of the settings that withstand someone who knows the algorithm, and of
    all. The frontier is then that of the attacker.

    **Complexity.** O(s²) for s settings (dozens).
    """
    compared = [setting for setting in settings if setting.comparable]
    if not attacker:
        return tuple(replace(one, frontier=_undominated(one, compared)) for one in settings)
    strong = [one for one in compared if one.attacker == "algorithm"]
    ends = {"algorithm": strong, "table": compared}
    found = [replace(one, frontiers=tuple(n for n in ATTACKERS if _undominated(one, ends[n]))) for one in settings]
    return tuple(replace(one, frontier=attacker in one.frontiers) for one in found)


def _undominated(one: Setting, compared: Sequence[Setting]) -> bool:
    return any(one is other for other in compared) and not any(_beats(other, one) for other in compared)


def _beats(one: Setting, other: Setting) -> bool:
    return one.loss <= other.loss and one.risk <= other.risk and (one.loss < other.loss or one.risk < other.risk)


def recommended(
    settings: Sequence[Setting],
    max_loss: float | None = None,
    max_risk: float | None = None,
    demanded: Mapping[str, float] = MappingProxyType({}),
    attacker: str = "",
) -> tuple[Setting | None, str, str]:
    """Choose the recommended setting, by a rule that fits in one sentence.

    Parameters
    ----------
    settings
        Settings, with the frontier marked.
    max_loss, max_risk
        Upper limits on loss and risk. With one limit, the other figure is minimised; with both or none, their mean.
    demanded
        The levels that the recipe demands, for the reason if nothing is recommended.
    attacker
        The attacker that the recommended setting must withstand, if the frontier is that of an attacker.

    Returns
    -------
    tuple
        The setting, or None if no setting keeps the limits; the reason; and the rule. Ties go to the lower k, then
        to the first.
    """
    front = [setting for setting in settings if setting.frontier]
    kept = [s for s in front if _within(s.loss, max_loss) and _within(s.risk, max_risk)]
    limits = _limits(max_loss, max_risk)
    what, value = _goal(max_loss, max_risk)
    those = " that withstand someone who knows the algorithm and" if attacker == "algorithm" else ""
    rule = f"of the settings{those} that no other beats in loss and risk{limits}, the one with the least {what}"
    if not kept:
        weak = not front and any(setting.state == "ran" and not setting.meets for setting in settings)
        if not front and attacker == "algorithm" and any(setting.comparable for setting in settings):
            return None, _ONLY_TABLE, rule
        return None, unmet(demanded) if weak else _none_kept(front, limits), rule
    best = min(kept, key=lambda s: (value(s), s.asked[0]))
    among = f"of the {len(kept):,} settings" if len(kept) > 1 else "it is the only setting"
    those = f" that no other beats in both{limits}"
    why = f"{among}{those}, it has the least {what}" if len(kept) > 1 else f"{among}{those}"
    return best, f"{best.name}: it loses {best.loss:.2f} % and risks {best.risk:.2f} %; {why}.", rule


_ONLY_TABLE = (
    "No setting that ran withstands someone who knows the algorithm. Try t_close_anneal, auto or mdav, or set attacker "
    '= "table" if k may be counted in the table only.'
)


def _within(value: float, most: float | None) -> bool:
    return most is None or value <= most


def _limits(max_loss: float | None, max_risk: float | None) -> str:
    parts = [
        f"a {what} of at most {most:g} %" for what, most in (("loss", max_loss), ("risk", max_risk)) if most is not None
    ]
    return f" and that have {' and '.join(parts)}" if parts else ""


def _goal(max_loss: float | None, max_risk: float | None) -> tuple[str, _Value]:
    if max_loss is None and max_risk is not None:
        return "loss", lambda s: (s.loss, s.risk)
    if max_risk is None and max_loss is not None:
        return "risk", lambda s: (s.risk, s.loss)
    return "mean of loss and risk", lambda s: ((s.loss + s.risk) / 2, 0.0)


def _none_kept(front: Sequence[Setting], limits: str) -> str:
    if not front:
        return "No setting that ran promises k over all quasi-identifiers and has a loss and a risk."
    loss, risk = min(front, key=lambda s: s.loss), min(front, key=lambda s: s.risk)
    return (
        f"There are no settings{limits.replace(' and', '', 1)}. The least loss is {loss.loss:.2f} % ({loss.name}), the "
        f"least risk {risk.risk:.2f} % ({risk.name}). Raise a limit, or try other k."
    )


_CLASSES = 3  # of the largest k must fit into the sample of a stratum


def explore_frame(frame: Any, recipe: Recipe, asked: Explore) -> Explored:
    """Try settings on a frame of pandas, polars or pyarrow."""
    from shoal.io.sources.frame import Frame, index_as_columns

    until = deadline(asked.seconds)
    data, unread = Frame().read(index_as_columns(frame, (*recipe.identifier, *recipe.columns(Role.SUBJECT)))[0])
    if covers_originals(recipe):
        return _without_cells(data.num_rows, (*data.column_names, *unread), recipe, asked, until)
    table = Table(data, schema_for(data, recipe, None, unread))
    return _explore(recoded(table, recipe), recipe, asked, until)


def explore_file(
    source: Place,
    recipe: Recipe,
    asked: Explore,
    *,
    target: Path | None = None,
    save_recipe: Path | None = None,
    force: bool = False,
) -> Explored:
    """Try settings on a file; the page and the recommended recipe appear whole or not at all."""
    from shoal.io.sinks._atomic import atomic, check_target
    from shoal.report.frontier import render

    _keep_apart(source, target, save_recipe)
    for path in (target, save_recipe):
        if path is not None:
            check_target(path, force=force)
    if target is not None:
        import jinja2  # noqa: F401 - which the page needs: a search that is stopped must not wait for it
    progress.stage("Read")
    found = replace(_of_file(source, recipe, asked), source=source.name)
    best = found.recommended
    if best is None and save_recipe is not None and not found.stopped:
        raise GuaranteeError(f"{found.reason} Nothing was written.")
    with ExitStack() as stack:
        if target is not None:
            stack.enter_context(atomic(target, force=force)).write_text(render(found), encoding="utf-8")
        if save_recipe is not None and best is not None:
            toml = Recipe.from_dict(best.recipe).to_toml(save_recipe.parent)
            stack.enter_context(atomic(save_recipe, force=force)).write_text(toml, encoding="utf-8")
    return found


def _of_file(source: Place, recipe: Recipe, asked: Explore) -> Explored:
    """Read the table and try settings on it."""
    until = deadline(asked.seconds)
    if not covers_originals(recipe):
        return _explore(recoded(read_table(source, recipe, textual=False), recipe), recipe, asked, until)
    data, _ = open_source(source, recipe.text).read(source.at)
    return _without_cells(data.num_rows, data.column_names, recipe, asked, until)


def _without_cells(records: int, names: Sequence[str], recipe: Recipe, asked: Explore, until: float) -> Explored:
    """Try settings on synthetic records; only the number of records and column names come from the table."""
    whole = completed(recipe)
    found = _explore(stand_ins(records, names, whole), whole, asked, until)
    added = [name for name in whole.kinds if name not in recipe.kinds]
    if not added:
        return found
    note = (
        f"The recipe declares the kind of {listing(added)} by the bounds: integer where both are whole numbers. Change "
        f"it to continuous where values have decimals."
    )
    return replace(found, notes=(*found.notes, note))


def _keep_apart(source: Place, target: Path | None, save_recipe: Path | None) -> None:
    """Refuse a page or recipe that would replace the input or each other, and a page named like data."""
    side_files = {"recipe": save_recipe} if save_recipe is not None else {}
    first = target if target is not None else save_recipe
    if first is not None:
        keep_apart(source, Place(first), {} if target is None else side_files)
    if target is not None and target.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"{target}: the name of the page must end in .html. Rename it.")


def _strategy(recipe: Recipe, asked: Explore) -> Strategy:
    refuse_without_population("Explore", resolve("Recipe", recipe.require), given=False)
    if recipe.suppress:
        raise ParameterError(
            f"Explore: suppress must be 0, got {recipe.suppress:g}: settings are compared on the same records, and "
            "each k would drop others. Leave it out, and add it to the recipe that you choose."
        )
    if recipe.epsilon is not None:
        return by_noise(recipe, asked)
    if asked.target is not None:
        from shoal.flow.explore.target import by_target

        return by_target(recipe, asked)
    return by_risk(recipe, asked)


def _explore(table: Table, recipe: Recipe, asked: Explore, until: float) -> Explored:
    """Choose the settings that fit into the time by their estimates, try them until the deadline, and recommend one."""
    way = _strategy(recipe, asked)
    rows = complete_rows(table, recipe)
    drawn = rows  # all stand-ins: their noise depends on the number of records
    if not covers_originals(recipe):
        drawn = sampled(table, rows, asked.sample, recipe.seed, _CLASSES * max(asked.k or (25, recipe.k)))
    bench = Bench(only_rows(table, drawn), drawn)
    n, points = len(bench.table), bench.points(recipe)
    every = way.candidates(bench.table, points.x.shape[1])
    measured = recipe.epsilon is None and asked.target is None
    costs = [
        0.0 if one.recipe is None else counted(one.recipe, points, measured=measured) + way.extra(n) for one in every
    ]
    picked = sorted(fitting(costs, [one.level for one in every], asked.seconds * asked.jobs))
    way.prepared(bench)
    search = at_once(partial(way.tried, bench), [Trial(every[at], costs[at]) for at in picked], asked.jobs, until)
    results, demanded = dict(zip(picked, search.results, strict=True)), demands(recipe)
    settings = way.marked(
        [setting_of(one, costs[at], results.get(at), demanded, begun=at in results) for at, one in enumerate(every)]
    )
    best, reason, rule = way.recommended(settings)
    readings = next((r.readings for at, r in results.items() if settings[at] is best and isinstance(r, Result)), ())
    found = Explored(
        settings,
        best,
        reason,
        rule,
        asked.loss,
        way.risk,
        n,
        len(table),
        asked.seconds,
        asked.jobs,
        toml="" if best is None else Recipe.from_dict(best.recipe).to_toml(),
        demands=demanded,
        stopped=search.stopped,
        **way.said,
        **way.described(),
    )
    complete = len(table) if rows is None else len(rows)
    return replace(found, notes=(*recipe.notes, *way.notes(found, complete, readings)))


def by_risk(recipe: Recipe, asked: Explore) -> Strategy:
    """Compare settings by loss and risk, and recommend one of those that no other beats in both."""
    risk, demanded = asked.risk or RISK, demands(recipe)
    attacker = recipe.attacker if two_attackers(recipe, asked) else ""
    return Strategy(
        candidates=lambda table, d: risk_candidates(table, recipe, asked, d),
        tried=lambda bench, one: protected(bench, one, asked.loss, risk),
        marked=lambda settings: on_frontier(settings, attacker),
        recommended=lambda settings: recommended(settings, asked.max_loss, asked.max_risk, demanded, attacker),
        notes=_notes,
        risk=risk,
        said={"attacker": attacker},
    )


def _notes(found: Explored, complete: int, readings: tuple[Reading, ...]) -> Iterator[str]:
    settings, best = found.settings, found.recommended
    yield from of_records(
        found,
        complete,
        "loss and risk are lower there, and a larger k may be best. Compare methods by these figures, quote those of "
        "shoal protect and shoal compare, or use a larger sample.",
    )
    if found.price_in_words:
        yield found.price_in_words
    yield from of_demands(settings, found.demands)
    if weaker := sum(s.state == "ran" and not s.keeps for s in settings):
        yield f"{weaker:,} settings promise less than requested; they are shown, but never recommended."
    if len({s.asked[1] for s in settings}) > 1:
        yield (
            "Loss and risk do not measure what t promises, so the largest t is usually recommended. Choose t by what "
            "must not be learnt, then check its cost."
        )
    if best is not None and len(sizes := {s.asked[0] for s in settings}) > 1 and best.asked[0] == max(sizes):
        yield "The recommended k is the largest that was tried; a larger one may be better still."
    for reading in readings:
        if reading.note and reading.name in (found.loss, found.risk):
            yield f"{reading.name} of the recommended setting: {reading.note.rstrip('.')}."
