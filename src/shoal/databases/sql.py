"""Any SQL database, through SQLAlchemy: reached by URL, failing in sentences that hold neither password nor value."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shoal.databases.tables import TableName
from shoal.errors import DataError, EngineError, ParameterError, ShoalError
from shoal.places import Url
from shoal.registry import package

#: The databases that SQLAlchemy knows without more packages than their driver.
SCHEMES = ("sqlite", "postgresql", "postgres", "mysql", "mariadb", "oracle", "mssql")
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}

_CHECK = "Check that the database runs and lets this user in, and the names in the URL"

#: What databases say by code, in words.
_CODES = {
    "SQLITE_BUSY": "is in use by somebody else. Try again when they are done",
    "55P03": "is in use by somebody else. Try again when they are done",
    "SQLITE_NOTADB": "is no SQLite database, or is damaged. Fetch it again",
    "SQLITE_CORRUPT": "is no SQLite database, or is damaged. Fetch it again",
    "SQLITE_READONLY": "may not be changed here. Ask for permission, or let the query only select",
    "25006": "may not be changed here. Ask for permission, or let the query only select",
    "42501": "the database does not permit this to this user. Ask for permission",
    "SQLITE_FULL": "could not be written, the disk or the quota is full. Free some space",
    "53100": "could not be written, the disk or the quota is full. Free some space",
    "2BP01": "something depends on the table, such as a view, so that it cannot be replaced. Choose another name",
    "3F000": "there is no such schema. Create it, or choose another",
}


@contextmanager
def connected(url: Url, *, write: bool, file: Path | None = None) -> Iterator[Any]:
    """Give a connection of SQLAlchemy; what is not committed inside the block is undone.

    Parameters
    ----------
    url
        Which database.
    write
        Whether something is to be written; else the database is asked to permit nothing of the kind.
    file
        Another file than the URL's, for a database that is a file and is not there yet.
    """
    sa = package("sqlalchemy", "sql", url)
    with said(url, "could not be reached"):
        engine = _engine(sa, url, write=write, file=file)
        try:
            with closing(engine.connect()) as connection:
                if not write and url.scheme.startswith("postgres"):
                    connection.execution_options(postgresql_readonly=True)
                yield connection
        finally:
            engine.dispose()


def _engine(sa: Any, url: Url, *, write: bool, file: Path | None) -> Any:
    if url.scheme == "sqlite":
        return _sqlite(sa, file or url.file, write=write)
    scheme, _, rest = url.address.partition("://")
    try:
        address = sa.make_url(f"{_DRIVERS.get(scheme, scheme)}://{rest}")
        return sa.create_engine(address, hide_parameters=True, poolclass=sa.pool.NullPool)
    except (sa.exc.ArgumentError, ValueError):
        raise ParameterError(
            f"{url}: is no URL of a database. Write {url.scheme}://user@host:port/database?table=name, with signs such "
            "as @, / and ? in a password as %40, %2F and %3F."
        ) from None
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"{url}: needs the driver {error.name}. Install it with pip install "
            f"{'shoal[sql]' if url.scheme.startswith('postgres') else error.name}."
        ) from None


def _sqlite(sa: Any, file: Path, *, write: bool) -> Any:
    """Return an engine for a file of SQLite that is there; SQLite itself would make one."""
    if file.is_dir():
        raise DataError(f"{file}: must be a file, got a folder. Name a file in it.")
    if not file.exists():
        raise DataError(f"{file}: there is no such file. Check the path.")
    place = f"file:{quote(str(file))}?mode={'rw' if write else 'ro'}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)

    engine = sa.create_engine("sqlite://", creator=connect, hide_parameters=True, poolclass=sa.pool.NullPool)
    begin = "BEGIN IMMEDIATE" if write else "BEGIN"  # Python's module would begin only after tables were made
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


@contextmanager
def said(url: Url, what: str, do: str = _CHECK) -> Iterator[None]:
    """Say in a sentence what goes wrong with a database inside the block; its own words may hold values."""
    import sqlalchemy as sa

    try:
        yield
    except ShoalError:
        raise
    except sa.exc.DBAPIError as error:
        raise EngineError(_sentence(url, what, do, error.orig)) from None
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        raise EngineError(_sentence(url, what, do, error)) from None


def code(error: BaseException | None) -> str | None:
    """Return the code that a database gave an error."""
    found = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    return None if found is None else str(found)


def _sentence(url: Url, what: str, do: str, error: BaseException | None) -> str:
    found = code(error)
    if found in _CODES:
        return f"{url}: {_CODES[found]}."
    named = f"{type(error).__name__}{', ' + found if found else ''}"
    return f"{url}: {what} ({named}). {do}."


def described(connection: Any, url: Url, table: TableName) -> list[tuple[str, str]]:
    """Return the columns of a table, each with the type that the database declares, in its words.

    Raises
    ------
    DataError
        If there is no such table.
    """
    import sqlalchemy as sa

    inspector = sa.inspect(connection)
    if url.scheme == "sqlite":  # whose types are whatever somebody wrote
        rows = connection.exec_driver_sql(f"PRAGMA table_xinfo({TableName(table.name).quoted()})").fetchall()
        found = [(row[1], row[2]) for row in rows if row[6] != 1]  # not what virtual tables hide
    else:
        try:
            columns = inspector.get_columns(table.name, schema=table.schema)
        except sa.exc.NoSuchTableError:
            columns = []
        found = [(column["name"], _declared(column["type"], connection.dialect)) for column in columns]
    if not found:
        raise DataError(
            f"{url}: there is no such table. Check its name, which is taken as it is written, and its schema."
        )
    return found


def _declared(kind: Any, dialect: Any) -> str:
    import sqlalchemy as sa

    try:
        return str(kind.compile(dialect=dialect))
    except sa.exc.SQLAlchemyError:  # a type that SQLAlchemy does not know
        return ""
