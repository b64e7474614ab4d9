"""Recoded categories: the groups of a taxonomy in place of its values."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, SchemaError
from shoal.flow.stages.values import as_values
from shoal.schema.cells import is_text
from shoal.types import Column, Table, Taxonomy, called, in_one_piece


def grouped(table: Table, column: Column, level: int) -> tuple[pa.ChunkedArray, Column]:
    """Return categories as the names of their groups, and the column with the taxonomy of these."""
    if column.taxonomy is None:
        raise SchemaError(
            f"Column {column.name!r}: recoding by level needs a taxonomy, which is missing. Give it one "
            "(taxonomies), or leave it out of recode."
        )
    groups = groups_at(column, column.taxonomy, level)
    values = as_values(column.name, table, exact=True)
    was = values.type
    values = values.cast(was.value_type) if pa.types.is_dictionary(was) else values
    coded = in_one_piece(values).dictionary_encode(null_encoding="mask")
    names = [called(value) for value in coded.dictionary.to_pylist()]
    if strange := sum(name not in groups for name in names):
        raise DataError(
            f"Column {column.name!r}: every value must be in its taxonomy; {strange:,} of {len(names):,} are not. Add "
            "them to the taxonomy."
        )
    found = pa.array([groups[name][-1] for name in names], pa.string()).take(coded.indices)
    if pa.types.is_dictionary(was):
        found = found.dictionary_encode()
    cells = table.data.column(column.name)
    if is_text(cells):  # codes that mean "no value" stay
        found = in_one_piece(pc.coalesce(pa.chunked_array([found]), cells.cast(pa.string())))
    tree = Taxonomy({path[-1]: path[:-1] for path in groups.values()})
    return pa.chunked_array([found]), replace(column, taxonomy=tree)


def groups_at(column: Column, taxonomy: Taxonomy, level: int) -> dict[str, tuple[str, ...]]:
    """Return for each value the path from the root to its group: the highest of at most this height above values.

    >>> from shoal.types import Kind, Role
    >>> work = Column("work", Role.QUASI, Kind.NOMINAL)
    >>> groups_at(work, Taxonomy({"nurse": ("care", "ward"), "cook": ("food",)}), 1)
    {'nurse': ('care', 'ward'), 'cook': ('food',)}
    """
    height: dict[tuple[str, ...], int] = {}
    for path in taxonomy.paths.values():
        for depth in range(len(path) + 1):
            height[path[:depth]] = max(height.get(path[:depth], 0), len(path) + 1 - depth)
    if level >= height[()]:
        raise SchemaError(
            f"Column {column.name!r}: the level of its recode must be below {height[()]}, the height of its taxonomy, "
            f"got {level}: all values would become one. Lower it, or make the column an identifier."
        )
    found = {
        name: next((path[:depth] for depth in range(1, len(path) + 1) if height[path[:depth]] <= level), (*path, name))
        for name, path in taxonomy.paths.items()
    }
    if len({path[-1] for path in found.values()}) < len(set(found.values())):
        raise SchemaError(
            f"Column {column.name!r}: two groups of its taxonomy that level {level} releases have the same name. "
            "Rename one."
        )
    return found
