"""Try many settings with noise: what microaggregation loses against what noise adds, and where their sum is least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from shoal.errors import ShoalError, rows_kept
from shoal.flow.candidates import Candidate, Explore
from shoal.flow.costing import fitting, seconds_for
from shoal.flow.declaration import covers_originals
from shoal.flow.excluding import complete_rows, only_rows
from shoal.flow.expected_loss import ExpectedLoss, expected_loss
from shoal.flow.floor import demands, of_demands, unmet
from shoal.flow.forming import form
from shoal.flow.noise_candidates import noise_candidates, refuse_options, sized
from shoal.flow.sampling import sampled
from shoal.flow.trying import Bench, at_once, weaker
from shoal.recipe import Recipe
from shoal.types import FROM_THE_DATA, Explored, Setting, Table
from shoal.types.spending import sequential

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CLASSES = 3  # of the largest k asked for, that must fit into what is drawn from a stratum


@dataclass(frozen=True)
class Weighed:
    """What is to be expected of a setting."""

    loss: ExpectedLoss
    smallest: int  #: records of the smallest class of any block
    classes: int
    weaker: str


def weigh(table: Table, recipe: Recipe, asked: Explore) -> Explored:
    """Choose the settings that fit into the time, compute what each is expected to lose, and recommend the least.

    Nothing is released and nothing drawn. Where ε is claimed for original records, the table must be one of stand-ins.
    """
    refuse_options(recipe, asked)
    rows = complete_rows(table, recipe)
    drawn = _looked_at(table, rows, recipe, asked)
    bench = Bench(only_rows(table, drawn), drawn, ())
    n, d = len(bench.table), bench.coordinates(recipe)
    every = noise_candidates(recipe, asked, n, d)
    costs = [0.0 if one.recipe is None else seconds_for(one.recipe, n, d, measured=False) for one in every]
    picked = sorted(fitting(costs, [one.level for one in every], asked.seconds * asked.jobs))
    tried = at_once(lambda one: _weighed(bench, one), [every[at] for at in picked], asked.jobs)
    results = dict(zip(picked, tried, strict=True))
    demanded = demands(recipe)
    settings = tuple(_setting(one, costs[at], results.get(at), demanded) for at, one in enumerate(every))
    best, reason, rule = least_expected(settings, asked.max_loss, demanded)
    leaving = len(table) if rows is None else len(rows)
    epsilon = recipe.epsilon
    return Explored(
        settings,
        best,
        reason,
        rule,
        asked.loss,
        "",
        n,
        len(table),
        asked.seconds,
        asked.jobs,
        toml="" if best is None else Recipe.from_dict(best.recipe).to_toml(),
        notes=(
            *_of_choice(recipe, n),
            *_of_records(n, leaving, len(table)),
            *of_demands(settings, demanded),
            *_of_weaker(settings, best),
            *_of_settings(settings, best, n),
        ),
        epsilon=sequential(epsilon.values()) if isinstance(epsilon, Mapping) else float(epsilon or 0.0),
        claim=recipe.claim,
        stand_ins=covers_originals(recipe),
        demands=demanded,
    )


def least_expected(
    settings: Sequence[Setting],
    max_loss: float | None = None,
    demanded: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Setting | None, str, str]:
    """Choose the setting with the least expected loss; of equals the one with the lower k, then the first.

    Settings that are weaker than what the recipe has `demanded` are never chosen.

    Returns
    -------
    tuple
        The setting, or None if even the least is above `max_loss`; why; and the rule.
    """
    finite = [s for s in settings if s.state == "ran" and s.loss < float("inf")]
    ran = [s for s in finite if s.meets]
    rule = "the setting with the least expected loss, microaggregation and noise together"
    if max_loss is not None:
        rule += f", if that is at most {max_loss:g} %"
    if finite and not ran:
        return None, unmet(demanded), rule
    if not ran:
        return None, "No setting that ran has a finite expected loss. Raise epsilon, or narrow bounds.", rule
    best = min(ran, key=lambda s: (s.loss, s.asked[0]))
    loss, lost, noise = best.figures
    parts = f"{lost} % by microaggregation and {noise} % by noise"
    if max_loss is not None and best.loss > max_loss:
        said = f"There is no setting that is expected to lose at most {max_loss:g} %. The least is {loss} %"
        return None, f"{said} ({best.name}): {parts}. Raise the limit or epsilon, or narrow bounds.", rule
    many, one = ("that were tried", "tried")
    if len(finite) > len(ran):
        many, one = ("that meet the recipe's demands", "that meets the recipe's demands")
    among = f"of the {len(ran):,} settings {many}, the least" if len(ran) > 1 else f"the only setting {one}"
    return best, f"{best.name}: it is expected to lose {loss} %, {parts}; {among}.", rule


def _looked_at(
    table: Table, rows: NDArray[np.int64] | None, recipe: Recipe, asked: Explore
) -> NDArray[np.int64] | None:
    """Return the records to look at; all of stand-ins, for with the number of records their noise would change."""
    if covers_originals(recipe):
        return rows
    return sampled(table, rows, asked.sample, recipe.seed, _CLASSES * max(asked.k or (25, recipe.k)))


def _weighed(bench: Bench, recipe: Recipe) -> Weighed:
    with rows_kept(bench.rows):
        made = form(bench.table, recipe)
        found = expected_loss(made)
    blocks = made.partition.blocks
    smallest, classes = min(int(block.sizes.min()) for block in blocks), sum(len(block) for block in blocks)
    return Weighed(found, smallest, classes, weaker(recipe, made.partition))


def _setting(
    candidate: Candidate, seconds: float, result: Weighed | ShoalError | None, demanded: Mapping[str, float]
) -> Setting:
    values, meets = candidate.values, not candidate.shortfall
    free = not sized(values["method"], values.get("set", {}))
    if result is None:
        return Setting(values, seconds, sized=not free, meets=meets)
    if isinstance(result, ShoalError):
        return Setting(values, seconds, "failed", note=str(result), sized=not free, meets=meets)
    return Setting(
        values,
        seconds,
        "ran",
        result.loss.total,
        k=result.smallest,
        classes=result.classes,
        keeps=not result.weaker,
        note=result.weaker,
        noise=result.loss.noise,
        sized=not free,
        meets=meets and not ("k" in demanded and result.weaker),
    )


def _of_choice(recipe: Recipe, n: int) -> Iterator[str]:
    """Say what the choice itself looked at."""
    if recipe.bounds == FROM_THE_DATA:
        yield f"NOT PRIVATE: bounds were taken {FROM_THE_DATA}."
    if covers_originals(recipe):
        yield (
            f"No cell was looked at: {n:,} made-up records, uniform within the bounds, stand in for those of the "
            f"table, of which only the number is taken, and that is public. So the choice costs nothing of ε. Records "
            f"that fill their bounds less lose more in percent, for noise is the same and they vary less."
        )
    else:
        yield (
            "The choice looks at the data: all figures here, and the method and the k that are recommended, depend on "
            "every record, and ε does not cover that. Where it must, choose on other data, or claim original records."
        )


def _of_records(n: int, leaving: int, whole: int) -> Iterator[str]:
    if leaving < whole:
        yield f"{whole - leaving:,} records lack a quasi-identifier and are left out, as the recipe says."
    if n < leaving:
        yield (
            f"A random sample of {n:,} of {leaving:,} records was looked at. In the whole table neighbours are nearer: "
            f"at the same k noise is the same, and less is lost by microaggregation, so that a larger k may be best. "
            f"The recipe is for the whole table."
        )


def _of_weaker(settings: Sequence[Setting], best: Setting | None) -> Iterator[str]:
    """Say what could be had without the demand of k, where that is less."""
    weaker = [s for s in settings if s.state == "ran" and not s.meets and s.loss < float("inf")]
    least = min(weaker, key=lambda s: s.loss, default=None)
    if least is not None and (best is None or least.loss < best.loss):
        said = f"The least of them is {least.name}: {least.figures[0]} %."
        yield f"{said} To allow it, lower k in the recipe, or leave it out."


def _of_settings(settings: Sequence[Setting], best: Setting | None, n: int) -> Iterator[str]:
    if best is None:
        return
    if not best.keeps:
        yield f"Of the recommended setting {best.note}; what protects is the noise. Its smallest class has {best.k:,}."
    sizes = {s.asked[0] for s in settings if s.state == "ran" and s.sized}
    if best.sized and len(sizes) > 1 and best.asked[0] == max(sizes):
        if best.asked[0] < n:
            yield "The recommended k is the largest that was tried; a larger one may be better still."
        else:
            yield "All records are one class: noise is so much that nothing but the means can leave. Raise ε."
    if best.loss > 100:
        yield "More is lost than if every record left with the mean of all, which is 100 %. Raise ε, or narrow bounds."
