"""Plans of runs: decisions, refusals and an estimate of the time, without the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from shoal.api._given import AnyRecipe, input_place, is_place, recipe_of, refuse_with_frame
from shoal.api._stores import reads
from shoal.api.protect import refuse_half_a_holdout
from shoal.flow.protect.dry_run import plan_file, plan_frame
from shoal.flow.protect.files import SideFiles
from shoal.locations import path_or_none, place
from shoal.recipe.recipe import Changes
from shoal.types import Planned


@reads("data", "population")
def plan(
    data: Any,
    recipe: AnyRecipe | None = None,
    output: str | Path | None = None,
    *,
    certify: bool = False,
    force: bool = False,
    save_recipe: str | Path | None = None,
    report: str | Path | None = None,
    evidence: str | Path | None = None,
    receipt: str | Path | None = None,
    holdout: float | None = None,
    holdout_to: str | Path | None = None,
    engine: str | None = None,
    memory: str | int | None = None,
    population: Any = None,
    **fields: Unpack[Changes],
) -> Planned:
    """Plan a run without starting it: what would be done, why it would be refused, how long it would take.

    Nothing is written. The result holds every refusal; none is raised.

    Parameters
    ----------
    data
        A frame, the path of a file, or the URL of a table.
    recipe, **fields
        As in :func:`shoal.protect`.
    output
        Where the protected file would go; None: it is not checked.
    certify, force, save_recipe, report, evidence, receipt, holdout, holdout_to, engine, memory, population
        As in :func:`shoal.protect`.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 62, 60, 35, 61], "ill": list("abcabc")})
    >>> found = plan(people, quasi=["age"], confidential=["ill"], k=7, require={"p": 4})
    >>> [sentence.partition(",")[0] for sentence in found.refusals]
    ['Auto: k must be at most the number of records']
    """
    made = recipe_of(recipe, fields, plan)
    people = place(population) if is_place(population) else population
    if not is_place(data):
        refuse_with_frame("plan", "A frame is protected in memory.", engine=engine, memory=memory)
        return plan_frame(data, made, certify=certify, report=report is not None, population=people, holdout=holdout)
    refuse_half_a_holdout(holdout, holdout_to)
    source = input_place(data)
    side_files = SideFiles(
        path_or_none(save_recipe),
        path_or_none(report),
        "internal",
        path_or_none(evidence),
        path_or_none(receipt),
        path_or_none(holdout_to),
    )
    target = None if output is None else place(output)
    return plan_file(
        source,
        target,
        made,
        force=force,
        side_files=side_files,
        certify=certify,
        engine=engine,
        memory=memory,
        population=people,
        holdout=holdout,
    )
