"""Files of statistical packages → columns, with what the file knows of each, through pyreadstat."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.types.clock import Clock
from shoal.types.statfile import FileNotes, Variable, tag, tag_range

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST = 2.0**53  # beyond, a double does not hold every integer


def read(path: Path, package: str, reader: str, most: int) -> pa.Table:
    """Read a file with one of pyreadstat's readers; `most` is how many values the file can hold.

    Whatever is wrong with the file raises whatever it likes, with messages that may hold a value.
    """
    import pyreadstat

    with warnings.catch_warnings(action="ignore"):
        return _table(getattr(pyreadstat, reader), path, package, most)


def _table(read: Any, path: Path, package: str, most: int) -> pa.Table:
    """Return values and what is known of them; a file that claims more values than it can hold is not read."""
    import pyarrow as pa

    options = {"output_format": "dict", "disable_datetime_conversion": True}
    if read.__name__ != "read_xport":  # where missing values have no letters that pyreadstat could tell
        options["user_missing"] = True
    values, meta = read(str(path), metadataonly=True, **options)
    if (meta.number_rows or 0) * (meta.number_columns or 0) > most:
        raise ValueError("more values than bytes")
    if meta.number_rows != 0:
        values, meta = read(str(path), **options)
    columns, fields = [], []
    for name in meta.column_names:
        column, variable = _column(values[name], _variable(name, package, meta))
        columns.append(column)
        fields.append(variable.onto(pa.field(name, column.type)))
    notes = FileNotes(package, meta.file_label, meta.file_encoding, tuple(meta.notes))
    return pa.table(columns, schema=pa.schema(fields, metadata=notes.metadata()))


def _variable(name: str, package: str, meta: Any) -> Variable:
    """Return what the file says of a variable."""
    labels = meta.variable_value_labels.get(name, {})
    ranges = meta.missing_ranges.get(name, [])
    width = meta.variable_storage_width[name]
    if package == "stata":
        width = max(width - 1, 0)  # it counts the NUL at the end, which is no part of the text
    return Variable(
        package=package,
        label=meta.column_names_to_labels[name],
        format=meta.original_variable_types[name],
        measure=meta.variable_measure[name].replace("undetermined", "unknown"),
        storage=meta.readstat_variable_types[name],
        width=width if meta.readstat_variable_types[name] == "string" else 0,
        display=meta.variable_display_width[name],
        alignment=meta.variable_alignment[name].replace("undetermined", "unknown"),
        labels=tuple(labels.items()),
        missing=tuple((one["lo"], one["hi"]) for one in ranges),
        tagged=name in meta.missing_user_values,
    )


def _column(values: list[Any], variable: Variable) -> tuple[pa.ChunkedArray, Variable]:
    """Return the values in the type that fits them: text, moments, integers where all are whole, or numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if variable.storage == "string":
        text = pa.chunked_array([pa.array(values, pa.string())])
        empty = pc.equal(text, "")  # the only way there is to have no text
        return pc.if_else(empty, pa.scalar(None, pa.string()), text), variable
    whole = variable.storage.startswith("int")
    values, variable = _with_tags(values, variable, whole)
    numbers = pa.chunked_array([pa.array(values, pa.int64() if whole else pa.float64())])
    clock = Clock.of(variable.package, variable.format)
    moments = clock.moments(numbers) if clock is not None and not variable.tagged else None
    if moments is not None:
        return moments, variable
    if not whole and not variable.tagged and _counts(variable):
        numbers = _integers(numbers)
    return numbers, variable


def _with_tags(values: list[Any], variable: Variable, whole: bool) -> tuple[list[Any], Variable]:
    """Return values and labels with numbers for missing values that have letters; SAS has one without a letter."""
    codes: Any = {value: _code(value, whole) for value, _ in variable.labels if isinstance(value, str)}
    variable = variable.relabelled({key: code for key, code in codes.items() if code is not None})
    if not variable.tagged:
        return values, variable
    values = [_code(value, whole) if isinstance(value, str) else value for value in values]
    return values, replace(variable, missing=(tag_range(whole=whole),))


def _code(letter: str, whole: bool) -> int | float | None:
    return tag(letter.lower(), whole=whole) if letter.isalpha() else None


def _counts(variable: Variable) -> bool:
    """Tell whether integers are meant where all values are whole: categories, or a format without decimals."""
    if variable.measure in ("nominal", "ordinal"):
        return True
    return (
        variable.package == "spss" and re.fullmatch(r"(F|N|COMMA|DOT)[0-9]+(\.0)?", variable.format or "") is not None
    )


def _integers(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return doubles as integers, if these would be the same doubles again."""
    import numpy as np
    import pyarrow as pa

    x = np.asarray(numbers.fill_null(0.0).to_numpy())
    with np.errstate(invalid="ignore"):
        same = (x == np.rint(x)) & (np.abs(x) <= _LARGEST) & ~((x == 0) & np.signbit(x))
    return numbers.cast(pa.int64()) if same.all() else numbers
