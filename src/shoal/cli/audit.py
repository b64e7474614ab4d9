"""``shoal audit``: find what really holds of a table, ours or not."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import _options as o
from shoal.cli._tables import print_audit, print_json, progress_bar


def audit(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to audit, or the URL of a table.")],
    quasi: Annotated[str, typer.Option(metavar="A,B,…", help="Quasi-identifiers: what an intruder may know.")],
    confidential: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Confidential columns, for the models that look at them.")
    ] = None,
    subject: o.Subject = None,
    subject_exact: o.SubjectExact = False,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Sampling weights; what the smallest class weighs is reported.")
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(metavar="MODEL=LEVEL,…", help="What must hold, e.g. k=5,l_entropy=3,e:pay=900; else exit code 4."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=KIND", help="The kind of a confidential column, if the inferred is wrong."),
    ] = None,
    delimiter: o.Delimiter = None,
    quote: o.Quote = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    missing: o.Missing = None,
    datetime: o.Datetime = None,
    json: o.Json = False,
) -> None:
    """Find what really holds of a file as it is written: the smallest class over its quasi-identifiers, and for each
    confidential column how much its classes give away, in every model there is (shoal list models).

    Exit code 4 if something required does not hold.
    """
    import shoal

    with progress_bar(quiet=json):
        found = shoal.audit_file(
            file,
            o.names(quasi),
            o.names(confidential),
            subject,
            o.requirements(require),
            o.text_format(
                delimiter=delimiter, quote=quote, encoding=encoding, decimal=decimal, missing=missing, datetime=datetime
            ),
            o.pairs("--kind", kind, last=True),
            weight=weight,
            subject_exact=subject_exact,
        )
    if json:
        print_json(found.to_dict())
    else:
        print_audit(found)
    if not found.holds:
        raise typer.Exit(4)
