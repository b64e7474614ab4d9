"""Exploration with noise: microaggregation loss against added noise, and the minimum of their sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from shoal.errors import SchemaError, listing, rows_kept
from shoal.flow.classes.form import Formed, form
from shoal.flow.explore.grid import Explore, noise_candidates, refuse_options
from shoal.flow.explore.run_setting import Bench, Result, Strategy, of_records, weaker
from shoal.flow.plan.feasibility import demands, of_demands, unmet
from shoal.flow.plan.release_traits import covers_originals
from shoal.flow.protect.anonymise import plan_for
from shoal.recipe.recipe import Recipe
from shoal.types import FROM_THE_DATA, Block, Domain, Explored, Numbers, Setting, domains
from shoal.types.privacy_ledger import sequential

if TYPE_CHECKING:
    from shoal.release.laplace import Laplace


_SERIES = 0.01  # below it, a difference of nearly equal numbers would lose its digits
_FAR = 700.0  # scales away, where nothing is clipped: e⁻⁷⁰⁰ is still representable


class ExpectedLoss(NamedTuple):
    """The expected loss of a release, in percent of the total variation, like the measure il_sse.

    >>> ExpectedLoss(3.0, 4.0).total
    7.0
    """

    lost: float  #: through microaggregation: means replace values, and values are clamped to their bounds
    noise: float  #: through noise, after clipping

    @property
    def total(self) -> float:
        """The mean of il_sse over all draws of the noise."""
        return self.lost + self.noise


def expected_loss(made: Formed) -> ExpectedLoss:
    """Return the expected il_sse of releasing the classes of a table with ``laplace``.

    A class of m records with mean x̄ is released as c = clip(μ + L), where μ is the mean of its values clamped to their
    bounds and L is Laplace noise of the scale b that ε needs. The squared errors of its members sum to Σ(x − μ)², the
    microaggregation loss, plus m·(E[D²] + 2(μ − x̄)·E[D]), the noise, with D = c − μ. L has the sign + or − with
    probability ½ and an exponential size T, cut off at p = μ − low or q = high − μ: E[min(T, q)] = b(1 − e^(−q/b)) and
    E[min(T, q)²] = 2b²(1 − (1 + q/b)·e^(−q/b)).

    Guarantee: the exact expected il_sse of the release, for either claim, up to rounding of 64-bit numbers. Rounding of
    released values to their resolution is ignored: it is small compared with the noise.

    Complexity: O(n·d).

    References: [SD17] Section 3, where values are not clipped.
    """
    from shoal.release._noise_claims import shares

    release = cast("Laplace", made.release)
    numbers = _refused(made, release)
    limits = domains(release.bounds, list(numbers.values()))
    budget = shares(release, made.partition, limits)
    lost, noise, variation = 0.0, 0.0, 0.0
    for block in made.partition.blocks:
        for j, name in enumerate(name for name in made.points.places if name in block.attributes):
            reach = _reach(block, j, limits[name], whole=release.claim == "original")
            parts = _of_attribute(numbers[name], block, limits[name], reach / budget[name])
            lost, noise, variation = lost + parts[0], noise + parts[1], variation + parts[2]
    variation = variation or lost + noise  # where nothing varies, il_sse is 100 for any change
    return ExpectedLoss(100.0 * lost / variation, 100.0 * noise / variation) if variation else ExpectedLoss(0.0, 0.0)


def _refused(made: Formed, release: Laplace) -> dict[str, Numbers]:
    """Return the attributes by name, all numeric; refuse what the release would refuse, and categories."""
    from shoal.release._noise_claims import refuse_missing, refuse_unknown
    from shoal.release._taken_cells import refuse_values

    refuse_missing(made.typed)
    refuse_values(release, made.partition)
    refuse_unknown(release, made.partition)
    if others := [a.name for a in made.attributes if not isinstance(a, Numbers)]:
        raise SchemaError(
            f"Explore: with epsilon quasi-identifiers must be numbers; {listing(others)} holds categories, whose "
            "error cannot be known in advance. Leave it out, or give it another role."
        )
    return {a.name: a for a in made.attributes if isinstance(a, Numbers)}


def _reach(block: Block, j: int, domain: Domain, *, whole: bool) -> NDArray[np.float64]:
    """Return by how much each class mean can change; for the claim ``original``, all possible changes."""
    if not whole:
        return np.asarray(domain.width / block.sizes)  # [SD17] Proposition 2
    assert block.moves is not None  # or it was refused
    return np.full(len(block), block.moves[j] * domain.width)


def _of_attribute(
    attribute: Numbers, block: Block, domain: Domain, scales: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return the microaggregation loss, the noise and the variation of an attribute, standardised."""
    from shoal.points.before_and_after import standard_or_unit
    from shoal.points.numeric import coordinate

    placed = attribute.place(standard_or_unit)  # the scale on which tables are compared
    x, (footing,), sizes, labels = placed.coordinates[:, 0], placed.footings, block.sizes, block.labels
    with np.errstate(over="ignore", under="ignore"):
        means = np.bincount(labels, coordinate(domain.clamped(attribute.values), footing)[:, 0]) / sizes
        low, high = coordinate(np.array(domain), footing)[:, 0]
        b = scales / np.ldexp(footing.spread, footing.exponent)
        (up, up2), (down, down2) = (_cut_moments(b, room) for room in (high - means, means - low))
        moved = means - np.bincount(labels, x) / sizes  # through clamping
        added = sizes * ((up2 + down2) / 2 + moved * (up - down))
        return float(((x - means[labels]) ** 2).sum()), float(added.sum()), float(((x - x.mean()) ** 2).sum())


def _cut_moments(b: NDArray[np.float64], room: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first two moments of an exponential variable of mean b that is cut off at `room`.

    >>> import numpy as np
    >>> [float(m[0].round(6)) for m in _cut_moments(np.array([2.0]), np.array([1e9]))]
    [2.0, 8.0]
    >>> [float(m[0].round(6)) for m in _cut_moments(np.array([1e9]), np.array([3.0]))]
    [3.0, 9.0]
    """
    room = np.maximum(room, 0.0)  # rounding may put a mean at the bound slightly beyond it
    r = np.minimum(np.divide(room, b, out=np.full(len(b), _FAR), where=b > 0), _FAR)
    series = r * r * (1 / 2 - r * (1 / 3 - r * (1 / 8 - r * (1 / 30 - r / 144))))
    second = np.where(r < _SERIES, series, 1.0 - (1.0 + r) * np.exp(-r))
    return -b * np.expm1(-r), 2.0 * b * b * second


def by_noise(recipe: Recipe, asked: Explore) -> Strategy:
    """Compare settings by their expected loss, and recommend the smallest.

    Nothing is released or drawn. If ε is claimed for original records, the table must consist of stand-ins.
    """
    refuse_options(recipe, asked)
    epsilon, demanded = recipe.epsilon, demands(recipe)
    return Strategy(
        candidates=lambda table, d: noise_candidates(recipe, asked, len(table), d),
        tried=_weighed,
        marked=tuple,
        recommended=lambda settings: least_expected(settings, asked.max_loss, demanded),
        notes=lambda found, complete, _: _notes(found, complete, recipe),
        said={
            "epsilon": sequential(epsilon.values()) if isinstance(epsilon, Mapping) else float(epsilon or 0.0),
            "claim": recipe.claim,
            "stand_ins": covers_originals(recipe),
        },
    )


def least_expected(
    settings: Sequence[Setting],
    max_loss: float | None = None,
    demanded: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Setting | None, str, str]:
    """Choose the setting with the smallest expected loss; ties go to the lower k, then to the first.

    Settings weaker than what the recipe has `demanded` are never chosen.

    Returns
    -------
    tuple
        The setting, or None if even the smallest loss is above `max_loss`; the reason; and the rule.
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


def _weighed(bench: Bench, recipe: Recipe) -> Result:
    with rows_kept(bench.rows):
        made = form(plan_for(bench.table, recipe), bench.table)
        found = expected_loss(made)
    blocks = made.partition.blocks
    smallest, classes = min(int(block.sizes.min()) for block in blocks), sum(len(block) for block in blocks)
    return Result(smallest, classes, weaker(recipe, made.partition), found.total, noise=found.noise)


def _notes(found: Explored, complete: int, recipe: Recipe) -> Iterator[str]:
    yield from _of_choice(recipe, found.records)
    yield from of_records(
        found,
        complete,
        "at the same k the noise is the same and microaggregation loses less, so a larger k may be best.",
    )
    yield from of_demands(found.settings, found.demands)
    yield from _of_weaker(found.settings, found.recommended)
    yield from _of_settings(found.settings, found.recommended, found.records)


def _of_choice(recipe: Recipe, n: int) -> Iterator[str]:
    """Describe what the choice was based on."""
    if recipe.bounds == FROM_THE_DATA:
        yield f"NOT PRIVATE: bounds were taken {FROM_THE_DATA}."
    if covers_originals(recipe):
        yield (
            f"No cell was read: {n:,} synthetic records, uniform within the bounds, replace those of the table. Only "
            "the number of records is used, which is public, so the choice costs none of ε. Records that fill less "
            "of their bounds lose more in percent, because the noise is the same and they vary less."
        )
    else:
        yield (
            "The choice uses the data: all figures here, and the recommended method and k, depend on every record, "
            "which ε does not cover. If it must, choose on other data, or claim original records."
        )


def _of_weaker(settings: Sequence[Setting], best: Setting | None) -> Iterator[str]:
    """Report what a smaller k than demanded would achieve, if its loss is lower."""
    weaker = [s for s in settings if s.state == "ran" and not s.meets and s.loss < float("inf")]
    least = min(weaker, key=lambda s: s.loss, default=None)
    if least is not None and (best is None or least.loss < best.loss):
        said = f"The least of them is {least.name}: {least.figures[0]} %."
        yield f"{said} To allow it, lower k in the recipe, or leave it out."


def _of_settings(settings: Sequence[Setting], best: Setting | None, n: int) -> Iterator[str]:
    if best is None:
        return
    if not best.keeps:
        yield (
            f"For the recommended setting, {best.note}; the noise is what protects. Its smallest class has {best.k:,}."
        )
    sizes = {s.asked[0] for s in settings if s.state == "ran" and s.sized}
    if best.sized and len(sizes) > 1 and best.asked[0] == max(sizes):
        if best.asked[0] < n:
            yield "The recommended k is the largest that was tried; a larger one may be better still."
        else:
            yield "All records are in one class: there is so much noise that only the means are released. Raise ε."
    if best.loss > 100:
        yield (
            "The loss exceeds 100 %, that of releasing the overall mean for every record. Raise ε, or narrow "
            "the bounds."
        )
