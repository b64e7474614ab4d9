"""What a table that replaces another takes over from it: who owns it, and who may do what with it."""

from __future__ import annotations

from typing import Any

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
    """Give a new table the owner and the rights of the one that it will replace; SQLite has neither.

    Raises
    ------
    ParameterError
        If the old table lets each user see other rows, which the new one could not, or is no plain table.
    """
    if url.scheme == "sqlite":
        return
    connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'")  # somebody may be reading the old one for hours
    owner, by_row, kind = connection.exec_driver_sql(_TABLE, {"name": old.quoted()}).one()
    if by_row or kind != "r":
        raise ParameterError(
            f"{url}: must be a plain table without row-level security to be replaced. Choose another name."
        )
    granted = connection.exec_driver_sql(_RIGHTS, {"name": old.quoted()}).fetchall()
    usual = connection.exec_driver_sql(_RIGHTS, {"name": new.quoted()}).fetchall()
    for who in {row[0] for row in usual}:
        connection.exec_driver_sql(f"REVOKE ALL ON {new.quoted()} FROM {who}")
    for who, right, grantable in granted:
        option = " WITH GRANT OPTION" if grantable else ""
        connection.exec_driver_sql(f"GRANT {right} ON {new.quoted()} TO {who}{option}")
    connection.exec_driver_sql(f"ALTER TABLE {new.quoted()} OWNER TO {owner}")
