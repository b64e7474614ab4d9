"""What a database declares a column to be → the type of Arrow that holds it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shoal.io.databases import mysql

if TYPE_CHECKING:
    import pyarrow as pa


_DECLARED = re.compile(r"^\s*(?P<name>[A-Z0-9_ ]*[A-Z0-9_])\s*(?:\((?P<sizes>[^)]*)\))?\s*(?P<more>[A-Z ]*)$")
_INTEGERS = {
    "SMALLINT": 16,
    "INT2": 16,
    "TINYINT": 16,
    "INTEGER": 32,
    "INT": 32,
    "INT4": 32,
    "MEDIUMINT": 32,
    "SERIAL": 32,
    "BIGINT": 64,
    "INT8": 64,
    "BIGSERIAL": 64,
}
_FLOATS = {"REAL": 32, "FLOAT4": 32, "DOUBLE PRECISION": 64, "DOUBLE": 64, "FLOAT8": 64, "FLOAT": 64}
_TEXTS = (
    "TEXT",
    "VARCHAR",
    "CHAR",
    "NVARCHAR",
    "NCHAR",
    "CLOB",
    "CHARACTER VARYING",
    "CHARACTER",
    "LONGTEXT",
    "MEDIUMTEXT",
    "TINYTEXT",
)
_DECIMALS = ("DECIMAL", "NUMERIC", "DECIMALTEXT", "NUMBER")
_BYTES = ("BLOB", "BYTEA", "LONGBLOB", "VARBINARY", "BINARY", "MEDIUMBLOB", "TINYBLOB")


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
    import pyarrow as pa

    found = _DECLARED.match(declared.upper())
    if found is None:
        return None
    name, more = found["name"], found["more"]
    sizes = [int(size) for size in re.findall(r"\d+", found["sizes"] or "")]
    if name in _INTEGERS:
        return pa.int64() if sqlite else {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[_INTEGERS[name]]
    if name in _FLOATS:
        return pa.float64() if sqlite or _FLOATS[name] == 64 else pa.float32()
    if name in _DECIMALS:
        return _decimal(sizes)
    if name.startswith(("TIMESTAMP", "DATETIME")):
        zoned = "WITH TIME ZONE" in f"{name} {more}" or name == "TIMESTAMPTZ"
        return pa.timestamp("us", "UTC" if zoned else None)
    plain: dict[str, pa.DataType] = {
        "BOOLEAN": pa.bool_(),
        "BOOL": pa.bool_(),
        "DATE": pa.date32(),
        "TIME": pa.time64("us"),
        "INTERVAL": pa.duration("us"),
        **dict.fromkeys(_TEXTS, pa.string()),
        **dict.fromkeys(_BYTES, pa.binary()),
    }
    return plain.get(name)


def _decimal(sizes: list[int]) -> pa.DataType | None:
    import pyarrow as pa

    if not sizes or not 1 <= sizes[0] <= 76:
        return None
    scale = sizes[1] if len(sizes) > 1 else 0
    return pa.decimal128(sizes[0], scale) if sizes[0] <= 38 else pa.decimal256(sizes[0], scale)
