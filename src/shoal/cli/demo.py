"""``shoal demo``: a synthetic survey, protected step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli._tables import print_audit, print_losses, print_schema, print_table, progress_bar

if TYPE_CHECKING:
    from shoal import Demonstration

SUMMARY = "Protect a synthetic survey, step by step."
EXAMPLE = "shoal demo"


def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the files.")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace the files of an earlier run.")] = False,
) -> None:
    """Write a synthetic survey of 5,000 people in households, protect it, and print the audit and the loss."""
    import shoal

    with progress_bar():
        shown = shoal.demo(folder, force=force)
    print_schema(shown.done.schema, shown.done.partition, shown.done.recipe.release, shown.done.recipe.release_weight)
    print_audit(shown.done.audit)
    _print_strata(shown)
    _print_household(shown)
    print_losses(shown.done.printed)
    original, taxonomy, recipe, protected = shown.files
    typer.echo(f"The survey          {original}")
    typer.echo(f"Its occupations     {taxonomy}")
    typer.echo(f"How, as a recipe    {recipe}")
    typer.echo(f"Protected, audited  {protected}")
    typer.echo("")
    typer.echo(f"The same by hand:   shoal protect {original} -o {folder / 'again.csv'} --recipe {recipe}")


def _print_strata(shown: Demonstration) -> None:
    """Print the audit of each region: the smallest class in households, in people, and by weight."""
    rows = []
    for one in shown.strata:
        counts = (one.records, one.households, one.classes, one.k, one.k_people)
        rows.append((one.name, *(f"{count:,}" for count in counts), f"{one.weighted_k:,.1f}"))
    heads = ("Region", "People", "Households", "Classes", "k", "k in people", "weighted k")
    print_table("Region by region, k in households", heads, rows, right=range(1, 7))


def _print_household(shown: Demonstration) -> None:
    """Print one household of the survey, and its released values."""
    heads = ("Column", *(f"Member {place + 1}" for place in range(shown.before.num_rows)), "Released")
    rows = []
    for name in shown.before.column_names:
        after = shown.after[name].unique().to_pylist()
        cells = [*shown.before[name].to_pylist(), after[0] if len(after) == 1 else f"{len(after)} values"]
        rows.append((name, *map(_cell, cells)))
    print_table("One household, before and after", heads, rows, whole=(0,))


def _cell(value: Any) -> str:
    if value is None:
        return "(missing)"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
