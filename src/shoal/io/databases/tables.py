"""Names of database tables, and tables staged before they get their name."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import ParameterError
from shoal.locations import Url

_PART = r'(?:"((?:[^"]|"")+)"|([^."]+))'
_NAME = re.compile(rf"^(?:{_PART}\.)?{_PART}$")


@dataclass(frozen=True)
class TableName:
    """The name of a table, with its schema unless that is the default one.

    Names are taken literally; a name that contains a dot is written in double quotes.

    >>> TableName.read("survey", 'census."a.b"')
    TableName(name='a.b', schema='census')
    """

    name: str
    schema: str | None = None

    @classmethod
    def read(cls, owner: object, text: str | None) -> TableName:
        """Parse ``name`` or ``schema.name``."""
        found = _NAME.match(text or "")
        if found is None:
            raise ParameterError(
                f"{owner}: must name one table, as in ?table=survey or ?table=schema.survey. Put a name that holds a "
                'dot into quotes: ?table="a.b".'
            )
        schema, name = (found[i].replace('""', '"') if found[i] else found[i + 1] for i in (1, 3))
        return cls(name, schema)

    @property
    def hidden(self) -> TableName:
        """An unguessable name in the same schema."""
        return TableName(f"shoal_{secrets.token_hex(8)}", self.schema)

    def quoted(self) -> str:
        """Return the name in double quotes, as in SQL."""
        return ".".join('"' + part.replace('"', '""') + '"' for part in (self.schema, self.name) if part is not None)


@dataclass(frozen=True)
class StagedTable:
    """A table without its final name, in a transaction that only its own connection sees."""

    scheme: str
    url: Url
    connection: Any = field(repr=False)
    table: TableName


def exists_already(url: Url) -> ParameterError:
    """Return the error for a table that would be replaced."""
    return ParameterError(f"{url}: already exists; give --force to replace it, or another name.")
