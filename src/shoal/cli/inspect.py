"""``shoal inspect``: guessed roles and uniqueness of a table's columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._echo import echo
from shoal.cli._tables import console, print_json, print_table, progress_bar, shortened
from shoal.display.words import counted

if TYPE_CHECKING:
    from shoal.types import Combination, Inspection

SUMMARY = "Look at a file before it is protected."
EXAMPLE = "shoal inspect people.csv --recipe recipe.toml"
_SHOWN = 5  # pairs and triples; all are in the JSON
_WIDE = 100  # columns of a terminal that has room for a role and its reason side by side


@o.settings("reviewed")
def inspect(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to inspect, or the URL of a table.")],
    recipe: Annotated[Path | None, o.option("R.toml", "Write a starter recipe, ready to run.")] = None,
    force: Annotated[bool, o.option("", "Replace the recipe if it exists.", "--force")] = False,
    threads: o.Threads = None,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Inspect a file before protecting it: guess the role of each column, and count the records that are unique.

    Guesses use names and counts only. No value is shown.
    """
    import shoal

    with progress_bar(quiet=json):
        found = shoal.inspect(file, recipe=recipe, force=force, **o.read(given))
    if json:
        print_json(found.to_dict())
        return
    _print_columns(found)
    _print_combinations(found)
    if found.special is not None:
        echo(found.special.sentence)
    _print_unchanged(found)
    for note in found.notes:
        echo(note)
    if recipe is not None:
        echo(f"Starter recipe: {recipe}. Review it before you use it.")
    if found.refused:
        echo("The command needs the cells above to be corrected first.")
    if found.commands:
        echo("\n".join(["To protect the file, choose one of these commands:", *found.commands]))
    elif found.command:
        echo(f"To protect the file: {found.command}")


def _print_columns(found: Inspection) -> None:
    rows, wide = [], console().width >= _WIDE
    for guess in found.columns:
        missing = f"{100 * guess.missing / found.records:.1f} %" if guess.missing else ""
        name = f"{guess.name}: {guess.label}" if guess.label else guess.name
        why = (guess.role.value, guess.reason) if wide else (f"{guess.role.value}: {guess.reason}",)
        rows.append((name, guess.kind.value, missing, f"{guess.distinct:,}", *why))
    title = f"Columns of {counted(found.records, 'record')}, roles guessed"
    labelled = any(guess.label for guess in found.columns)
    why_heads = ("Role", "Why") if wide else ("Role, and why",)
    heads = ("Column: label" if labelled else "Column", "Kind", "Missing", "Distinct", *why_heads)
    print_table(title, heads, rows, right=(2, 3))


def _print_combinations(found: Inspection) -> None:
    """Print the records singled out by single columns, the worst pairs and triples, and all columns jointly."""

    def row(what: str, one: Combination) -> tuple[str, ...]:
        return what, f"{one.unique:,}", f"{100 * one.unique / found.records:.1f} %", f"{one.k:,}"

    rows: list[Sequence[str] | None] = []
    for size in (1, 2, 3):
        some = [row(", ".join(one.attributes), one) for one in found.combinations if len(one.attributes) == size]
        rows += [*shortened(some, _SHOWN), None]
    if (count := len(found.together.attributes)) > 3:
        rows.append(row(f"all {count} together", found.together))
    heads = ("Known to an attacker", "Unique", "Share", "k")
    print_table("Unique records", heads, rows, right=(1, 2, 3))
    if found.left_out:
        echo(f"Pairs and triples omit the {found.left_out:,} columns with the fewest distinct values.")


def _print_unchanged(seen: Inspection) -> None:
    """Print how many records are unique on columns that the guessed roles release unchanged."""
    found, roles = seen.unchanged, {guess.name: guess.role.value for guess in seen.columns}
    rows: list[Sequence[str] | None] = [
        (name, roles[name], f"{count:,}") for name, count in found.alone or () if name in found.unreviewed
    ]
    if rows:
        if len(rows) > 1:
            rows += [None, (f"all {len(rows):,} together", "", f"{found.unreviewed_unique:,}")]
        heads = ("Not reviewed", "Role", "Unique")
        print_table("Columns released unchanged and not reviewed", heads, rows, right=(2,))
    for sentence in found.figures:
        echo(sentence)
    if found.warning:
        echo(f"Warning: {found.warning}")
    if found.columns:
        echo("shoal protect also reports how many records each column makes unique within their class.")
