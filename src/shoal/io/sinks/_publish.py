"""How a staged table gets its name, in place of one that was there: each kind of database in its way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shoal.errors import ParameterError
from shoal.io.databases.mysql import is_mysql
from shoal.io.databases.sql import TAKEN, code, quoted
from shoal.io.databases.tables import StagedTable, TableName, exists_already
from shoal.locations import Url

_RIGHTS = """
SELECT CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END,
       acl.privilege_type, acl.is_grantable
FROM pg_class AS c, aclexplode(c.relacl) AS acl WHERE c.oid = to_regclass(%(name)s)
"""
_TABLE = """
SELECT quote_ident(pg_get_userbyid(relowner)), relrowsecurity, relkind FROM pg_class WHERE oid = to_regclass(%(name)s)
"""


def inherit(connection: Any, url: Url, old: TableName, new: TableName) -> None:
    """Give a new table the owner and the rights of the one that it will replace, in PostgreSQL.

    SQLite has neither; in MySQL and MariaDB rights are those of a name, whatever table has it.

    Raises
    ------
    ParameterError
        If the old table lets each user see other rows, which the new one could not, or is no plain table.
    """
    if connection.dialect.name != "postgresql":
        return
    connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'")  # somebody may be reading the old one for hours
    owner, by_row, kind = connection.exec_driver_sql(_TABLE, {"name": old.quoted()}).one()
    if by_row or kind != "r":
        raise ParameterError(
            f"{url}: must be a plain table without row-level security to be replaced. Choose another name."
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
    """Tell whether a transaction that is undone undoes the making of tables too."""
    return dialect.name in ("sqlite", "postgresql", "mssql")


def publish(staged: StagedTable, name: TableName, *, replacing: bool) -> TableName | None:
    """Give a staged table its name, and commit; return the name that the one before has now, if it is still there.

    Raises
    ------
    ParameterError
        If somebody else took the name meanwhile, or the table that is there cannot be replaced.
    """
    with _if_taken(staged.url):
        if is_mysql(staged.connection.dialect):
            return _exchange(staged, name, replacing=replacing)
        _rename(staged, name, replacing=replacing)
        staged.connection.commit()
        return None


def rename(staged: StagedTable, name: TableName, *, replacing: bool) -> None:
    """Give a staged table its name, in a transaction that is committed with another table."""
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
    """Rename a table where making tables is part of a transaction; elsewhere nothing is replaced."""
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
    """Rename a table in MySQL or MariaDB, and in the same step the one before; this commits the rows, too."""
    connection = staged.connection
    new, its = quoted(connection, staged.table), quoted(connection, name)
    if not replacing:
        connection.exec_driver_sql(f"RENAME TABLE {new} TO {its}")
        return None
    asked = (name.schema, name.name, name.name)
    if connection.exec_driver_sql(_REFERRING, asked).scalar():  # they would follow the old table to its other name
        raise ParameterError(
            f"{staged.url}: must not be referred to by keys of other tables to be replaced. Choose another name."
        )
    before = name.hidden
    connection.exec_driver_sql(f"RENAME TABLE {its} TO {quoted(connection, before)}, {new} TO {its}")
    return before
