"""What columns mean beyond their cells: written into evidence by digests of names, and read from it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, SchemaError
from shoal.flow.digests import of_name
from shoal.flow.values import with_values
from shoal.report.evidence import Evidence
from shoal.types import Column, Dialect, Kind, Release, Role, Schema, Taxonomy, called, with_columns

if TYPE_CHECKING:
    import pyarrow as pa

_AS_VALUES = (Role.CONFIDENTIAL, Role.WEIGHT)


def columns_of(release: Release, salt: bytes, *, placed: bool) -> dict[str, dict[str, Any]]:
    """Return what the columns that leave are, and of those that audits read as values what they do not say."""
    seen = (*_AS_VALUES, Role.QUASI) if placed else _AS_VALUES
    return {
        column.name: {
            "role": column.role.value,
            "kind": column.kind.value,
            **(_meaning(release, column, salt) if column.role in seen else {}),
        }
        for column in release.schema.columns
        if column.name in release.data.column_names
    }


def _meaning(release: Release, column: Column, salt: bytes) -> dict[str, Any]:
    """Return order, groups and missing values of a column, by digests of their names; nothing if it cannot be read."""
    import pyarrow as pa

    try:
        read = with_values(release, [column.name]).read[column.name]
    except (DataError, SchemaError):
        return {}
    found: dict[str, Any] = {}
    if pa.types.is_dictionary(read.type) and read.type.ordered:
        categories = read.unify_dictionaries().chunk(0).dictionary.to_pylist()
        found["order"] = [of_name(salt, called(value)) for value in categories]
    if column.taxonomy is not None:
        found["taxonomy"] = {
            of_name(salt, leaf): [of_name(salt, node) for node in path] for leaf, path in column.taxonomy.paths.items()
        }
    if absent := _absent(plainly(release, column.name), read):
        found["missing"] = sorted(of_name(salt, name) for name in absent)
    return found


def plainly(release: Release, name: str) -> pa.ChunkedArray:
    """Return the cells of a column as they are told apart by name: text without blanks around it, plain values."""
    import pyarrow as pa

    from shoal.schema.cells import is_text, tidy

    cells = release.data.column(name)
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return tidy(cells, Dialect()) if release.dialect is not None and is_text(cells) else cells


def _absent(cells: pa.ChunkedArray, read: pa.ChunkedArray) -> set[str]:
    """Return what stands in cells that are read as missing."""
    import pyarrow.compute as pc

    there = cells.filter(pc.and_(cells.is_valid(), read.is_null()))
    return {called(value) for value in there.unique().to_pylist()}


@dataclass(frozen=True, eq=False)
class Left:
    """A table that left, as an auditor reads it; and for columns that cannot be read the reason."""

    release: Release = field(repr=False)
    faults: Mapping[str, str] = field(default_factory=dict)


def as_left(evidence: Evidence, data: pa.Table, dialect: Dialect | None) -> Left:
    """Read a table with what the evidence says of its columns: kinds, and digests of orders, groups, missing values."""
    known = evidence["columns"]
    try:
        columns = [_column(name, known.get(name, {})) for name in data.column_names]
    except ValueError:
        raise DataError("Evidence: role and kind of a column must be ones that there are, and are not.") from None
    release = Release(data, Schema(tuple(columns)), dialect)
    salt = bytes.fromhex(evidence["salt"])
    placed = any(one["model"] == "n_t_closeness" for one in evidence["findings"])
    seen = (Role.CONFIDENTIAL, Role.WEIGHT, *((Role.QUASI,) if placed else ()))
    faults: dict[str, str] = {}
    for column in columns:
        if column.role in seen:
            try:
                read = _values(release, column, known[column.name], salt)
            except (DataError, SchemaError) as error:
                faults[column.name] = str(error)
                continue
            release = replace(release, read={**release.read, column.name: read})
    return Left(release, faults)


def taken_on_trust(evidence: Evidence, left: Left) -> list[str]:
    """Return what an evidence says of columns that their cells do not show: missing values, order, groups.

    Who calls every cell missing makes all classes alike, so the number of these cells is said.
    """
    found = []
    for name, read in left.release.read.items():
        said = evidence["columns"].get(name, {})
        if said.get("missing"):
            gone = read.null_count - left.release.data.column(name).null_count
            found.append(f"{gone:,} of {len(read):,} cells of {name} hold no value")
        found += [f"the {what} of {name}" for what in ("order", "taxonomy") if said.get(what)]
    return found


def _column(name: str, said: Mapping[str, Any]) -> Column:
    tree = said.get("taxonomy")
    paths = None if tree is None else Taxonomy({leaf: tuple(path) for leaf, path in tree.items()})
    return Column(name, Role(said.get("role", "other")), Kind(said.get("kind", "nominal")), paths)


def _values(release: Release, column: Column, said: Mapping[str, Any], salt: bytes) -> pa.ChunkedArray:
    """Return a column as values; categories with an order or groups under the digests of their names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    name = column.name
    if not any(said.get(what) for what in ("order", "taxonomy", "missing")):
        return with_values(release, [name]).read[name]
    cells = plainly(release, name).combine_chunks()
    cells = cells.chunk(0) if isinstance(cells, pa.ChunkedArray) else cells
    encoded = cells.dictionary_encode(null_encoding="mask")
    digests = [of_name(salt, called(value)) for value in encoded.dictionary.to_pylist()]
    absent = set(said.get("missing", ()))
    known = pa.array([None if digest in absent else digest for digest in digests], pa.string()).take(encoded.indices)
    if said.get("order"):
        ranks = pc.index_in(known, value_set=pa.array(said["order"], pa.string()))
        if ranks.null_count != known.null_count:
            raise DataError(f"Column {name!r}: holds categories that are not in its order.")
        return pa.chunked_array([pa.DictionaryArray.from_arrays(ranks, pa.array(said["order"]), ordered=True)])
    if said.get("taxonomy"):
        return pa.chunked_array([known])
    kept = pc.if_else(known.is_valid(), cells, pa.scalar(None, cells.type))
    there = replace(release, data=with_columns(release.data, {name: pa.chunked_array([kept])}))
    return with_values(there, [name]).read[name]
