"""SQL tables for a release: column types, values for the driver, and publishing under the final name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from shoal.errors import DataError, ParameterError, raise_all
from shoal.io.databases.sql import TAKEN, code, is_mysql, quoted
from shoal.io.databases.tables import StagedTable, TableName, exists_already
from shoal.io.sinks._text_cells import to_text
from shoal.locations import Url
from shoal.types import Dialect

_RIGHTS = """
SELECT CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END,
       acl.privilege_type, acl.is_grantable
FROM pg_class AS c, aclexplode(c.relacl) AS acl WHERE c.oid = to_regclass(%(name)s)
"""
_TABLE = """
SELECT quote_ident(pg_get_userbyid(relowner)), relrowsecurity, relkind FROM pg_class WHERE oid = to_regclass(%(name)s)
"""


def inherit(connection: Any, url: Url, old: TableName, new: TableName) -> None:
    """Give a new table the owner and the privileges of the one that it will replace, in PostgreSQL.

    SQLite has neither; in MySQL and MariaDB privileges belong to a name, whatever table has it.

    Raises
    ------
    ParameterError
        If the old table has row-level security, which the new one would lack, or is not a plain table.
    """
    if connection.dialect.name != "postgresql":
        return
    connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'")  # the old table may be in use for hours
    owner, by_row, kind = connection.exec_driver_sql(_TABLE, {"name": old.quoted()}).one()
    if by_row or kind != "r":
        raise ParameterError(
            f"{url}: cannot be replaced, because it is not a plain table without row-level security. "
            "Choose another name."
        )
    granted = connection.exec_driver_sql(_RIGHTS, {"name": old.quoted()}).fetchall()
    usual = connection.exec_driver_sql(_RIGHTS, {"name": new.quoted()}).fetchall()
    name = quoted(connection, new)
    for who in {row[0].replace("%", "%%") for row in usual}:
        connection.exec_driver_sql(f"REVOKE ALL ON {name} FROM {who}")
    for who, right, grantable in granted:
        option = " WITH GRANT OPTION" if grantable else ""
        connection.exec_driver_sql(f"GRANT {right} ON {name} TO {who.replace('%', '%%')}{option}")
    connection.exec_driver_sql(f"ALTER TABLE {name} OWNER TO {owner.replace('%', '%%')}")


_REFERRING = """
SELECT count(*) FROM information_schema.REFERENTIAL_CONSTRAINTS
WHERE UNIQUE_CONSTRAINT_SCHEMA = coalesce(%s, database()) AND REFERENCED_TABLE_NAME = %s AND TABLE_NAME <> %s
"""


def undoes_tables(dialect: Any) -> bool:
    """Tell whether a rollback also undoes the creation of tables."""
    return dialect.name in ("sqlite", "postgresql", "mssql")


def publish(staged: StagedTable, name: TableName, *, replacing: bool) -> TableName | None:
    """Give a staged table its final name, and commit; return the new name of the old table, if it still exists.

    Raises
    ------
    ParameterError
        If another session took the name in the meantime, or the existing table cannot be replaced.
    """
    with _if_taken(staged.url):
        if is_mysql(staged.connection.dialect):
            return _exchange(staged, name, replacing=replacing)
        _rename(staged, name, replacing=replacing)
        staged.connection.commit()
        return None


def rename(staged: StagedTable, name: TableName, *, replacing: bool) -> None:
    """Give a staged table its final name, in a transaction that is committed with another table."""
    with _if_taken(staged.url):
        _rename(staged, name, replacing=replacing)


@contextmanager
def _if_taken(url: Url) -> Iterator[None]:
    import sqlalchemy as sa

    try:
        yield
    except sa.exc.DBAPIError as error:
        if code(error.orig) in TAKEN:
            raise exists_already(url) from None
        raise


def _rename(staged: StagedTable, name: TableName, *, replacing: bool) -> None:
    """Rename a table where table creation is transactional; elsewhere nothing is replaced."""
    import sqlalchemy as sa

    connection, old = staged.connection, quoted(staged.connection, staged.table)
    if replacing:
        if not undoes_tables(connection.dialect):
            raise ParameterError(
                f"{staged.url}: this database cannot replace a table in one step. Drop it, or choose another name."
            )
        inherit(connection, staged.url, name, staged.table)
        connection.exec_driver_sql(f"DROP TABLE {quoted(connection, name)}")
    if connection.dialect.name == "mssql":
        connection.execute(sa.text("EXEC sp_rename :old, :new"), {"old": old, "new": name.name})
    else:
        connection.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {quoted(connection, TableName(name.name))}")


def _exchange(staged: StagedTable, name: TableName, *, replacing: bool) -> TableName | None:
    """Rename a table and its predecessor in one step in MySQL or MariaDB; this also commits the rows."""
    connection = staged.connection
    new, its = quoted(connection, staged.table), quoted(connection, name)
    if not replacing:
        connection.exec_driver_sql(f"RENAME TABLE {new} TO {its}")
        return None
    asked = (name.schema, name.name, name.name)
    if connection.exec_driver_sql(_REFERRING, asked).scalar():  # they would follow the old table to its new name
        raise ParameterError(
            f"{staged.url}: cannot be replaced, because keys of other tables refer to it. Choose another name."
        )
    before = name.hidden
    connection.exec_driver_sql(f"RENAME TABLE {its} TO {quoted(connection, before)}, {new} TO {its}")
    return before


#: SQLite stores numbers as doubles, which hold this many digits; a decimal with more is stored as text.
_DIGITS_OF_A_DOUBLE = 15
_MYSQL = ("mysql", "mariadb")
_SMALL_INTEGERS = (pa.int8(), pa.int16(), pa.uint8())


def plain(owner: object, table: pa.Table) -> pa.Table:
    """Return the table in types that databases have; categories become values, timestamps have microseconds.

    Raises
    ------
    DataError
        If columns hold lists, records or other values that a table cell cannot, or nanoseconds.
    """
    columns, faults = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        try:
            columns.append(_plain(column))
        except pa.ArrowInvalid:
            faults.append(
                f"{owner}: column {field.name!r} has times finer than a microsecond, which databases do not hold. "
                "Round them, or write Parquet."
            )
        except TypeError:
            faults.append(
                f"{owner}: column {field.name!r} must hold numbers, text, booleans, dates or times, got "
                f"{field.type}. Drop the column, or write Parquet."
            )
    raise_all(DataError, faults)
    return pa.Table.from_arrays(columns, names=table.column_names)


def check_finite(owner: object, table: pa.Table) -> None:
    """Raise if a number is infinite or NaN, for databases that have no such numbers."""
    floats = [name for name in table.column_names if types.is_floating(table.schema.field(name).type)]
    if wrong := [name for name in floats if pc.any(pc.invert(pc.is_finite(table[name]))).as_py()]:
        raise DataError(
            f"{owner}: column {wrong[0]!r} must hold finite numbers or missing values in this database. Remove the "
            "others, or write Parquet."
        )


def _plain(column: Any) -> Any:
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(column.cast(kind.storage_type))
    if types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    wider = [
        (types.is_timestamp, pa.timestamp("us", getattr(kind, "tz", None))),
        (types.is_time, pa.time64("us")),
        (types.is_date, pa.date32()),
        (types.is_null, pa.string()),
        (types.is_large_string, pa.string()),
        (types.is_string_view, pa.string()),
        (types.is_float16, pa.float32()),
        (types.is_uint64, pa.decimal128(20, 0)),
    ]
    column = next((column.cast(other) for fits, other in wider if fits(kind)), column)
    if not any(fits(column.type) for fits, *_ in _types(column.type)):
        raise TypeError(str(kind))
    return column


def sql_type(kind: Any, *, sqlite: bool) -> Any:
    """Return the SQLAlchemy type for an Arrow type.

    The SQLite declaration is the one that shoal reads back; its own types are integer, float, text and bytes.
    """
    words, typed = next(found for fits, *found in _types(kind) if fits(kind))
    return _Declared(words) if sqlite else typed


def _types(kind: Any) -> list[tuple[Any, str, Any]]:
    """Return tests of Arrow types, each with its SQLite declaration and SQLAlchemy type."""
    import sqlalchemy as sa
    from sqlalchemy.dialects import mssql, mysql, oracle

    server: Any = mssql  # its types are not typed
    digits, places = getattr(kind, "precision", None), getattr(kind, "scale", None)
    decimal = "DECIMAL" if digits is None or digits <= _DIGITS_OF_A_DOUBLE else "DECIMALTEXT"
    zone = getattr(kind, "tz", None) is not None
    moment = sa.DateTime(timezone=zone).with_variant(sa.TIMESTAMP(timezone=zone), "oracle")
    moment = moment.with_variant(server.DATETIMEOFFSET(6) if zone else server.DATETIME2(6), "mssql")
    moment = moment.with_variant(mysql.TIMESTAMP(fsp=6) if zone else mysql.DATETIME(fsp=6), *_MYSQL)
    clock = sa.Time().with_variant(mysql.TIME(fsp=6), *_MYSQL).with_variant(server.TIME(6), "mssql")
    text = sa.UnicodeText().with_variant(mysql.LONGTEXT(), *_MYSQL)
    return [
        (types.is_decimal, f"{decimal}({digits}, {places})", sa.Numeric(digits, places)),
        (types.is_timestamp, f"TIMESTAMP{' WITH TIME ZONE' * zone}", moment),
        (types.is_date, "DATE", sa.Date()),
        (types.is_time, "TIME", clock),
        (types.is_boolean, "BOOLEAN", sa.Boolean()),
        (lambda kind: kind in _SMALL_INTEGERS, "INTEGER", sa.SmallInteger()),
        (lambda kind: types.is_int32(kind) or types.is_uint16(kind), "INTEGER", sa.Integer()),
        (types.is_integer, "INTEGER", sa.BigInteger()),
        (types.is_float32, "REAL", sa.REAL().with_variant(oracle.BINARY_FLOAT(), "oracle")),
        (types.is_floating, "REAL", sa.Double().with_variant(oracle.BINARY_DOUBLE(), "oracle")),
        (types.is_string, "TEXT", text),
        (types.is_binary, "BLOB", sa.LargeBinary().with_variant(mysql.LONGBLOB(), *_MYSQL)),
    ]


def _Declared(text: str) -> Any:  # noqa: N802 - the class needs SQLAlchemy, which is imported late
    """Return a type with this declaration that passes values unchanged."""
    from sqlalchemy.types import UserDefinedType

    class Words(UserDefinedType[Any]):
        cache_ok = True

        def get_col_spec(self, **_: Any) -> str:
            return text

    return Words()


def values(column: pa.ChunkedArray, database: str) -> list[Any]:
    """Return the values of a column for the driver of a database; `database` is SQLAlchemy's name.

    SQLite takes timestamps and decimals as text. MySQL's driver drops zones, and writes small decimals as floats.
    """
    kind = column.type
    if database == "sqlite" and (types.is_temporal(kind) or types.is_decimal(kind)):
        column = to_text(pa.table({"": column}), Dialect(moment=" ")).column(0)
    if database in _MYSQL and types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us"))  # in UTC, like the session
    found: list[Any] = column.to_pylist()
    if database in _MYSQL and types.is_decimal(kind):
        return [None if value is None else f"{value:f}" for value in found]
    return found
