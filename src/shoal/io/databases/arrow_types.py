"""What a database declares a column to be → the type of Arrow that holds it."""

from __future__ import annotations

import re

import pyarrow as pa

from shoal.io.databases import mysql

_DECLARED = re.compile(r"^\s*(?P<name>[A-Z0-9_ ]*[A-Z0-9_])\s*(?:\((?P<sizes>[^)]*)\))?\s*(?P<more>[A-Z ]*)$")
_NAMES = {
    pa.int16(): ("SMALLINT", "INT2", "TINYINT"),
    pa.int32(): ("INTEGER", "INT", "INT4", "MEDIUMINT", "SERIAL"),
    pa.int64(): ("BIGINT", "INT8", "BIGSERIAL"),
    pa.float32(): ("REAL", "FLOAT4"),
    pa.float64(): ("DOUBLE PRECISION", "DOUBLE", "FLOAT8", "FLOAT"),
    pa.bool_(): ("BOOLEAN", "BOOL"),
    pa.date32(): ("DATE",),
    pa.time64("us"): ("TIME",),
    pa.duration("us"): ("INTERVAL",),
    pa.string(): (
        "TEXT", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR", "CLOB", "CHARACTER VARYING", "CHARACTER", "LONGTEXT",
        "MEDIUMTEXT", "TINYTEXT",
    ),
    pa.binary(): ("BLOB", "BYTEA", "LONGBLOB", "VARBINARY", "BINARY", "MEDIUMBLOB", "TINYBLOB"),
}  # fmt: skip
_TYPES = {name: kind for kind, names in _NAMES.items() for name in names}
_DECIMALS = ("DECIMAL", "NUMERIC", "DECIMALTEXT", "NUMBER")


def arrow_type(declared: str, database: str) -> pa.DataType | None:
    """Return the type of Arrow for a declared type, or None where only the values can tell.

    In SQLite an integer has 64 bits and a float is a double, whatever it is called. `database` is SQLAlchemy's name.

    >>> arrow_type("NUMERIC(10, 2)", "postgresql")
    Decimal128Type(decimal128(10, 2))
    >>> arrow_type("timestamp with time zone", "postgresql")
    TimestampType(timestamp[us, tz=UTC])
    """
    if database in ("mysql", "mariadb") and (own := mysql.arrow_type(declared)) is not None:
        return own
    return _of_any(declared, sqlite=database == "sqlite")


def _of_any(declared: str, *, sqlite: bool) -> pa.DataType | None:
    found = _DECLARED.match(declared.upper())
    if found is None:
        return None
    name, more = found["name"], found["more"]
    sizes = [int(size) for size in re.findall(r"\d+", found["sizes"] or "")]
    if name in _DECIMALS:
        return _decimal(sizes)
    if name.startswith(("TIMESTAMP", "DATETIME")):
        zoned = "WITH TIME ZONE" in f"{name} {more}" or name == "TIMESTAMPTZ"
        return pa.timestamp("us", "UTC" if zoned else None)
    kind = _TYPES.get(name)
    if sqlite and name in _TYPES:
        kind = pa.int64() if pa.types.is_integer(kind) else pa.float64() if pa.types.is_floating(kind) else kind
    return kind


def _decimal(sizes: list[int]) -> pa.DataType | None:
    if not sizes or not 1 <= sizes[0] <= 76:
        return None
    scale = sizes[1] if len(sizes) > 1 else 0
    return pa.decimal128(sizes[0], scale) if sizes[0] <= 38 else pa.decimal256(sizes[0], scale)
