"""SQL databases through SQLAlchemy: URL connections, with errors that hold neither password nor value."""

from __future__ import annotations

import datetime as dt
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyarrow import types

from shoal.errors import DataError, EngineError, ParameterError, ShoalError, data_rows
from shoal.io.databases.tables import TableName
from shoal.locations import Url
from shoal.registry import package

_DAY = dt.timedelta(days=1)

#: First statements of a session: timestamps are exchanged in UTC, and locks time out soon.
SESSION = ("SET time_zone = '+00:00'", "SET SESSION lock_wait_timeout = 10")
#: Further statements before writing: a value that does not fit is an error, not truncated. Reading needs none.
WRITING = ("SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION')",)
READING = ("SET SESSION TRANSACTION READ ONLY",)


def is_mysql(dialect: Any) -> bool:
    """Tell whether a SQLAlchemy dialect is that of MySQL or MariaDB."""
    return str(dialect.name) in ("mysql", "mariadb")


def begin_session(connection: Any, *, write: bool) -> None:
    """Set up the session; `connection` is the driver's."""
    with connection.cursor() as cursor:
        for statement in (*SESSION, *(WRITING if write else READING)):
            cursor.execute(statement)


def mysql_described(connection: Any, table: str) -> list[tuple[str, str]]:
    """Return the columns of a table or view, each with MySQL's type name; empty if it does not exist."""
    import sqlalchemy as sa

    try:
        rows = connection.exec_driver_sql(f"SHOW COLUMNS FROM {table}").fetchall()
    except sa.exc.DBAPIError as error:
        if error.orig is not None and error.orig.args[:1] == (1146,):
            return []
        raise
    return [(row[0], row[1]) for row in rows]


def selected(column: str, declared: str) -> str:
    """Return the select expression of a column: MySQL shows floats with six digits and bits as bytes unless computed.

    >>> selected("`x`", "FLOAT(7, 2)"), selected("`x`", "DOUBLE")
    ('`x` * 1e0', '`x`')
    """
    name = declared.upper().partition("(")[0].split(" ")[0]
    return {"FLOAT": f"{column} * 1e0", "BIT": f"{column} + 0"}.get(name, column)


def arrow_type(declared: str) -> pa.DataType | None:
    """Return the Arrow type of a declaration with a special meaning here, or None.

    >>> arrow_type("TINYINT(1)"), arrow_type("int(10) unsigned"), arrow_type("TIMESTAMP(6)")
    (DataType(bool), DataType(uint32), TimestampType(timestamp[us, tz=UTC]))
    """
    text = declared.upper()
    name = text.partition("(")[0].split(" ")[0]
    if "UNSIGNED" in text:
        sizes = {"TINYINT": pa.uint8(), "SMALLINT": pa.uint16(), "MEDIUMINT": pa.uint32(), "INT": pa.uint32()}
        return {**sizes, "BIGINT": pa.uint64()}.get(name)
    if text in ("TINYINT(1)", "BOOL", "BIT", "BIT(1)"):
        return pa.bool_()
    return {
        "TINYINT": pa.int8(),
        "YEAR": pa.int16(),
        "BIT": pa.uint64(),
        "FLOAT": pa.float32(),
        "TIMESTAMP": pa.timestamp("us", "UTC"),
    }.get(name)


def types_found(cursor: Any) -> list[pa.DataType | None]:
    """Return the types of a query's columns by the driver's numbers: dates and times; others follow the values."""
    moments = {7: pa.timestamp("us", "UTC"), 10: pa.date32(), 11: pa.time64("us"), 12: pa.timestamp("us")}
    return [moments.get(column[1]) for column in cursor.description or ()]


def values(owner: object, name: str, held: Sequence[Any], kind: pa.DataType | None) -> Sequence[Any]:
    """Return the values of a column as other drivers would return them.

    Raises
    ------
    DataError
        If a date is invalid: MySQL can store 0000-00-00, which is neither a date nor a missing value.
    """
    if kind is None or not types.is_temporal(kind):
        return held
    if wrong := [row for row, value in enumerate(held) if isinstance(value, str)]:
        raise DataError(
            f"{owner}: column {name!r} holds dates that do not exist, such as those with year or month 0, in "
            f"{data_rows(wrong)}. Replace them by NULL, there or in a query."
        )
    if types.is_timestamp(kind) and kind.tz is not None:
        return [None if value is None else value.replace(tzinfo=dt.UTC) for value in held]
    spans = [value for value in held if isinstance(value, dt.timedelta)]
    if types.is_time(kind) and all(dt.timedelta(0) <= value < _DAY for value in spans):
        return [None if value is None else (dt.datetime.min + value).time() for value in held]
    return held


#: Meanings of errors and their codes: SQLite's by name, PostgreSQL's by SQLSTATE, MySQL's and MariaDB's by number.
_MEANINGS = {
    "is in use by another program. Try again when it has finished": ("SQLITE_BUSY", "55P03", "1205"),
    "is not a SQLite database, or is damaged. Get a new copy": ("SQLITE_NOTADB", "SQLITE_CORRUPT"),
    "may not be changed here. Ask for permission, or use a query that only selects": (
        "SQLITE_READONLY", "25006", "1792", "1290",
    ),
    "the database does not allow this user to do this. Ask for permission": ("42501", "1044", "1142"),
    "could not be written (the disk or the quota is full). Free some space": ("SQLITE_FULL", "53100", "1021", "1114"),
    "something depends on the table, such as a view, so that it cannot be replaced. Choose another name": (
        "2BP01", "1217", "1451", "3730",
    ),
    "there is no such schema. Create it, or choose another": ("3F000",),
    "there is no such database. Create it, or choose another": ("1049",),
    "column names must differ by more than upper and lower case here. Rename one of each pair": ("1060",),
    "must have times with a zone from 1970 to 2038 only, got others. Leave out the zone, or write a file": ("1292",),
}  # fmt: skip
_CODES = {code: words for words, codes in _MEANINGS.items() for code in codes}

#: Codes for a conflict with another session.
TAKEN = ("42P07", "23505", "42710", "1050")


def code(error: BaseException | None) -> str | None:
    """Return the database's code for an error."""
    first = error.args[0] if error is not None and error.args else None
    if isinstance(first, int):  # MySQL's own, which is more specific than its SQLSTATE
        return str(first)
    found = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    return None if found is None else str(found)


def sentence(url: Url, what: str, do: str, error: BaseException | None) -> str:
    """Describe an error in a sentence: by its code if that is known, else by what was being done."""
    found = code(error)
    if found in _CODES:
        return f"{url}: {_CODES[found]}."
    named = f"{type(error).__name__}{', ' + found if found else ''}"
    return f"{url}: {what} ({named}). {do}."


_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}

_CHECK = "Check that the database is running and accepts this user, and check the names in the URL"


@contextmanager
def connected(url: Url, *, write: bool, file: Path | None = None) -> Iterator[Any]:
    """Yield a SQLAlchemy connection; uncommitted work is rolled back when the block ends.

    Parameters
    ----------
    url
        The database.
    write
        Whether to write; if not, the session is made read-only.
    file
        A file other than the URL's, for a file-based database that does not exist yet.
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
        engine = sa.create_engine(address, hide_parameters=True, poolclass=sa.pool.NullPool)
    except (sa.exc.ArgumentError, ValueError):
        raise ParameterError(
            f"{url}: is not the URL of a database. Write {url.scheme}://user@host:port/database?table=name, with "
            "characters such as @, / and ? in a password as %40, %2F and %3F."
        ) from None
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"{url}: needs the driver {error.name}. Install it with pip install "
            f"{'shoal[sql]' if url.scheme in _DRIVERS else error.name}."
        ) from None
    if is_mysql(engine.dialect):
        sa.event.listen(engine, "connect", lambda driver, _: begin_session(driver, write=write))
    return engine


def _sqlite(sa: Any, file: Path, *, write: bool) -> Any:
    """Return an engine for an existing SQLite file; SQLite itself would create one."""
    if file.is_dir():
        raise DataError(f"{file}: must be a file, got a folder. Name a file in it.")
    if not file.exists():
        raise DataError(f"{file}: there is no such file. Check the path.")
    place = f"file:{quote(str(file))}?mode={'rw' if write else 'ro'}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)

    engine = sa.create_engine("sqlite://", creator=connect, hide_parameters=True, poolclass=sa.pool.NullPool)
    begin = "BEGIN IMMEDIATE" if write else "BEGIN"  # Python's module would begin only after tables were created
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


@contextmanager
def said(url: Url, what: str, do: str = _CHECK) -> Iterator[None]:
    """Turn database errors inside the block into sentences; their own text may contain values."""
    import sqlalchemy as sa

    try:
        yield
    except ShoalError:
        raise
    except sa.exc.DBAPIError as error:
        raise EngineError(sentence(url, what, do, error.orig)) from None
    except (sa.exc.SQLAlchemyError, sqlite3.Error, UnicodeError) as error:  # UnicodeError: text with a wrong encoding
        raise EngineError(sentence(url, what, do, error)) from None


def quoted(connection: Any, table: TableName) -> str:
    """Return the quoted name of a table, for statements in which the driver interprets percent signs."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    return ".".join(quote(part) for part in (table.schema, table.name) if part is not None)


def described(connection: Any, url: Url, table: TableName) -> list[tuple[str, str]]:
    """Return the columns of a table, each with its declared type name.

    Raises
    ------
    DataError
        If there is no such table.
    """
    import sqlalchemy as sa

    inspector = sa.inspect(connection)
    if url.scheme == "sqlite":  # types in SQLite are arbitrary text
        rows = connection.exec_driver_sql(f"PRAGMA table_xinfo({TableName(table.name).quoted()})").fetchall()
        found = [(row[1], row[2]) for row in rows if row[6] != 1]  # skip hidden columns of virtual tables
    elif is_mysql(connection.dialect):  # SQLAlchemy does not read all of its names and types
        found = mysql_described(connection, quoted(connection, table))
    else:
        try:
            with warnings.catch_warnings(action="ignore"):  # about types that SQLAlchemy does not know
                columns = inspector.get_columns(table.name, schema=table.schema)
        except sa.exc.NoSuchTableError:
            columns = []
        found = [(column["name"], _declared(column["type"], connection.dialect)) for column in columns]
    if not found:
        raise DataError(
            f"{url}: there is no such table. Check its schema, and its name, which is used exactly as written."
        )
    return found


def _declared(kind: Any, dialect: Any) -> str:
    import sqlalchemy as sa

    try:
        return str(kind.compile(dialect=dialect))
    except sa.exc.SQLAlchemyError:  # a type that SQLAlchemy does not know
        return ""
