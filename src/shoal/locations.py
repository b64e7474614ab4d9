"""Locations of tables: a file, or the target of a URL, shown without its credentials."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from shoal.errors import ParameterError

_URL = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)$", re.DOTALL)
_WITH_OPTIONS = re.compile(r"^(?P<path>.+\.\w+)\?(?P<options>\w+=.*)$", re.DOTALL)
_OWN = ("table", "query")  # other options after "?" are for the database
_OF_FILES = ("sheet",)  # other options after "?" are for the object store
_TYPED = "/:@%~!$&'()*+,;=[]"  # characters of an object's URL that stay as they are typed

#: Schemes of object stores.
STORES = ("s3", "gs", "gcs", "abfs", "abfss")
_HERE = ("", "localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Url:
    """The target of a URL: a database, or a file or folder in an object store.

    Attributes
    ----------
    scheme
        The part before ``://``, without a driver after a plus sign.
    address
        The URL without shoal's own options; it may hold a password, and is never shown.
    shown
        The form shown in messages.
    """

    scheme: str
    address: str = field(repr=False)
    shown: str

    def __str__(self) -> str:
        return self.shown

    @property
    def in_store(self) -> bool:
        """Whether it is in an object store."""
        return self.scheme in STORES

    @property
    def file(self) -> Path:
        """The file of a file-based database: the part after three slashes."""
        rest = self.address.partition("://")[2].partition("?")[0]
        if not rest.startswith("/") or len(rest) == 1:
            raise ParameterError(
                f"{self}: must name a file after three slashes. Write for example {self.scheme}:///people.db?table=survey."
            )
        return Path(rest[1:])

    @property
    def database(self) -> tuple[str, str]:
        """The identity of the database: equal for two URLs of the same one."""
        rest = self.address.partition("://")[2].partition("?")[0]
        if rest.startswith("/"):
            return "", os.path.realpath(rest[1:])
        host, _, name = rest.rpartition("@")[2].partition("/")
        where, _, port = host.rpartition(":") if re.search(r":\d*$", host) else (host, "", "")
        return f"{'' if where.lower() in _HERE else where.lower()}:{port}", name


@dataclass(frozen=True)
class Place:
    """The location of a table to read or write, and which one there: a sheet, a table, the result of a query."""

    at: Path | Url
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # a query may contain values
    folder: bool = False  #: it was written with a slash at the end, so it is a folder of files
    origin: Url | None = None  #: the place in an object store, if this is a local copy of it

    def __str__(self) -> str:
        return str(self.origin or self.at)

    @property
    def name(self) -> str:
        """Its name without folders, for documents that others read."""
        if isinstance(self.at, Path):
            return self.at.name
        if self.at.in_store:
            return unquote(self.at.shown.rstrip("/").rpartition("/")[2])
        return self.options.get("table", self.at.scheme)

    @property
    def stored(self) -> Url | None:
        """Its URL, if it is in an object store or a local copy from there."""
        return self.origin or (self.at if isinstance(self.at, Url) and self.at.in_store else None)


def beside(target: Place) -> Place:
    """Return the location of the second table: next to the first, named after its contents.

    >>> str(beside(Place(Path("out/safe.csv"))))
    'out/safe.confidential.csv'
    """
    if isinstance(target.at, Path):
        return replace(target, at=target.at.with_name(f"{target.at.stem}.confidential{target.at.suffix}"))
    table = target.options.get("table", "")
    name = f'{table[:-1]}_confidential"' if table.endswith('"') else f"{table}_confidential"
    shown = f"{target.at.shown.partition('?')[0]}?table={name}"
    return Place(Url(target.at.scheme, target.at.address, shown), {**target.options, "table": name})


def path_or_none(given: str | Path | None) -> Path | None:
    """Return a path; None where nothing is given."""
    return None if given is None else path(given)


def path(given: str | Path) -> Path:
    """Return a path; refuse values of other types."""
    if not isinstance(given, (str, Path)):
        raise ParameterError(f"A place must be a path, got a {type(given).__name__}. Give a text or a Path.")
    return Path(given)


def place(given: str | Path | Place) -> Place:
    """Parse a path or a URL.

    A URL begins with ``scheme://``. Options after ``?`` select the table, or the sheet of a file. A file with exactly
    that name takes precedence. A slash at the end says that it is a folder.

    >>> place("people.xlsx?sheet=Data").options
    {'sheet': 'Data'}
    >>> place("people/").folder
    True
    >>> str(place("postgresql://ann:secret@host/db?table=survey&sslmode=require"))
    'postgresql://ann:***@host/db?table=survey'
    >>> str(place("s3://key:secret@bucket/people/?region=eu-west-1"))
    's3://bucket/people/'
    """
    if isinstance(given, Place):
        return given
    if not isinstance(given, (str, Path)):
        raise ParameterError(f"A place must be a path or a URL, got a {type(given).__name__}. Give a text or a Path.")
    if isinstance(given, Path):
        return Place(given)
    if found := _URL.match(given):
        scheme = found["scheme"].lower()
        return (_store if scheme in STORES else _url)(scheme, found["rest"])
    found = _WITH_OPTIONS.match(given)
    if found is None or Path(given).exists():
        return Place(Path(given), folder=given.endswith(("/", os.sep)))
    return Place(Path(found["path"]), dict(parse_qsl(found["options"], keep_blank_values=True)))


def _url(scheme: str, rest: str) -> Place:
    """Parse a URL, separating the options of the database from those that select the table."""
    where, _, text = rest.partition("?")
    options = parse_qsl(text, keep_blank_values=True)
    own = {name: value for name, value in options if name in _OWN}
    others = [(name, value) for name, value in options if name not in _OWN]
    address = f"{scheme}://{where}" + (f"?{urlencode(others)}" if others else "")
    # an "@" after the "?" may be the end of a password that contains a "?": better to show too little
    shown = f"{scheme}://" + ("…" if "@" in text and "@" not in where else _without_password(where))
    if own:
        shown += f"?table={own['table']}" if "table" in own else "?query=…"  # a query may contain values
    return Place(Url(scheme.partition("+")[0], address, shown), own)


def _store(scheme: str, rest: str) -> Place:
    """Parse the URL of a file or folder in an object store; the options that select a sheet are those of the file."""
    where, _, text = rest.partition("?")
    options = parse_qsl(text, keep_blank_values=True)
    own = {name: value for name, value in options if name in _OF_FILES}
    others = urlencode([(name, value) for name, value in options if name not in _OF_FILES])
    address = f"{scheme}://{quote(where, safe=_TYPED)}" + (f"?{others}" if others else "")
    if "@" in text and "@" not in where:
        shown = "…"
    elif scheme.startswith("abfs"):
        shown = _without_password(where)  # the name before the "@" is that of the container
    else:
        shown = _without_password(where if not set(":@") & set(where.partition("/")[0]) else where.rpartition("@")[2])
    return Place(Url(scheme, address, f"{scheme}://{shown}"), own, folder=where.endswith("/"))


def _without_password(where: str) -> str:
    """Return the part before the options, with stars for the password.

    >>> _without_password("ann:a/b@c@host:5432/db")
    'ann:***@host:5432/db'
    """
    who, sign, rest = where.rpartition("@")
    if sign:
        user, colon, _ = who.partition(":")
        return f"{user}{':***' if colon else ''}@{rest}"
    host, slash, name = where.partition("/")
    if not host.startswith("[") and re.search(r":(?!\d*$)", host):  # no port: a password without its host
        return f"{host.partition(':')[0]}:***{slash}{name}"
    return where
