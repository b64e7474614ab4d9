"""Names of fields that would be taken for another's."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable


def lookalike(names: Iterable[str], known: Collection[str]) -> str | None:
    """Return the known name that one of `names` differs from only in case, blanks or the way accents are written.

    A field that nobody named leaves as it came: ``Name`` would, where ``name`` is an identifier.

    >>> lookalike(["age", " Name"], ["name", "age"]), lookalike(["names"], ["name"])
    ('name', None)
    """
    alike = {_plain(name): name for name in known}
    return next((alike[_plain(name)] for name in names if name not in known and _plain(name) in alike), None)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()
