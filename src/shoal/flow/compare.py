"""Compare a masked table with its original, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import DataError
from shoal.flow.anonymising import encode
from shoal.flow.measuring import compared, measures, read_measures
from shoal.flow.reading import open_source, schema_of_columns
from shoal.places import Place
from shoal.types import Kind, Readings, Schema, Table


def compare_frames(original: Any, masked: Any, columns: Sequence[str]) -> Readings:
    """Measure what a masked frame lost, row by row."""
    from shoal.sources.frame import Frame

    tables = [Table(data, schema_of_columns(data, columns, None)) for data, _ in map(Frame().read, (original, masked))]
    return _compare(tables[0], tables[1], columns)


def compare_files(original: Place, masked: Place, columns: Sequence[str], text: Mapping[str, Any]) -> Readings:
    """Measure what a masked file lost, row by row."""
    tables = []
    for place in (original, masked):
        data, dialect = open_source(place, text).read(place.at)
        tables.append(Table(data, schema_of_columns(data, columns, dialect), dialect))
    return _compare(tables[0], tables[1], columns)


def _compare(original: Table, masked: Table, columns: Sequence[str]) -> Readings:
    if len(original) != len(masked):
        raise DataError(
            f"Compare: both tables must have the same rows in the same order, got {len(original):,} and "
            f"{len(masked):,}. Give the file that was masked and its masked version."
        )
    read, attributes = encode(original, columns)
    kinds = {c.name: _relaxed(c.kind) for c in original.schema.columns}  # a mean of integers has decimals
    schema = Schema(tuple(replace(c, kind=kinds.get(c.name, c.kind)) for c in masked.schema.columns))
    typed, _ = encode(replace(masked, schema=schema), columns)
    comparison = compared(attributes, original.schema, read.data, typed.data)
    return read_measures(comparison, measures())


def _relaxed(kind: Kind) -> Kind:
    return Kind.CONTINUOUS if kind is Kind.INTEGER else kind
