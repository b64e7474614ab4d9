"""A table of any format as a stream: its rows one after the other, as lines of JSON or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from shoal import registry
from shoal.errors import SchemaError
from shoal.parameters import build
from shoal.places import Place, place

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 2000


def read_table(given: str) -> pa.Table:
    """Read a file or a table of a database, as `protect` would."""
    where: Place = place(given)
    data, _ = build(registry.for_place("sources", where.at), where.options).read(where.at)
    return data


def as_jsonl(table: pa.Table) -> Iterator[bytes]:
    """Yield rows as JSON; what is missing is null, dates and times are ISO 8601."""
    encoder = msgspec.json.Encoder(enc_hook=str)
    for rows in _rows(table):
        yield b"".join(encoder.encode(_plain(row)) + b"\n" for row in rows)


def as_csv(table: pa.Table) -> Iterator[bytes]:
    """Yield the names and then rows as cells; what is missing is an empty cell."""
    import pyarrow as pa

    for column in table.schema:
        if pa.types.is_nested(column.type):
            raise SchemaError(
                f"Stream: column {column.name!r} holds objects or lists, which CSV cannot hold. Write to a .jsonl file."
            )
    yield _lines([table.column_names])
    for rows in _rows(table):
        yield _lines([[_cell(value) for value in row.values()] for row in rows])


def _rows(table: pa.Table) -> Iterator[list[dict[str, Any]]]:
    for batch in table.to_batches(max_chunksize=_ROWS):
        yield batch.to_pylist()


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without NaN, which JSON cannot hold."""
    return {name: None if value != value else value for name, value in row.items()}  # noqa: PLR0124


def _cell(value: Any) -> str:
    if value is None or value != value:  # noqa: PLR0124
        return ""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _lines(rows: list[list[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


FEEDS = {"jsonl": as_jsonl, "csv": as_csv}
