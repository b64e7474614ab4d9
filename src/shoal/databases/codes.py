"""What databases say by code, in words."""

from __future__ import annotations

from shoal.places import Url

_BUSY = "is in use by somebody else. Try again when they are done"
_DAMAGED = "is no SQLite database, or is damaged. Fetch it again"
_READ_ONLY = "may not be changed here. Ask for permission, or let the query only select"
_DENIED = "the database does not permit this to this user. Ask for permission"
_FULL = "could not be written, the disk or the quota is full. Free some space"
_DEPENDS = "something depends on the table, such as a view, so that it cannot be replaced. Choose another name"

#: SQLite's by name, PostgreSQL's by SQLSTATE, MySQL's and MariaDB's by number.
_CODES = {
    "SQLITE_BUSY": _BUSY,
    "55P03": _BUSY,
    "1205": _BUSY,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_READONLY": _READ_ONLY,
    "25006": _READ_ONLY,
    "1792": _READ_ONLY,
    "1290": _READ_ONLY,
    "42501": _DENIED,
    "1044": _DENIED,
    "1142": _DENIED,
    "SQLITE_FULL": _FULL,
    "53100": _FULL,
    "1021": _FULL,
    "1114": _FULL,
    "2BP01": _DEPENDS,
    "1217": _DEPENDS,
    "1451": _DEPENDS,
    "3730": _DEPENDS,
    "3F000": "there is no such schema. Create it, or choose another",
    "1049": "there is no such database. Create it, or choose another",
    "1060": "the names of columns must differ by more than capitals here. Rename one of those that do not",
    "1292": "must have times with a zone from 1970 to 2038 only, got others. Leave out the zone, or write a file",
}

#: What they say when somebody else was faster.
TAKEN = ("42P07", "23505", "42710", "1050")


def code(error: BaseException | None) -> str | None:
    """Return the code that a database gave an error."""
    first = error.args[0] if error is not None and error.args else None
    if isinstance(first, int):  # MySQL's, which tells more than its SQLSTATE
        return str(first)
    found = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    return None if found is None else str(found)


def sentence(url: Url, what: str, do: str, error: BaseException | None) -> str:
    """Return what went wrong in a sentence: by its code if it has one that is known, else what was being done."""
    found = code(error)
    if found in _CODES:
        return f"{url}: {_CODES[found]}."
    named = f"{type(error).__name__}{', ' + found if found else ''}"
    return f"{url}: {what} ({named}). {do}."
