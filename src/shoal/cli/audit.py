"""``shoal audit``: find what really holds of a table, ours or not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._show import print_audit, print_json, progress_bar
from shoal.errors import ParameterError

_EXAMPLES = {"t": "0.2", "t_closeness": "0.2", "n_t": "200:0.1", "n_t_closeness": "200:0.1"}


def audit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to audit.")],
    quasi: Annotated[str, typer.Option(metavar="A,B,…", help="Quasi-identifiers: what an intruder may know.")],
    confidential: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Confidential columns, for the models that look at them.")
    ] = None,
    subject: o.Subject = None,
    require: Annotated[
        str | None, typer.Option(metavar="MODEL=LEVEL,…", help="What must hold, e.g. k=5,t=0.2; else exit code 4.")
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
    """Find what really holds of a file as it is written: the smallest class over its quasi-identifiers, and how far
    classes are from the whole table in confidential columns.

    Exit code 4 if something required does not hold.
    """
    required = {name: _level(name, text) for name, text in o.pairs("--require", list(o.names(require))).items()}
    if require is not None and not required:
        raise ParameterError("--require: must be model=level, got nothing. Write for example --require k=5.")
    import shoal

    with progress_bar(quiet=json):
        found = shoal.audit_file(
            file,
            o.names(quasi),
            o.names(confidential),
            subject,
            required,
            o.text_format(
                delimiter=delimiter, quote=quote, encoding=encoding, decimal=decimal, missing=missing, datetime=datetime
            ),
            o.pairs("--kind", kind, last=True),
        )
    if json:
        print_json(found.to_dict())
    else:
        print_audit(found)
    if not found.holds:
        raise typer.Exit(4)


def _level(name: str, text: str) -> Any:
    """Read a level: a number, or several with colons between them."""
    parts = [_number(name, part) for part in text.split(":")]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _number(name: str, text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        raise ParameterError(
            f"--require: {name} must be a number, got {text!r}. Write for example --require {name}="
            f"{_EXAMPLES.get(name, '5')}."
        ) from None
    return int(level) if level.is_integer() else level
