"""What a table that replaces another takes over from it: who owns it, and who may do what with it."""

from __future__ import annotations

from typing import Any

from shoal.databases.sql import quoted
from shoal.databases.tables import TableName
from shoal.errors import ParameterError
from shoal.places import Url

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
