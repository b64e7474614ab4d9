"""MySQL and MariaDB: session setup, and conversions that their driver lacks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types

from shoal.errors import DataError, data_rows

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


def described(connection: Any, table: str) -> list[tuple[str, str]]:
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
