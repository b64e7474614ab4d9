"""``shoal compare``: measure what a masked file lost."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import _options as o
from shoal.cli._show import print_json, print_readings, progress_bar


def compare(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The file as it was.")],
    masked: Annotated[str, typer.Argument(metavar="MASKED", help="The file as it left; same rows, same order.")],
    columns: Annotated[str, typer.Option(metavar="A,B,…", help="The columns to compare.")],
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
    """Measure what a masked file lost against its original, row by row, for shoal's output or anyone's."""
    import shoal

    with progress_bar(quiet=json):
        text = o.text_format(
            delimiter=delimiter, quote=quote, encoding=encoding, decimal=decimal, missing=missing, datetime=datetime
        )
        readings = shoal.compare_files(
            original,
            masked,
            o.names(columns),
            text,
            kinds=o.pairs("--kind", kind, last=True),
            taxonomies=o.pairs("--taxonomy", taxonomy),
            orders=o.orders(order),
        )
    if json:
        print_json(readings.to_dict())
    else:
        print_readings(readings)
