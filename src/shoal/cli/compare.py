"""``shoal compare``: information loss and disclosure risk of a masked file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._tables import print_json, print_readings, progress_bar
from shoal.errors import ParameterError
from shoal.recipe.fields import COLUMNS

SUMMARY = "Measure the information lost and the risk that remains."
EXAMPLE = "shoal compare people.csv safe.csv --columns birth,income"


@o.settings("confidential", "set", "seed", "kinds", "orders", "taxonomies")
def compare(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The original file or folder.")],
    masked: Annotated[str, typer.Argument(metavar="MASKED", help="The released file; same rows, same order.")],
    columns: Annotated[
        str | None, o.option("A,B,…", "Columns to compare. Default: the recipe's quasi-identifiers.", group=COLUMNS)
    ] = None,
    recipe: Annotated[Path | None, o.option("R.toml", "Recipe with the columns' kinds, orders and taxonomies.")] = None,
    strata: Annotated[
        str | None, o.option("A,B,…", "Columns to also compare within, e.g. region.", group=COLUMNS)
    ] = None,
    key: Annotated[
        str | None, o.option("COLUMN", "Column that matches records if the row order differs.", group=COLUMNS)
    ] = None,
    receipt: Annotated[
        Path | None, o.option("R.json", "Receipt of the run; matches rows that were shuffled.", group=o.OTHERS)
    ] = None,
    control: Annotated[
        str | None, o.option("FILE", "People left out of the release; risks become the excess over them.")
    ] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Rows do not correspond to the original's (synthetic data).")
    ] = False,
    measures: Annotated[
        str | None,
        o.option(
            "A,B,…", "Measures to compute; see shoal list measures.", usual="all", complete=o.keys_of("utility", "risk")
        ),
    ] = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Measure the information loss of a masked file and its disclosure risk, whichever tool made it."""
    import shoal

    if columns is None and recipe is None:
        raise ParameterError("compare: columns or recipe must be given, got neither. Name the columns: --columns A,B.")
    with progress_bar(quiet=json):
        readings = shoal.compare(
            original,
            masked,
            () if columns is None else o.names(columns),
            recipe=recipe,
            strata=o.names(strata),
            key=key,
            measures=o.names(measures),
            receipt=receipt,
            control=control,
            synthetic=synthetic,
            memory=memory,
            **o.read(given),
        )
    if json:
        print_json(readings.to_dict())
    else:
        print_readings(readings)
