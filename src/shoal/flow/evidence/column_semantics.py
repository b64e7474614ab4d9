"""Column semantics: order, groups and missing values, stored in evidence as digests and read back from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.flow.evidence.receipt import of_name
from shoal.flow.stages.values import with_values
from shoal.report.evidence import Evidence
from shoal.schema.kinds import kind_of
from shoal.types import Column, Dialect, Finding, Kind, Release, Role, Schema, Taxonomy, called, with_columns

_BARE = "-"  # a branch without a category; digests are hexadecimal
_NUMBERS = {Kind.INTEGER, Kind.CONTINUOUS}
_AS_VALUES = (Role.CONFIDENTIAL, Role.WEIGHT)


def columns_of(release: Release, salt: bytes, *, placed: bool) -> dict[str, dict[str, Any]]:
    """Describe the released columns; for those that audits read as values, include what the cells do not show."""
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
    """Return the order, groups and missing values of a column; empty if the column cannot be parsed.

    Names are digests, and only of categories that occur in the released cells. Other categories leave a gap in the
    order, so that ranks stay right; the tree records the heights of groups, so that distances stay right.
    """
    try:
        read = with_values(release, [column.name]).read[column.name]
    except (DataError, SchemaError):
        return {}
    found: dict[str, Any] = {}
    if pa.types.is_dictionary(read.type) and read.type.ordered:
        order = [called(value) for value in read.unify_dictionaries().chunk(0).dictionary.to_pylist()]
        there = _occurring(read)
        found["order"] = [of_name(salt, name) if name in there else None for name in order]
    if column.taxonomy is not None:
        there = _occurring(read)
        paths = {leaf: path for leaf, path in column.taxonomy.paths.items() if leaf in there}
        heights = _heights(column.taxonomy)
        found["taxonomy"] = {
            of_name(salt, leaf): [of_name(salt, node) for node in path] for leaf, path in paths.items()
        }
        found["heights"] = {
            of_name(salt, leaf): [heights[path[:depth]] for depth in range(len(path) + 1)]
            for leaf, path in paths.items()
        }
    if absent := _absent(plainly(release, column.name), read):
        found["missing"] = sorted(of_name(salt, name) for name in absent)
    return found


def _occurring(read: pa.ChunkedArray) -> set[str]:
    """Return the names of the values that occur in a column."""
    return {called(value) for value in read.unique().to_pylist() if value is not None}


def _heights(taxonomy: Taxonomy) -> dict[tuple[str, ...], int]:
    """Return the height of each group by its path from the root ``()``: the steps to its deepest leaf."""
    found: dict[tuple[str, ...], int] = {(): 1}
    for path in taxonomy.paths.values():
        for depth in range(len(path) + 1):
            found[path[:depth]] = max(found.get(path[:depth], 0), len(path) - depth + 1)
    return found


def _rebuilt(paths: Mapping[str, Sequence[str]], heights: Mapping[str, Sequence[int]]) -> Taxonomy:
    """Rebuild a tree from some leaves and the recorded heights of groups; bare branches stand in for other leaves.

    >>> tree = _rebuilt({"flu": ["lungs"]}, {"flu": [3, 1]})
    >>> tree.height, tree.paths["flu"]
    (3, ('lungs',))
    """
    whole = {leaf: tuple(path) for leaf, path in paths.items()}
    said = {
        path[:depth]: height
        for leaf, path in whole.items()
        for depth, height in enumerate(heights.get(leaf, ())[: len(path) + 1])
    }
    bare = {f"{_BARE}{at}": (*group, *(_BARE,) * (height - 1)) for at, (group, height) in enumerate(said.items())}
    return Taxonomy({**whole, **bare})


def plainly(release: Release, name: str) -> pa.ChunkedArray:
    """Return the cells of a column in the form by which they are named: stripped text or plain values."""
    from shoal.schema.cells import is_text, tidy

    cells = release.data.column(name)
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return tidy(cells, Dialect()) if release.dialect is not None and is_text(cells) else cells


def _absent(cells: pa.ChunkedArray, read: pa.ChunkedArray) -> set[str]:
    """Return the contents of cells that are parsed as missing."""
    there = cells.filter(pc.and_(cells.is_valid(), read.is_null()))
    return {called(value) for value in there.unique().to_pylist()}


@dataclass(frozen=True, eq=False)
class Recomputed:
    """Results of an audit in parts, of a table that is too large to be held in memory.

    Attributes
    ----------
    findings
        For each claim what the table shows, or why that cannot be found.
    sizes
        The number of classes of each size in records, smallest first.
    trusted
        Statements of the evidence that the cells do not confirm.
    """

    findings: Mapping[Finding, Finding | Exception]
    sizes: list[list[int]]
    trusted: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Left:
    """A released table as an auditor parses it, with the reason for each column that cannot be parsed."""

    release: Release = field(repr=False)
    faults: Mapping[str, str] = field(default_factory=dict)
    in_parts: Recomputed | None = field(default=None, repr=False)  #: of a table that is too large to be held in memory


def as_left(evidence: Evidence, data: pa.Table, dialect: Dialect | None) -> Left:
    """Parse a table using the evidence on its columns: kinds, and digests of orders, groups, missing values."""
    known = evidence["columns"]
    try:
        columns = [_column(name, known.get(name, {})) for name in data.column_names]
    except ValueError:
        raise DataError(
            "Evidence: the role or kind of a column is unknown. Give the file of --evidence as it was written."
        ) from None
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


def taken_on_trust(evidence: Evidence, left: Left, counts: NDArray[np.int64] | None = None) -> list[str]:
    """Return the evidence's statements on columns that the cells do not confirm: kinds, missing values, order, groups.

    Declaring every cell missing would make all classes equal, so the number of such cells is reported. A kind is
    confirmed if the cells or their type suggest the same one; integers and other numbers are compared in the same way.

    With `counts`, each row stands for that many records.
    """
    if left.in_parts is not None:
        return list(left.in_parts.trusted)
    found = []
    for name, read in left.release.read.items():
        said = evidence["columns"].get(name, {})
        stated, suggested = (
            left.release.schema[name].kind,
            kind_of(left.release.data.column(name), left.release.dialect, left.release.data.schema.field(name)),
        )
        if stated is not suggested and not {stated, suggested} <= _NUMBERS:
            found.append(f"the kind of {name} ({stated.value}; its cells suggest {suggested.value})")
        if said.get("missing"):
            often = np.ones(len(read), np.int64) if counts is None else counts
            empty = [column.is_null().to_numpy() for column in (read, left.release.data.column(name))]
            gone = int(often[empty[0]].sum()) - int(often[empty[1]].sum())
            found.append(f"{gone:,} of {int(often.sum()):,} cells of {name} hold no value")
        found += [f"the {what} of {name}" for what in ("order", "taxonomy") if said.get(what)]
    return found


def _column(name: str, said: Mapping[str, Any]) -> Column:
    tree = said.get("taxonomy")
    paths = None if tree is None else _rebuilt(tree, said.get("heights", {}))
    return Column(name, Role(said.get("role", "other")), Kind(said.get("kind", "nominal")), paths)


def _values(release: Release, column: Column, said: Mapping[str, Any], salt: bytes) -> pa.ChunkedArray:
    """Return a column as values; categories with an order or groups are named by their digests."""
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
        names = pa.array([f"{_BARE}{at}" if one is None else one for at, one in enumerate(said["order"])], pa.string())
        ranks = pc.index_in(known, value_set=names)
        if ranks.null_count != known.null_count:
            raise DataError(f"Column {name!r}: holds categories that are not in its order.")
        return pa.chunked_array([pa.DictionaryArray.from_arrays(ranks, names, ordered=True)])
    if said.get("taxonomy"):
        return pa.chunked_array([known])
    kept = pc.if_else(known.is_valid(), cells, pa.scalar(None, cells.type))
    there = replace(release, data=with_columns(release.data, {name: pa.chunked_array([kept])}))
    return with_values(there, [name]).read[name]
