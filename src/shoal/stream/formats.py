"""Formats of tuples by name: a wire that renders them, and the gate's independent reader."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from shoal import registry
from shoal.errors import ParameterError, SchemaError
from shoal.locations import Place, place
from shoal.parameters import build, unknown
from shoal.privacy.stream_gate.read_back import CsvReader, JsonlReader, Reader
from shoal.stream.engine.intake import fields_of
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.stream.wire.csv import Csv
from shoal.stream.wire.jsonl import Jsonl
from shoal.types import Kind
from shoal.types.stream import Wire

_ROWS = 2000


def read_table(given: str) -> pa.Table:
    """Read a file or a database table, as `protect` would."""
    where: Place = place(given)
    data, _ = build(registry.for_place("io.sources", where.at), where.options).read(where.at)
    return data


def as_jsonl(table: pa.Table) -> Iterator[bytes]:
    """Yield rows as JSON; missing values are null, dates and times are ISO 8601."""
    encoder = msgspec.json.Encoder(enc_hook=str)
    for rows in _rows(table):
        yield b"".join(encoder.encode(_plain(row)) + b"\n" for row in rows)


def as_csv(table: pa.Table) -> Iterator[bytes]:
    """Yield the header and then rows as cells; missing values are empty cells."""
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


_NUMBERS = (Kind.INTEGER, Kind.CONTINUOUS)


@dataclass(frozen=True)
class Dialect:
    """The CSV dialect."""

    delimiter: str = ","
    quote: str = '"'

    def __post_init__(self) -> None:
        for name, given in (("delimiter", self.delimiter), ("quote", self.quote)):
            if len(given) != 1 or not given.isascii() or given in "\r\n":
                raise ParameterError(f"Csv: {name} must be one ASCII character, got {given!r}. Give a single one.")
        if self.delimiter == self.quote:
            raise ParameterError(f"Csv: quote must differ from delimiter, got {self.quote!r}. Change one of them.")


@dataclass(frozen=True)
class Format:
    """A format of tuples."""

    suffixes: tuple[str, ...]
    header: bool  #: whether the first record names the fields
    wire: Callable[[bytes, StreamRecipe, Dialect], Wire]
    reader: Callable[[bytes, bytes, StreamRecipe, Dialect], Reader]  #: from the headers of input and output


def _jsonl(header: bytes, recipe: StreamRecipe, dialect: Dialect) -> Wire:
    kept = [name for name in recipe.wanted if name not in recipe.quasi]
    fields = fields_of(recipe)
    return Jsonl(recipe.wanted, recipe.removed, recipe.class_field, kept, needed=recipe.identifier, fields=fields)


def _jsonl_reader(header: bytes, head: bytes, recipe: StreamRecipe, dialect: Dialect) -> Reader:
    return JsonlReader(recipe.quasi, recipe.removed, recipe.class_field, _named(recipe))


def _csv(header: bytes, recipe: StreamRecipe, dialect: Dialect) -> Wire:
    numbers = [known.name for known in recipe.known if known.kind in _NUMBERS]
    how = {"delimiter": dialect.delimiter, "quote": dialect.quote}
    return Csv(
        header, recipe.wanted, recipe.removed, recipe.class_field, numbers=numbers, fields=fields_of(recipe), **how
    )


def _csv_reader(header: bytes, head: bytes, recipe: StreamRecipe, dialect: Dialect) -> Reader:
    roles = recipe.quasi, recipe.removed, recipe.class_field
    return CsvReader(header, head, *roles, dialect.delimiter, dialect.quote, _named(recipe))


def _named(recipe: StreamRecipe) -> tuple[str, ...] | None:
    """Return the fields that the gate passes unchanged; None: all."""
    return None if recipe.unknown == "keep" else recipe.named


FORMATS = {
    "csv": Format((".csv", ".tsv", ".tab", ".txt"), True, _csv, _csv_reader),
    "jsonl": Format((".jsonl", ".ndjson"), False, _jsonl, _jsonl_reader),
}


def format_of(path: str) -> str | None:
    """Return the format for a file extension.

    >>> format_of("people.CSV"), format_of("-")
    ('csv', None)
    """
    end = Path(path).suffix.lower()
    return next((name for name, form in FORMATS.items() if end in form.suffixes), None)


def chosen(given: str | None, source: str, target: str, *, table: bool) -> str:
    """Return the format of a stream: as given, or by the names of input and output; else JSON Lines."""
    if given is not None:
        if given not in FORMATS:
            raise ParameterError(unknown("stream", "format", given, list(FORMATS)))
        return given
    mine, theirs = None if table else format_of(source), format_of(target)
    if mine is not None and theirs is not None and mine != theirs:
        raise ParameterError(
            f"{target}: tuples are written in the format of the input, {mine}, but the name ends like {theirs}. "
            "Choose another name, or give --format."
        )
    return mine or theirs or "jsonl"
