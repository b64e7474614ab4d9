"""``shoal compare``: measure what a masked file lost, and what an intruder gains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _options as o
from shoal.cli._tables import print_json, print_readings, progress_bar
from shoal.errors import ParameterError


def compare(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The file as it was.")],
    masked: Annotated[str, typer.Argument(metavar="MASKED", help="The released file; same rows, same order.")],
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="The columns to compare. Without: those a recipe calls quasi.")
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(metavar="R.toml", help="What the columns mean: kinds, orders, taxonomies.")
    ] = None,
    confidential: o.Confidential = None,
    strata: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Columns to look at changes within, such as regions.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Names records in both files, where rows have another order.")
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option(metavar="R.json", help="Receipt of the run; lines up rows that were shuffled.")
    ] = None,
    measures: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Only these; see shoal list measures.", show_default="all")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of a measure.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Where randomness starts, for measures that look at a sample.")] = 0,
    kind: o.Kinds = None,
    order: o.Orders = None,
    taxonomy: o.Taxonomies = None,
    delimiter: o.Delimiter = None,
    quote: o.Quote = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    missing: o.Missing = None,
    datetime: o.Datetime = None,
    json: o.Json = False,
) -> None:
    """Measure what a masked file lost and what an intruder gains, for shoal's output or anyone's."""
    import shoal

    if columns is None and recipe is None:
        raise ParameterError("compare: columns or recipe must be given, got neither. Name the columns: --columns A,B.")
    with progress_bar(quiet=json):
        text = o.text_format(
            delimiter=delimiter, quote=quote, encoding=encoding, decimal=decimal, missing=missing, datetime=datetime
        )
        readings = shoal.compare_files(
            original,
            masked,
            () if columns is None else o.names(columns),
            text,
            kinds=o.pairs("--kind", kind, last=True),
            taxonomies=o.pairs("--taxonomy", taxonomy),
            orders=o.orders(order),
            recipe=recipe,
            confidential=o.names(confidential),
            strata=o.names(strata),
            key=key,
            set=o.typed_settings(o.pairs("--set", set_)),
            seed=seed,
            measures=o.names(measures),
            receipt=receipt,
        )
    if json:
        print_json(readings.to_dict())
    else:
        print_readings(readings)
