"""``shoal inspect``: look at a table that nobody has described yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._tables import console, print_json, progress_bar

if TYPE_CHECKING:
    from shoal.types import Inspection, Unchanged

_SHOWN = 5  # pairs and triples; all are in the JSON


@o.settings("reviewed")
def inspect(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to look at, or the URL of a table.")],
    recipe: Annotated[
        Path | None, typer.Option(metavar="R.toml", help="Write a recipe to begin with, which runs as it is.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the recipe if it exists.")] = False,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Look at a file before it is protected: what its columns seem to be and why, how many people they single out.

    Guesses are by names and counts. No value is shown.
    """
    import shoal

    with progress_bar(quiet=json):
        found = shoal.inspect_file(file, recipe=recipe, force=force, **o.read(given))
    if json:
        print_json(found.to_dict())
        return
    _print_columns(found)
    _print_combinations(found)
    _print_unchanged(found.unchanged)
    if recipe is not None:
        typer.echo(f"A recipe to begin with: {recipe}. Read it before you use it.")


def _print_columns(found: Inspection) -> None:
    from rich.table import Table

    title = f"Columns of {found.records:,} records, roles guessed"
    table = Table("Column", "Kind", "Missing", "Different", "Role", "Why", title=title, title_justify="left")
    for at in (2, 3):
        table.columns[at].justify = "right"
    table.columns[0].overflow = "fold"
    table.columns[4].no_wrap = True
    for guess in found.columns:
        missing = f"{100 * guess.missing / found.records:.1f} %" if guess.missing else ""
        table.add_row(guess.name, guess.kind.value, missing, f"{guess.distinct:,}", guess.role.value, guess.reason)
    console().print(table)


def _print_combinations(found: Inspection) -> None:
    """Print what single columns, the worst pairs and triples, and all together single out."""
    from rich.table import Table

    title = "Records that stand alone"
    table = Table("Known to an intruder", "Alone", "Share", "k", title=title, title_justify="left")
    for at in (1, 2, 3):
        table.columns[at].justify = "right"
    table.columns[0].overflow = "fold"
    for size in (1, 2, 3):
        rows = [one for one in found.combinations if len(one.attributes) == size]
        for one in rows[:_SHOWN]:
            share = f"{100 * one.unique / found.records:.1f} %"
            table.add_row(", ".join(one.attributes), f"{one.unique:,}", share, f"{one.k:,}")
        if len(rows) > _SHOWN:
            table.add_row(f"… {len(rows) - _SHOWN:,} more", "", "", "")
        table.add_section()
    one = found.together
    share = f"{100 * one.unique / found.records:.1f} %"
    if len(one.attributes) > 3:
        table.add_row(f"all {len(one.attributes)} together", f"{one.unique:,}", share, f"{one.k:,}")
    console().print(table)
    if found.left_out:
        typer.echo(f"Pairs and triples leave out the {found.left_out:,} columns with the fewest different values.")


def _print_unchanged(found: Unchanged) -> None:
    """Print how many records are unique by columns that the guessed roles release unchanged."""
    for sentence in found.figures:
        typer.echo(sentence)
    if found.warning:
        typer.echo(f"Warning: {found.warning}")
    if found.columns:
        typer.echo("How many records each column makes unique within their class: see shoal protect.")
