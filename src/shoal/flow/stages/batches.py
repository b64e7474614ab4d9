"""Tables that are read in batches, within bounded memory: a file, or a folder of files with the same columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal import registry
from shoal.errors import DataError, ParameterError, SchemaError, listing
from shoal.flow.stages.read import is_textual, open_source
from shoal.io.manifest import check_manifest
from shoal.io.sources._file import no_rows, unreadable
from shoal.io.sources.csv import Csv
from shoal.locations import Place
from shoal.parameters import build
from shoal.recipe.recipe import Recipe
from shoal.types import Dialect
from shoal.types.protocols import BatchedFile
from shoal.types.statistical_files import KEY

_ROWS = 1 << 19  # of a batch, unless others are asked for; …
_LEAST, _BYTES = 1 << 13, 1 << 26  # … fewer of wide tables, whose batches have this many bytes


@dataclass(frozen=True, eq=False)
class Batches:
    """A table that is read in batches: a file, or a folder of files with the same columns.

    Attributes
    ----------
    files
        The files, sorted by name.
    arrow
        The columns, with the types that they would have in memory; those of a text file are text.
    dialect
        How text files are written; None: they are not text.
    records
        The number of records; None: they must be counted.
    opened
        The files, opened.
    written
        How a text output is written, if the input is not text and the recipe says how.
    """

    files: tuple[Path, ...]
    arrow: pa.Schema = field(repr=False)
    dialect: Dialect | None
    records: int | None
    opened: tuple[BatchedFile, ...] = field(repr=False)
    written: Dialect | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the files were read."""
        return () if self.dialect is None else self.dialect.notes

    @cached_property
    def rows(self) -> int:
        """Number of rows of a batch: a power of 2 that does not depend on the columns that are read."""
        from shoal.flow.stages.table_sizes import size_of_columns

        first = next(self.read(rows=_LEAST))
        width = first.nbytes / first.num_rows
        if self.records:
            width = max(width, size_of_columns(self, self.arrow.names)[0] / self.records)
        return max(_LEAST, min(_ROWS, 1 << int(_BYTES / max(width, 1)).bit_length() - 1))

    def read(
        self, columns: Sequence[str] | None = None, rows: int | None = None, *, at_most: int | None = None
    ) -> Iterator[pa.Table]:
        """Yield tables of exactly `rows` rows, the last with fewer; with all columns or some, in this order.

        Without `rows` their width decides, up to `at_most`.

        Raises
        ------
        DataError
            If a file cannot be read or parsed, or if there is no row at all.
        """
        rows = rows or min(self.rows, at_most or self.rows)
        if columns is not None and not columns:
            yield from (table.select([]) for table in self.read(self.arrow.names[:1], rows))
            return
        fields = [self.arrow.field(name) for name in (self.arrow.names if columns is None else columns)]
        schema = pa.schema(fields, metadata=self.arrow.metadata)
        waiting, count, seen = [], 0, False
        for part in self._parts(columns, rows):
            start = 0
            while start < part.num_rows:
                piece = part.slice(start, rows - count)
                waiting.append(piece)
                start, count = start + piece.num_rows, count + piece.num_rows
                if count == rows:
                    yield _together(waiting, schema)
                    waiting, count, seen = [], 0, True
        if waiting:
            yield _together(waiting, schema)
        elif not seen:
            raise no_rows(_owner(self.files), textual=self.dialect is not None)

    def _parts(self, columns: Sequence[str] | None, rows: int) -> Iterator[pa.Table]:
        for file in self.opened:
            yield from file.read(columns, rows)

    def count_records(self) -> int:
        """Return the number of records; those of text files are counted."""
        return self.records or sum(table.num_rows for table in self.read(self.arrow.names[:1]))

    def lacks(self, names: Sequence[str]) -> list[str]:
        """Return those of some columns that the table does not have."""
        return [name for name in names if name not in self.arrow.names]


def _owner(files: Sequence[Path]) -> str:
    return files[0].parent.name if len(files) > 1 else files[0].name


def _together(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Return tables with equal types as one, with the metadata of the first file."""
    one = tables[0] if len(tables) == 1 else pa.concat_tables([table.replace_schema_metadata() for table in tables])
    return pa.Table.from_arrays(one.columns, schema=schema)


def open_batches(place: Place, recipe: Recipe, *, textual: bool = False) -> Batches:
    """Open a file, or a folder of files of one format, to be read in batches.

    If only the output is text (`textual`), the text settings apply to it, as in `read_table`.

    Raises
    ------
    DataError
        If a file cannot be read, is damaged, or holds no table; if a folder holds no files, or files of other formats.
    SchemaError
        If column names are empty or duplicated, or if files have different columns.
    ParameterError
        If the format can only be read into memory as a whole.
    """
    if not isinstance(place.at, Path):
        raise ParameterError(f"{place}: only files can be read in batches, got a database. Export it to Parquet.")
    files = files_of(place.at)
    if textual and recipe.text and not is_textual(Place(files[0])):
        return replace(open_files(files, {}, place.options), written=build(Csv, recipe.text).dialect())
    return open_files(files, recipe.text, place.options)


def batches_of(place: Place, text: Mapping[str, Any]) -> Batches:
    """Open a file or a folder to be read in batches, with the settings of text files; raises as `open_batches` does."""
    if not isinstance(place.at, Path):
        raise ParameterError(f"{place}: only files can be read in batches, got a database. Export it to Parquet.")
    return open_files(files_of(place.at), text, place.options)


def open_files(files: Sequence[Path], text: Mapping[str, Any], options: Mapping[str, str] | None = None) -> Batches:
    """Open files with the same columns as one table; text files after the first are written in the same way.

    `text` and `options` are settings of the source. Raises like :func:`open_batches`.
    """
    source = open_source(Place(files[0], options or {}), text)
    first = source.open(files[0])
    if first.dialect is not None and len(first.arrow.names) > 1:
        source = source.of(first.dialect)
    opened = (first, *(source.open(file, names=first.arrow.names) for file in files[1:]))
    for file, other in zip(files, opened, strict=True):
        _refuse_other_columns(file, files[0], other.arrow, first.arrow)
    known = [one.records for one in opened if one.records is not None]
    records = sum(known) if len(known) == len(opened) else None
    if records == 0:
        raise no_rows(_owner(files))
    return Batches(tuple(files), first.arrow, first.dialect, records, opened)


def can_be_batched(place: Place) -> bool:
    """Tell whether a place is a folder, or a file of a format that is read in batches."""
    if not isinstance(place.at, Path):
        return False
    return place.at.is_dir() or registry.for_place("io.sources", place.at).batched


def files_of(at: Path) -> tuple[Path, ...]:
    """Return a file itself, or the files of a folder in order of their names' bytes; all have one format.

    Hidden files and those whose names begin with an underscore are ignored; those of a manifest must be complete.

    Raises
    ------
    DataError
        If a folder cannot be read, or holds no files, other folders, files of several formats or of none, or not
        those of its manifest.
    """
    if not at.is_dir():
        return (at,)
    try:
        files = sorted((one for one in at.iterdir() if not one.name.startswith((".", "_"))), key=os.fsencode)
    except OSError as error:
        raise DataError(unreadable(at, error)) from None
    if folders := [repr(file.name) for file in files if file.is_dir()]:
        raise DataError(
            f"{at}: a folder of files must not hold other folders, got {listing(folders)}. Move the files into one."
        )
    if not files:
        raise DataError(f"{at}: the folder must hold files, got none. Check that it is the right one.")
    _refuse_other_formats(at, files)
    check_manifest(at, files)
    return tuple(files)


def joined(files: Sequence[Path], tables: Sequence[pa.Table]) -> pa.Table:
    """Return the tables of some files as one; their columns must be equal."""
    for file, table in zip(files, tables, strict=True):
        _refuse_other_columns(file, files[0], table.schema, tables[0].schema)
    return _together(tables, tables[0].schema)


def _refuse_other_formats(folder: Path, files: Sequence[Path]) -> None:
    """Raise unless all files of a folder are of the same format."""
    keys: dict[str, list[str]] = {}
    known = registry.declared("io.sources", "suffixes")
    for file in files:
        fitting = [suffix for suffix in known if file.name.lower().endswith(suffix)]
        keys.setdefault(known[max(fitting, key=len)] if fitting else "", []).append(file.name)
    if "" in keys:
        raise DataError(
            f"{folder}: all files of a folder must be tables, got {listing([repr(n) for n in keys['']], most=5)}. "
            "Move other files away, or begin their names with an underscore."
        )
    if len(keys) > 1:
        raise DataError(
            f"{folder}: all files of a folder must have the same format, got {listing(sorted(keys))}. Convert some."
        )


def _refuse_other_columns(file: Path, first: Path, found: pa.Schema, wanted: pa.Schema) -> None:
    """Raise if a file of a folder does not have the columns of the first."""
    if found.names != wanted.names:
        odd = [repr(name) for name in [*found.names, *wanted.names] if (name in found.names) != (name in wanted.names)]
        what = f"differing in {listing(odd)}" if odd else "in another order"
        raise SchemaError(
            f"{file.name}: all files of a folder must have the same columns; those of {first.name} are others, {what}. "
            "Convert or move one of them."
        )
    types = [
        f"{one.name!r} ({one.type} instead of {other.type})"
        for one, other in zip(found, wanted, strict=True)
        if one.type != other.type
    ]
    if types:
        raise SchemaError(
            f"{file.name}: all files of a folder must have columns of the same types as {first.name}; columns "
            f"{listing(types)} differ. Convert one of the files."
        )
    notes = [
        repr(one.name)
        for one, other in zip(found, wanted, strict=True)
        if (one.metadata or {}).get(KEY) != (other.metadata or {}).get(KEY)
    ]
    if notes:
        raise SchemaError(
            f"{file.name}: all files of a folder must have the same labels and missing values as {first.name}; "
            f"columns {listing(notes)} differ. Convert one of the files."
        )


def first_file(place: Place) -> Place:
    """Return the place of a table's first file: itself, unless it is a folder."""
    if not isinstance(place.at, Path) or not place.at.is_dir():
        return place
    return replace(place, at=files_of(place.at)[0])


def read_whole(place: Place, text: Mapping[str, Any]) -> tuple[pa.Table, Dialect | None]:
    """Read a file, a table of a database, or all files of a folder as one table."""
    if not isinstance(place.at, Path) or not place.at.is_dir():
        return open_source(place, text).read(place.at)
    paths = files_of(place.at)
    tables = [open_source(replace(place, at=path), text).read(path) for path in paths]
    return joined(paths, [data for data, _ in tables]), tables[0][1]
