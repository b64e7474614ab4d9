"""``shoal demo``: a synthetic survey, protected before your eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli._show import print_audit, print_readings, print_schema, progress_bar
from shoal.errors import EngineError, ParameterError

_RECIPE = {
    "quasi": ["birth", "income", "commute_minutes"],
    "confidential": ["health"],
    "identifier": ["person", "household"],
    "weight": "weight",
    "strata": ["region"],
    "k": 5,
    "set": {"round_integers": True},
}


def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go.")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace the files of an earlier run.")] = False,
) -> None:
    """Write a synthetic survey of 5,000 people, protect it, and print the audit and the loss."""
    import shoal

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"demo: {folder} cannot be made a folder ({error.strerror}). Name another.") from None
    original, protected, recipe_file = (folder / name for name in ("survey.csv", "protected.csv", "recipe.toml"))
    for path in (original, protected, recipe_file):
        if path.exists() and not force:
            raise ParameterError(f"{path}: exists already; give --force to replace it, or another folder.")
    recipe = shoal.Recipe.from_dict(_RECIPE)
    with progress_bar():
        shoal.write_table(shoal.survey(), original, force=True)
        done = shoal.protect_file(original, protected, recipe, force=True)
        shoal.save_recipe(recipe, recipe_file, force=True)
    print_schema(done.schema, done.partition, done.recipe.release)
    print_audit(done.audit)
    print_readings(done.readings)
    typer.echo(f"The survey          {original}")
    typer.echo(f"Protected, audited  {protected}")
    typer.echo(f"How, as a recipe    {recipe_file}")
    typer.echo("")
    typer.echo(f"The same by hand:   shoal protect {original} -o {folder / 'again.csv'} --recipe {recipe_file}")
