"""Metadata of a released table: an allow-list, applied right before a table is written or handed over."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.types.data.released_column import released_column
from shoal.types.data.statistical_files import KEY, FileNotes, Variable

if TYPE_CHECKING:
    import pyarrow as pa


_PANDAS = b"pandas"  # lists every column and index that the table ever had, so no option keeps it
_EXTENSION = b"ARROW:extension:name", b"ARROW:extension:metadata"
_TECHNICAL = (KEY, _PANDAS, *_EXTENSION, b"PARQUET:field_id")
_POLARS = b"_PL_"
_EXTENSIONS = (b"arrow.", b"geoarrow.")  # published formats: their parameters describe a type, never its values


def released(
    table: pa.Table,
    unchanged: Collection[str],
    *,
    keep: bool = False,
    whole: Mapping[str, Sequence[Any]] | None = None,
) -> pa.Table:
    """Return a table that holds its values and nothing else that came with the input.

    **Guarantee.** Of the metadata of table and columns only the notes of statistical packages remain (labels of
    variables and values, formats, declared missing values; not the label and the notes of the file), and annotations
    of Arrow's published extension types. Dictionaries hold the categories that occur: ordered ones in their order,
    others sorted, so that neither removed categories nor the order of rows can be read from them. Every column is one
    chunk of fresh memory, with zeros under missing values.

    Parameters
    ----------
    table
        The table to release.
    unchanged
        Columns whose type is that of the input, so that annotations of extension types still fit.
    keep
        Keep all metadata except that of pandas. Categories are reduced all the same.
    whole
        Columns whose dictionary is this list instead of the categories that occur.

    >>> import pyarrow as pa
    >>> sex = pa.field("sex", pa.dictionary(pa.int8(), pa.string()), metadata={"note": "two are other"})
    >>> cells = pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int8()), ["m", "other", "f"])
    >>> made = released(pa.table([cells], schema=pa.schema([sex], metadata={"source": "clinic"})), ())
    >>> made.schema.metadata, made.schema.field("sex").metadata, made["sex"].chunk(0).dictionary.to_pylist()
    (None, None, ['f', 'm'])
    """
    import pyarrow as pa

    whole = whole or {}
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        made = released_column(column, keep=keep, whole=whole.get(field.name))
        columns.append(made)
        known = _all_of(field.metadata) if keep else _known_of(field, annotated=field.name in unchanged)
        fields.append(pa.field(field.name, made.type, field.nullable, known or None))
    notes = _all_of(table.schema.metadata) if keep else _known_of_file(table.schema)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=notes or None))


def carries_more(schema: pa.Schema) -> bool:
    """Tell whether :func:`released` drops anything that people wrote: all but what pandas, polars and Parquet note."""
    notes = FileNotes.of(schema)
    if notes is not None and (notes.label or notes.notes):
        return True
    keys = [*(schema.metadata or {}), *(key for field in schema for key in field.metadata or {})]
    return any(key not in _TECHNICAL and not key.startswith(_POLARS) for key in keys)


def _all_of(metadata: Mapping[bytes, bytes] | None) -> dict[bytes, bytes]:
    return {key: value for key, value in (metadata or {}).items() if key != _PANDAS}


def _known_of(field: pa.Field, *, annotated: bool) -> dict[bytes, bytes]:
    """Return what is understood of a column, written anew."""
    had = dict(field.metadata or {})
    known = {}
    if annotated and had.get(_EXTENSION[0], b"").startswith(_EXTENSIONS):
        known = {key: had[key] for key in _EXTENSION if key in had}
    variable = Variable.of(field)
    return known if variable is None else {**known, **variable.metadata()}


def _known_of_file(schema: pa.Schema) -> dict[bytes, bytes]:
    bare = _bare(schema)
    return {} if bare is None else bare.metadata()


def _bare(schema: pa.Schema) -> FileNotes | None:
    """Return which package a table came from, without the label and the notes of its file."""
    found = FileNotes.of(schema)
    return None if found is None else FileNotes(found.package)
