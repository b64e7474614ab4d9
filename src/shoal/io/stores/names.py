"""Names of files in a published folder of an object store: parts of a generation, and marks of unfinished runs."""

from __future__ import annotations

import re

_PART = re.compile(r"part-\d{5,}-[0-9a-f]{16}\.\w+")
_MARKER = "_incomplete-"


def marked_suffix(generation: str, suffix: str) -> str:
    """Return the suffix of a generation's parts: two runs never write to the same object.

    >>> marked_suffix("0123456789abcdef", ".parquet")
    '-0123456789abcdef.parquet'
    """
    return f"-{generation}{suffix}"


def is_of_a_generation(name: str) -> bool:
    """Tell whether a file is a part that a run wrote to an object store.

    >>> is_of_a_generation("part-00000-0123456789abcdef.parquet"), is_of_a_generation("part-00000.parquet")
    (True, False)
    """
    return _PART.fullmatch(name) is not None


def marker(generation: str) -> str:
    """Return the name of the file that exists while a run is unfinished; readers of tables ignore it."""
    return f"{_MARKER}{generation}"


def is_marker(name: str) -> bool:
    """Tell whether a file marks an unfinished run."""
    return name.startswith(_MARKER)
