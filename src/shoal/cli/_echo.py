"""Text on a terminal, without control characters: names of columns and files must not command it."""

from __future__ import annotations

import typer

from shoal.display.words import plain


def echo(text: str, *, err: bool = False) -> None:
    """Print text on standard output, or on standard error."""
    typer.echo(harmless(text), err=err)


def harmless(text: str) -> str:
    """Replace control and direction characters, except for line breaks.

    >>> harmless("pay\\x1b[31m\\nage")
    'pay�[31m\\nage'
    """
    return "\n".join(map(plain, text.split("\n")))
