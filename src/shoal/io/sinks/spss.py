"""SPSS files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from shoal.errors import SchemaError, listing, raise_all
from shoal.io.sinks._file import undate_sav
from shoal.io.sinks._statistical_types import Format, StatisticalSink, cut, notes_of, numbers_of, padded, variables_of
from shoal.types.statistical_files import Variable

_FORMAT = Format("spss", "SPSS", "DATETIME23.2", "DATE11", 1.797_693_134_862_315_7e308, 32_767, blanks=False)
_RESERVED = {"ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"}


@dataclass(frozen=True)
class Spss(StatisticalSink):
    """SPSS files, with labels, measures, formats and declared missing values; `.zsav` is compressed."""

    suffixes: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    title = "SPSS"

    def fitted(self, table: pa.Table) -> pa.Table:
        """Return the table as the file will hold it.

        Missing values with letters, as in Stata, become values that are declared missing.
        """
        check_names(table.column_names)
        data = _FORMAT.fitted(table)
        plain = [replace(variable, tagged=False) for variable in variables_of(data).values()]
        fields = [variable.onto(field) for variable, field in zip(plain, data.schema, strict=True)]
        return pa.table(data.columns, schema=pa.schema(fields, metadata=data.schema.metadata))

    def _undate(self, path: Path) -> None:
        undate_sav(path)

    def _arguments(self, polars: Any, data: pa.Table, path: Path) -> tuple[list[Any], dict[str, Any]]:
        variables, notes = variables_of(data), notes_of(data, "spss")
        columns = {name: _column(data.column(name), variable) for name, variable in variables.items()}
        packed = path.name.lower().endswith(".zsav")
        return [polars.Series(name, polars.from_arrow(column)) for name, column in columns.items()], {
            "writer_format": "sav",
            "file_label": cut(notes.label, 64) or "",
            "note": [cut(line, 80) for note in notes.notes for line in note.splitlines() or [""]],
            "column_labels": {name: cut(one.label, 256) for name, one in variables.items()},
            "variable_value_labels": {name: _labels(one) for name, one in variables.items() if one.labels},
            "missing_ranges": {name: _missing(one) for name, one in variables.items() if one.missing},
            "variable_display_width": {name: one.display for name, one in variables.items() if one.display > 0},
            "variable_measure": {name: one.measure for name, one in variables.items()},
            "variable_alignment": {name: one.alignment for name, one in variables.items()},
            "variable_format": _formats(data, variables),
            "compress": packed,
            "row_compress": not packed and not any(map(_has_negative_zero, columns.values())),
        }


def check_names(names: list[str]) -> None:
    """Raise one error about all names that SPSS does not allow."""
    faults = []
    if odd := [repr(name) for name in names if not _allowed(name)]:
        faults.append(
            "SPSS: the name of a column must have at most 64 bytes, begin with a letter, contain only letters, "
            f"digits, ., _, $, # or @, and not be a reserved word; invalid: {listing(odd)}. Rename them."
        )
    counts = Counter(name.lower() for name in names)
    if twice := [repr(name) for name in names if counts[name.lower()] > 1]:
        faults.append(
            f"SPSS: names must differ by more than upper and lower case; these do not: {listing(twice)}. Rename them."
        )
    raise_all(SchemaError, faults)


def _allowed(name: str) -> bool:
    return (
        name[:1].isalpha()
        and re.fullmatch(r"[\w.$#@]+", name) is not None
        and len(name.encode()) <= 64
        and name.upper() not in _RESERVED
    )


def _column(column: Any, variable: Variable) -> Any:
    if pa.types.is_string(column.type):
        return padded(column, variable.width)
    return numbers_of(column, variable).cast(pa.float64())


def _has_negative_zero(column: Any) -> bool:
    """Tell whether there is a negative zero, whose sign compression of small integers would lose."""
    if not pa.types.is_floating(column.type):
        return False
    x = np.asarray(column.fill_null(1.0).to_numpy())
    return bool(((x == 0) & np.signbit(x)).any())


def _labels(variable: Variable) -> dict[float | str, str]:
    text = variable.storage == "string"
    return {
        value if isinstance(value, str) else float(value): str(cut(label, 120))
        for value, label in variable.labels
        if isinstance(value, str) == text
    }


def _missing(variable: Variable) -> list[dict[str, Any]]:
    text = variable.storage == "string"
    return [
        {"lo": low if isinstance(low, str) else float(low), "hi": high if isinstance(high, str) else float(high)}
        for low, high in variable.missing
        if isinstance(low, str) == text
    ]


def _formats(data: pa.Table, variables: dict[str, Variable]) -> dict[str, str]:
    """Return the format of each variable: its own, or one that shows whole numbers as such."""
    found = {}
    for name, variable in variables.items():
        if variable.format:
            found[name] = variable.format
        elif pa.types.is_integer(data.schema.field(name).type):
            found[name] = "F12.0"
    return found
