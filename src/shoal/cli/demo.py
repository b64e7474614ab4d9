"""``shoal demo``: a synthetic survey, protected step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli._echo import echo
from shoal.cli._tables import print_sentences, print_table, progress_bar

if TYPE_CHECKING:
    from shoal import Demonstration

SUMMARY = "See it work: protect a synthetic survey."
EXAMPLE = "shoal demo"


def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the files.")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace the files of an earlier run.")] = False,
) -> None:
    """Write a synthetic survey of 5,000 people in households, protect it, and print the audit and the loss."""
    import shoal

    with progress_bar():
        shown = shoal.demo(folder, force=force)
    _print_verdict(shown)
    print_sentences(shown.done.audit)
    _print_strata(shown)
    _print_household(shown)
    _print_loss(shown)
    original, taxonomy, recipe, protected = shown.files
    echo(f"The survey          {original}")
    echo(f"Its occupations     {taxonomy}")
    echo(f"How, as a recipe    {recipe}")
    echo(f"Protected, audited  {protected}")
    echo("")
    echo(f"Repeat it yourself: shoal protect {original} -o {folder / 'again.csv'} --recipe {recipe}")


def _print_verdict(shown: Demonstration) -> None:
    """Print whether the released file has the k that the recipe requires, over all quasi-identifiers."""
    found = shown.done.audit.overall
    required, achieved = found.levels
    verdict = "holds" if found.holds else "does not hold"
    columns = ", ".join(shown.done.audit.quasi)
    echo(f"Audit of the written file: k-anonymity over {columns} {verdict}.")
    echo(f"Required k {required}, achieved {achieved}, counted in households; {found.classes:,} classes.")


def _print_strata(shown: Demonstration) -> None:
    """Print the audit of each region: the smallest class in households, in people, and by weight."""
    rows = []
    for one in shown.strata:
        counts = (one.records, one.households, one.classes, one.k, one.k_people)
        rows.append((one.name, *(f"{count:,}" for count in counts), f"{one.weighted_k:,.1f}"))
    heads = ("Region", "People", "Households", "Classes", "k", "k in people", "weighted k")
    print_table("Region by region, k in households", heads, rows, right=range(1, 7))


def _print_household(shown: Demonstration) -> None:
    """Print each member of one household, as surveyed and as released."""
    rows = []
    for place, pair in enumerate(zip(shown.before.to_pylist(), shown.after.to_pylist(), strict=True), 1):
        for state, record in zip(("before", "released"), pair, strict=True):
            rows.append((str(place), state, *map(_cell, record.values())))
    print_table("One household, before and after", ("Member", "", *shown.before.column_names), rows, whole=(0,))
    level = ", ".join(shown.done.recipe.household_level)
    echo(f"household_level: {level} get one value for the whole household, other columns one per person.")


def _print_loss(shown: Demonstration) -> None:
    """Print the loss, the columns it covers, and the columns that were removed instead."""
    recipe = shown.done.recipe
    loss = next(reading for reading in shown.done.printed.readings if reading.name == "il_sse")
    echo(f"Loss: {loss.value:.3g} % of the variation of {', '.join(recipe.quasi)} (il_sse).")
    echo(f"Removed, so not part of the loss: {', '.join(recipe.identifier)}.")


def _cell(value: Any) -> str:
    if value is None:
        return "(missing)"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
