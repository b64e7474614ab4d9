"""Trials of many settings on a frame or a file, and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from shoal.api._given import AnyRecipe, input_place, is_place, recipe_of, refuse_with_frame
from shoal.api._stores import reads
from shoal.flow.explore import explore as flow
from shoal.flow.explore.grid import Explore
from shoal.flow.plan.release_traits import with_noise
from shoal.locations import path_or_none, place
from shoal.recipe.recipe import FixedFields
from shoal.types import Explored


@reads("frame")
def explore(
    frame: Any,
    recipe: AnyRecipe | None = None,
    *,
    output: str | Path | None = None,
    save_recipe: str | Path | None = None,
    force: bool = False,
    k: Sequence[int] | int | None = None,
    t: Sequence[float] | float | None = None,
    methods: Sequence[str] | None = None,
    effort: Sequence[str] | str | None = None,
    refine: Sequence[str] | None = None,
    seconds: float = 60.0,
    sample: int = 20_000,
    loss: str = "il_sse",
    risk: str | None = None,
    max_loss: float | None = None,
    max_risk: float | None = None,
    jobs: int = 2,
    target: str | None = None,
    releases: Sequence[str] | None = None,
    epsilon: float | Mapping[str, float] | None = None,
    bounds: Mapping[str, Sequence[float]] | str | None = None,
    claim: str | None = None,
    **fields: Unpack[FixedFields],
) -> Explored:
    """Try many settings on a table and recommend one, by their loss and the gain of an attacker.

    Parameters
    ----------
    frame
        A frame of pandas, polars or pyarrow, the path of a file, or the URL of a table.
    recipe
        What does not vary: roles, kinds, requirements, release, seed; as in :func:`shoal.protect`. Its k, t and
        requirements are a floor, its epsilon a ceiling: weaker settings are shown, and never recommended.
    output
        For a file: where to write a page with the frontier, one HTML file.
    save_recipe
        For a file: where to write the recipe of the recommended setting. It is an error if no setting is recommended.
    force
        Replace these files if they exist.
    k, t, methods, effort
        What to try, in every combination. Default: k of 3, 5, 10, 25 and the recipe's; the recipe's t; methods that
        suit the recipe; its effort, or none and ``"fast"``. In `effort`, ``"none"`` is not to refine. `refine` is its
        old name.
    seconds, jobs
        Time limit of the whole search, and number of settings that run at once. Settings that do not fit, by estimates
        from counts, are left out; those that are not finished by then are abandoned, and ``stopped`` says so. Figures
        of a setting are the same on every machine.
    sample
        Largest number of records to look at; of a larger table a random sample is drawn.
    loss, risk
        The two measures that settings are compared by, both in percent; the risk is ``dld`` by default.
    max_loss, max_risk
        Their largest allowed values. With one of them the other measure is minimised; with both or none, their mean.
    target, releases
        Rank methods and releases by what a model keeps that predicts this column: trained on the release, tested on
        records that were set aside, next to the risks of the release. Needs scikit-learn (``shoal[target]``).
    epsilon, bounds, claim
        Weigh noise, as the release ``laplace`` adds it, against the loss of microaggregation: settings are compared by
        the expected il_sse, nothing is drawn, and the least is recommended. Fields of the recipe, of the same names.
    **fields
        Other fields of the recipe by name, such as ``quasi=["age"]``: instead of a recipe, or to override it.

    Returns
    -------
    Explored
        ``settings``, ``frontier``, ``recommended``, ``reason``, ``recipe`` (for :func:`shoal.protect`), ``toml``.

    >>> from shoal.api.demo import survey
    >>> found = explore(survey(200), quasi=["income", "rent"], k=[3, 10], methods=["mdav", "tour"])
    >>> found.ran, found.recommended.name
    ('4 of 4 settings fit into 60 s on 2 cores', 'tour, k = 10')
    """
    lists = (_tuple(k), _tuple(t), _tuple(methods), _tuple(refine if effort is None else effort))
    asked = Explore(*lists, seconds, sample, loss, risk, max_loss, max_risk, jobs, target, _tuple(releases))
    made = with_noise(recipe_of(recipe, fields, explore), epsilon, bounds, claim)
    if is_place(frame):
        page, saved = path_or_none(output), path_or_none(save_recipe)
        return flow.explore_file(input_place(frame), made, asked, target=page, save_recipe=saved, force=force)
    refuse_with_frame(
        "explore",
        "The result holds the recommended recipe as toml.",
        output=output,
        save_recipe=save_recipe,
        force=force,
    )
    return flow.explore_frame(frame, made, asked)


def explore_file(
    source: str | Path,
    recipe: AnyRecipe,
    target: str | Path | None = None,
    *,
    save_recipe: str | Path | None = None,
    force: bool = False,
    k: Sequence[int] | None = None,
    t: Sequence[float] | None = None,
    methods: Sequence[str] | None = None,
    refine: Sequence[str] | None = None,
    seconds: float = 60.0,
    sample: int = 20_000,
    loss: str = "il_sse",
    risk: str | None = None,
    max_loss: float | None = None,
    max_risk: float | None = None,
    jobs: int = 2,
    epsilon: float | Mapping[str, float] | None = None,
    bounds: Mapping[str, Sequence[float]] | str | None = None,
    claim: str | None = None,
) -> Explored:
    """Try many settings on a file: the older name of :func:`explore` with a path."""
    return explore(
        place(source),
        recipe,
        output=target,
        save_recipe=save_recipe,
        force=force,
        k=k,
        t=t,
        methods=methods,
        refine=refine,
        seconds=seconds,
        sample=sample,
        loss=loss,
        risk=risk,
        max_loss=max_loss,
        max_risk=max_risk,
        jobs=jobs,
        epsilon=epsilon,
        bounds=bounds,
        claim=claim,
    )


def _tuple(given: Any) -> Any:
    """Return values to try as a tuple; a single value becomes a tuple of one."""
    return given if given is None else (given,) if isinstance(given, (str, int, float)) else tuple(given)
